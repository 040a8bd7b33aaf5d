"""The HTTP client against a real server: what it sends, what it makes of answers, and of none."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from httpcore._async import http11
from pydantic import SecretStr

from holaboss_client.attachments import PIECE_BYTES
from holaboss_client.base import utc_now
from holaboss_client.client import RuntimeClient
from holaboss_client.config import PatchRuntimeConfig, PutProvider
from holaboss_client.events import Change
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.sessions import QueueRequest
from tests.support.http_server import HttpServer, Request, Wire

pytestmark = pytest.mark.anyio

CATALOGUE: dict[str, Any] = {
    "providers": [],
    "default_provider": None,
    "default_model": None,
    "background_tasks": {"provider": None, "model": None},
}
QUEUED = {
    "input_id": "i",
    "session_id": "s",
    "status": "QUEUED",
    "effective_state": "QUEUED",
    "runtime_status": "QUEUED",
    "current_input_id": None,
    "has_queued_inputs": True,
}


@dataclass
class Runtime:
    """Records what arrives and answers everything with `reply`."""

    status: int = 200
    reply: bytes = b"{}"
    requests: list[Request] = field(default_factory=list[Request])
    server: HttpServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = HttpServer(self.handle)

    async def handle(self, request: Request, wire: Wire) -> None:
        self.requests.append(request)
        wire.send(self.status, self.reply, {"content-type": "application/json"})

    def answers(self, payload: Any, status: int = 200) -> None:
        self.status, self.reply = status, json.dumps(payload).encode()


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    runtime = Runtime()
    with runtime.server:
        yield runtime


@pytest.fixture
async def client(runtime: Runtime) -> AsyncIterator[RuntimeClient]:
    async with RuntimeClient(runtime.server.url, "token") as client:
        yield client


async def test_every_request_carries_the_token(runtime: Runtime, client: RuntimeClient) -> None:
    runtime.answers(CATALOGUE)
    await client.providers()
    (request,) = runtime.requests
    assert request.path == "/api/v1/runtime/providers"
    assert request.headers["authorization"] == "Bearer token"
    assert "origin" not in request.headers


async def test_an_absent_field_is_not_sent(runtime: Runtime, client: RuntimeClient) -> None:
    runtime.answers(CATALOGUE)
    await client.put_provider("demo", PutProvider(models=["a"]))
    await client.put_provider("demo", PutProvider())
    assert [request.body for request in runtime.requests] == [{"models": ["a"]}, {}]


async def test_a_secret_travels_in_the_body_alone(runtime: Runtime, client: RuntimeClient) -> None:
    runtime.answers({"provider_id": "p", "key_state": "keychain"})
    await client.put_secret("p", "sk-marker")
    (request,) = runtime.requests
    assert request.body == {"value": "sk-marker"}
    assert "sk-marker" not in f"{request.path}?{request.query} {request.headers}"
    runtime.answers({"config_path": "c", "loaded_from_file": True, "auth_token_present": True})
    await client.patch_config(PatchRuntimeConfig(auth_token=SecretStr("sk-marker")))
    assert runtime.requests[-1].body == {"auth_token": "sk-marker"}


async def test_ids_and_paths_cannot_reach_other_routes(runtime: Runtime, client: RuntimeClient) -> None:
    runtime.answers({"provider_id": "x", "key_state": "none"})
    await client.delete_secret("a/../b?c#d é")
    runtime.answers({"path": "p", "content": "", "encoding": "utf-8", "size": 0, "sha256": ""})
    await client.file("w/1", "docs/50% of it?.md")
    paths = [request.path for request in runtime.requests]
    assert paths[0] == "/api/v1/runtime/secrets/a%2F..%2Fb%3Fc%23d%20%C3%A9"
    assert paths[1] == "/api/v1/workspaces/w%2F1/files/docs/50%25%20of%20it%3F.md"
    assert not any(request.query for request in runtime.requests)


async def test_a_queue_request_is_answered_with_a_typed_reply(
    runtime: Runtime, client: RuntimeClient
) -> None:
    runtime.answers(QUEUED | {"added_in_a_later_version": True})
    reply = await client.queue(QueueRequest(workspace_id="w", text="hello", idempotency_key="k"))
    assert (reply.input_id, reply.has_queued_inputs) == ("i", True)
    sent = runtime.requests[0].body
    assert (sent["workspace_id"], sent["text"], sent["idempotency_key"]) == ("w", "hello", "k")
    assert "model" not in sent


Call = Callable[[RuntimeClient], Awaitable[object]]

EVERY_VERB: list[Call] = [
    lambda client: client.version(),
    lambda client: client.shutdown(),
    lambda client: client.queue(QueueRequest(workspace_id="w", text="x")),
    lambda client: client.delete_workspace("w", keep_files=True),
]
CALLS = pytest.mark.parametrize("call", EVERY_VERB)


@CALLS
async def test_a_problem_is_raised_with_its_code(runtime: Runtime, client: RuntimeClient, call: Call) -> None:
    problem = {
        "title": "Conflict",
        "status": 409,
        "detail": "It changed.",
        "code": "file_changed",
        "path": "a.md",
    }
    runtime.answers(problem, 409)
    with pytest.raises(ProblemError, match=r"It changed\.") as raised:
        await call(client)
    assert raised.value.problem.code == "file_changed"
    assert (raised.value.problem.model_extra or {})["path"] == "a.md"


@CALLS
async def test_nobody_there_is_said_so(runtime: Runtime, client: RuntimeClient, call: Call) -> None:
    runtime.server.stop()
    with pytest.raises(RuntimeUnreachableError, match="does not answer"):
        await call(client)
    assert await client.healthy() is False


async def test_health(runtime: Runtime, client: RuntimeClient) -> None:
    assert await client.healthy() is True
    runtime.status = 503
    assert await client.healthy() is False


async def test_a_proxy_variable_never_carries_loopback_traffic(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with RuntimeClient(runtime.server.url, "token") as client:
        assert await client.healthy() is True


def event(number: int, kind: str) -> bytes:
    fields = {"id": number, "workspace_id": "w", "session_id": "s", "input_id": "i", "sequence": number}
    data = json.dumps(fields | {"event_type": kind, "created_at": utc_now(), "payload": {}})
    return f"event: {kind}\nid: {number}\ndata: {data}\n\n".encode()


async def test_the_output_stream_of_one_run_ends_with_its_terminal_event() -> None:
    asked: list[str] = []

    async def handle(request: Request, wire: Wire) -> None:
        asked.append(request.query)
        wire.begin(200, "text/event-stream")
        wire.chunk(b": connected\n\n" + event(5, "run_claimed"))
        wire.chunk(b"event: unknown_to_us\ndata: {}\n\n" + event(6, "run_completed"))
        wire.end()

    with HttpServer(handle) as server:
        async with RuntimeClient(server.url, "t") as client:
            stream = client.output_stream("w", "s", input_id="i", coalesce_ms=33, stop_on_terminal=True)
            seen = [item async for item in stream]
    assert [item and (item.id, item.is_terminal) for item in seen] == [None, (5, False), (6, True)]
    assert asked == ["workspace_id=w&stop_on_terminal=true&coalesce_ms=33&input_id=i"]


async def test_the_change_feed_ends_with_the_server() -> None:
    async def handle(request: Request, wire: Wire) -> None:
        assert request.headers["last-event-id"] == "7"
        wire.begin(200, "text/event-stream")
        for number, kind in ((8, Change.FILES), (9, Change.SHUTDOWN)):
            data = json.dumps({"id": number, "kind": kind, "created_at": utc_now(), "payload": {"paths": []}})
            wire.chunk(f"event: {kind}\nid: {number}\ndata: {data}\n\n".encode())
        wire.end()

    with HttpServer(handle) as server:
        async with RuntimeClient(server.url, "t") as client:
            seen = [change async for change in client.changes(after=7)]
    assert [change and change.kind for change in seen] == [None, "files", "shutdown"]


async def test_a_refused_file_is_told_by_its_refusal_also_when_it_cannot_be_discarded() -> None:
    staged = {
        "workspace_path": ".holaboss/input-attachments/b/a.txt",
        "name": "a.txt",
        "kind": "file",
        "size": PIECE_BYTES,
        "batch": "b",
    }
    asked: list[str] = []

    async def answer(request: Request, wire: Wire) -> None:
        asked.append(request.method)
        if len(asked) == 1:
            wire.send_json(200, staged)
        else:
            code = "too_large" if request.method == "POST" else "gone"
            wire.send_json(409, {"title": "No", "status": 409, "code": code})

    with HttpServer(answer) as server:
        async with RuntimeClient(server.url, "t") as client:
            with pytest.raises(ProblemError) as refused:
                await client.stage_attachment("w", "a.txt", bytes(PIECE_BYTES + 1))
    assert asked == ["POST", "POST", "DELETE"]
    assert refused.value.problem.code == "too_large"


async def test_a_pause_does_not_cost_the_connection(
    runtime: Runtime, client: RuntimeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.answers(CATALOGUE)
    await client.providers()
    connections = set(runtime.server.wires)
    later = time.monotonic() + 20
    monkeypatch.setattr(http11, "time", SimpleNamespace(monotonic=lambda: later))
    await client.providers()
    assert runtime.server.wires == connections
    assert len(connections) == 1
