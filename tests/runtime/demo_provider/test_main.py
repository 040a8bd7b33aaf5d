"""The demo provider as the child process it is, asked through HTTP and through the SDK that real runs use."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass

import httpx
import pytest

from tests.support.processes import PATIENCE_S

CODE = "from holaboss_runtime.demo_provider.main import main; raise SystemExit(main())"


@dataclass
class Child:
    process: subprocess.Popen[bytes]
    client: httpx.Client


@contextlib.contextmanager
def running() -> Generator[Child]:
    command = [sys.executable, "-c", CODE]
    environment = os.environ | {"HOLABOSS_DEMO_PACE_MS": "0"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"token": "secret"}\n')
        process.stdin.flush()
        ready = json.loads(process.stdout.readline())
        assert ready["event"] == "ready"
        bearer = {"authorization": "Bearer secret"}
        with httpx.Client(
            base_url=ready["url"], headers=bearer, trust_env=False, timeout=PATIENCE_S
        ) as client:
            yield Child(process, client)
        process.stdin.close()
        try:
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def child() -> Generator[Child]:
    with running() as child:
        yield child


def body(text: str, **more: object) -> dict[str, object]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}]} | more


def test_lists_its_model(child: Child) -> None:
    assert [item["id"] for item in child.client.get("/models").json()["data"]] == ["scripted"]


def test_streams_deltas_usage_and_the_end(child: Child) -> None:
    request = body("Reply with exactly: one two", stream=True, stream_options={"include_usage": True})
    with child.client.stream("POST", "/chat/completions", json=request) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    deltas = [chunk["choices"][0]["delta"].get("content") for chunk in chunks if chunk["choices"]]
    assert deltas == ["", "one ", "two", None]
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["completion_tokens"] == 2


def test_sends_usage_only_to_those_who_ask(child: Child) -> None:
    text = child.client.post("/chat/completions", json=body("hello", stream=True)).text
    assert "usage" not in text
    assert text.endswith("data: [DONE]\n\n")


def test_goes_through_a_tool_call(child: Child) -> None:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    first = child.client.post("/chat/completions", json=body("list files", tools=tools)).json()["choices"][0]
    assert first["finish_reason"] == "tool_calls"
    (call,) = first["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"command": "ls -la"}
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "context"}, {"type": "text", "text": "list files"}],
        },
        first["message"],
        {"role": "tool", "tool_call_id": call["id"], "content": "AGENTS.md"},
    ]
    second = child.client.post(
        "/chat/completions", json=body("", tools=tools) | {"messages": messages}
    ).json()
    assert "AGENTS.md" in second["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("headers", "content", "status", "code"),
    [
        ({"authorization": "Bearer wrong"}, b"{}", 401, "invalid_api_key"),
        ({}, b"{", 400, "invalid_request"),
        ({}, b'{"model": "scripted", "messages": []}', 400, "invalid_request"),
        ({}, b'{"model": "gpt-9", "messages": [{"role": "user"}]}', 404, "model_not_found"),
    ],
)
def test_refuses_in_the_words_of_the_protocol(
    child: Child, headers: dict[str, str], content: bytes, status: int, code: str
) -> None:
    reply = child.client.post("/chat/completions", content=content, headers=headers)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_stops_in_the_middle_of_an_answer_when_its_parent_goes() -> None:
    request = body("tell me everything", stream=True)
    with running() as child, child.client.stream("POST", "/chat/completions", json=request) as reply:
        chunks = reply.iter_raw()  # kept in a name: dropping it closes the reply
        next(chunks)
        assert child.process.stdin is not None
        child.process.stdin.close()


def test_refuses_a_first_line_it_does_not_know() -> None:
    command = [sys.executable, "-c", CODE]
    finished = subprocess.run(
        command, input=b"not json\n", capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert finished.returncode == 2
    assert finished.stdout == b""
    assert b"token" in finished.stderr


def test_stays_light() -> None:
    code = (
        "import sys, holaboss_runtime.demo_provider.app; "
        "print(*({'fastapi', 'openai', 'anthropic', 'pydantic_ai', 'apsw'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "\n"
    )


def test_whoever_started_it_may_be_gone_before_it_is_ready() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", CODE],
            input=b'{"token": "secret"}\n',
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")
