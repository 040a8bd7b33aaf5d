"""The scripted provider speaks its dialects so that their own SDKs understand them, and breaks as told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from holaboss_runtime.demo_provider.reply import Reply, ToolCall, Usage
from tests.support.processes import PATIENCE_S
from tests.support.scripted_provider import Answer, Cut, ScriptedProvider, call, pause_after, say

QUESTION: Any = [{"role": "user", "content": "hi"}]
TEXT = "Zażółć gęślą jaźń 🙂🙂 "
RICH = Reply((TEXT, "done"), ("let me ", "see"), (ToolCall("bash", {"command": "echo ü"}),), Usage(7, 5))

Seen = tuple[str, str, str, tuple[int, int]]


@pytest.fixture
def chat_client(provider: ScriptedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(provider: ScriptedProvider) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=provider.url, api_key="k", max_retries=0) as client:
        yield client


def through_chat(client: openai.OpenAI, _: anthropic.Anthropic) -> Seen:
    text, thinking, arguments, usage = "", "", "", (0, 0)
    options: Any = {"include_usage": True}
    stream = client.chat.completions.create(model="m", messages=QUESTION, stream=True, stream_options=options)
    for chunk in stream:
        if chunk.usage is not None:
            usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thinking += getattr(choice.delta, "reasoning_content", None) or ""
            for tool in choice.delta.tool_calls or []:
                assert tool.function is not None
                arguments += tool.function.arguments or ""
    return thinking, text, arguments, usage


def through_responses(client: openai.OpenAI, _: anthropic.Anthropic) -> Seen:
    deltas: dict[str, str] = {}
    with client.responses.stream(model="m", input=QUESTION) as stream:
        event: Any
        for event in stream:
            if event.type.endswith(".delta"):
                deltas[event.type] = deltas.get(event.type, "") + event.delta
        response = stream.get_final_response()
    thinking: Any
    message: Any
    tool: Any
    thinking, message, tool = response.output
    said = (thinking.summary[0].text, message.content[0].text, tool.arguments)
    assert tuple(deltas.values()) == said
    assert response.usage is not None
    return *said, (response.usage.input_tokens, response.usage.output_tokens)


def through_messages(_: openai.OpenAI, client: anthropic.Anthropic) -> Seen:
    with client.messages.stream(model="m", max_tokens=99, messages=QUESTION) as stream:
        message = stream.get_final_message()
    thinking: Any
    text: Any
    tool: Any
    thinking, text, tool = message.content
    assert message.stop_reason == "tool_use"
    usage = (message.usage.input_tokens, message.usage.output_tokens)
    return thinking.thinking, text.text, json.dumps(tool.input, ensure_ascii=False), usage


DIALECTS = pytest.mark.parametrize("ask", [through_chat, through_responses, through_messages])
Ask = Callable[[openai.OpenAI, anthropic.Anthropic], Seen]


@DIALECTS
@pytest.mark.parametrize("answer", [Answer(RICH), Answer(RICH, split_utf8=True, argument_size=1)])
def test_an_answer_arrives_whole(
    provider: ScriptedProvider,
    chat_client: openai.OpenAI,
    claude: anthropic.Anthropic,
    ask: Ask,
    answer: Answer,
) -> None:
    provider.enqueue(answer)
    expected = ("let me see", f"{TEXT}done", '{"command": "echo ü"}', (7, 5))
    assert ask(chat_client, claude) == expected


@DIALECTS
@pytest.mark.parametrize(
    ("how", "expected"), [("reset", OSError), ("close", httpx2.HTTPError), ("garbage", ValueError)]
)
def test_an_answer_breaks_off(
    provider: ScriptedProvider,
    chat_client: openai.OpenAI,
    claude: anthropic.Anthropic,
    ask: Ask,
    how: Cut,
    expected: type[Exception],
) -> None:
    provider.enqueue(Answer(say("one two three four"), cut=how, after=2))
    with pytest.raises(Exception) as raised:  # noqa: PT011 (each SDK wraps it in one of its own)
        ask(chat_client, claude)
    assert any(isinstance(error, expected) for error in causes(raised.value))


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_an_error_comes_inside_the_stream(
    provider: ScriptedProvider, chat_client: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    broken = Answer(say("one two three"), cut="error", after=2)
    provider.enqueue(broken, broken, broken)
    with pytest.raises(openai.APIError, match="broke in the middle"):
        through_chat(chat_client, claude)
    with pytest.raises(anthropic.APIStatusError, match="broke in the middle"):
        through_messages(chat_client, claude)
    with chat_client.responses.create(model="m", input="hi", stream=True) as stream:
        assert [event.type for event in stream][-1] == "error"


def test_refusals_carry_their_status_and_delay(
    provider: ScriptedProvider, chat_client: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    provider.enqueue(
        Answer(status=429, retry_after="2"), Answer(status=500), Answer(status=529, message="busy")
    )
    with pytest.raises(openai.RateLimitError) as limited:
        through_chat(chat_client, claude)
    assert limited.value.response.headers["retry-after"] == "2"
    with pytest.raises(openai.InternalServerError):
        through_responses(chat_client, claude)
    with pytest.raises(anthropic.APIStatusError, match="busy"):
        through_messages(chat_client, claude)


def test_wants_its_key_and_knows_its_models() -> None:
    asked = {"model": "other", "messages": QUESTION}
    with (
        ScriptedProvider(key="right", models=("small",)) as provider,
        httpx.Client(base_url=provider.url, timeout=PATIENCE_S) as http,
    ):
        assert http.get("/v1/models").status_code == 401
        assert http.get("/v1/models", headers={"x-api-key": "wrong"}).status_code == 401
        http.headers["authorization"] = "Bearer right"
        assert http.get("/v1/models").json()["data"][0]["id"] == "small"
        assert http.get("/v1/models", headers={"anthropic-version": "x"}).json()["data"][0]["type"] == "model"
        assert http.get("/api/tags").json()["models"][0]["name"] == "small"
        refused = http.post("/openai/v1/chat/completions", json=asked)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")
        assert http.post("/wrong/chat/completions", json=asked).status_code == 404


def test_follows_the_demo_script_until_told_otherwise(
    provider: ScriptedProvider, chat_client: openai.OpenAI
) -> None:
    exactly: Any = [{"role": "user", "content": "Reply with exactly: OK"}]
    first = chat_client.chat.completions.create(model="m", messages=exactly)
    provider.respond_with(lambda request: call("read", path=request.prompt.text))
    second: Any = chat_client.chat.completions.create(model="m", messages=QUESTION)
    assert first.choices[0].message.content == "OK"
    assert second.choices[0].message.tool_calls[0].function.arguments == '{"path": "hi"}'
    assert [request.dialect for request in provider.requests] == ["chat", "chat"]


def test_a_gate_holds_an_answer_until_it_is_released(provider: ScriptedProvider) -> None:
    held = pause_after(2, say("one two three"))
    assert held.gate is not None
    provider.enqueue(held)
    asked = {"model": "m", "messages": QUESTION, "stream": True}
    with httpx.stream("POST", f"{provider.url}/v1/chat/completions", json=asked) as reply:
        chunks = reply.iter_raw()
        early = next(chunks)
        held.gate.wait()
        assert b"two" not in early
        held.gate.release()
        assert b"three" in b"".join(chunks)


def test_notices_a_client_that_leaves(provider: ScriptedProvider) -> None:
    provider.enqueue(Answer(say("one two three"), cut="silence", after=2))
    asked = {"model": "m", "messages": QUESTION, "stream": True}
    with httpx.stream("POST", f"{provider.url}/v1/chat/completions", json=asked) as reply:
        chunks = reply.iter_raw()  # kept in a name: dropping it closes the reply
        next(chunks)
        (request,) = provider.wait_for_requests(1)
        assert not request.gone.is_set()
    assert request.gone.wait(PATIENCE_S)
