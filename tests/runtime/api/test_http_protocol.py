"""Connections of strangers: broken HTTP is refused like everything else, and nobody can sit on all the connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from holaboss_runtime.api import http_protocol
from holaboss_runtime.api.http_protocol import HttpProtocol
from tests.support.processes import PATIENCE_S
from tests.support.server import RuntimeProcess

ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
Sent = Callable[[bytes], bytes]


@pytest.fixture
def raw(runtime: RuntimeProcess) -> Sent:
    """What comes back for these bytes until the server closes the connection. `{head}` has the right host and token."""
    address = runtime.url.removeprefix("http://")
    host, port = address.split(":")
    head = f"Host: {address}\r\nAuthorization: Bearer {runtime.token}\r\n".encode()

    def exchange(content: bytes) -> bytes:
        answer = b""
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
            connection.sendall(content.replace(b"{head}", head))
            with contextlib.suppress(ConnectionResetError):  # it closed while more was on its way
                while piece := connection.recv(65536):
                    answer += piece
        return answer

    return exchange


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n{head}Host: evil.example\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n{head}X: a\x00b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n{head}Content-Length: -1\r\n\r\n",
        b"POST /api/v1/workspaces HTTP/1.1\r\n{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n12",
        b"POST /api/v1/workspaces HTTP/1.1\r\n{head}Transfer-Encoding: gzip, chunked\r\n\r\n",
        b"POST /api/v1/workspaces HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_refused_with_a_problem(raw: Sent, content: bytes) -> None:
    head, _, body = raw(content).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head.lower()
    assert b'"code":"malformed_request"' in body


def test_a_request_whose_end_could_be_taken_for_two_is_the_last_of_its_connection(raw: Sent) -> None:
    answer = raw(
        b"POST /api/v1/workspaces HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/v1/version HTTP/1.1\r\n{head}\r\n"
    )
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"malformed_request"' in answer


def test_a_refused_request_that_goes_on_as_nonsense_ends_quietly(raw: Sent, runtime: RuntimeProcess) -> None:
    address = runtime.url.removeprefix("http://")
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        head = f"POST /api/v1/workspaces HTTP/1.1\r\nHost: {address}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        answer = b""
        while not answer.endswith(b'"code":"unauthorized"}'):
            answer += (piece := connection.recv(65536))
            assert piece, answer
        assert answer.startswith(b"HTTP/1.1 401 ")
        connection.sendall(b"zz\r\n")
        assert connection.recv(65536) == b""
    assert '"level": "error"' not in runtime.log


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/api/v1/workspaces", "GET, POST"),
        ("POST", "/api/v1/runtime/secrets/x", "DELETE, PUT"),
        ("GET", "/api/v1/agent-sessions/queue", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_a_405_names_every_method_of_the_address_once(
    raw: Sent, method: str, path: str, allowed: str
) -> None:
    head = raw(f"{method} {path} HTTP/1.1\r\n".encode() + b"{head}Connection: close\r\n\r\n").lower()
    assert head.startswith(b"http/1.1 405 ")
    found = [line.partition(b": ")[2].decode() for line in head.split(b"\r\n") if line.startswith(b"allow: ")]
    assert found == [allowed.lower()]


def test_a_probe_may_ask_for_the_head_alone(raw: Sent) -> None:
    answer = raw(b"HEAD /healthz HTTP/1.1\r\n{head}Connection: close\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body == b""


def test_half_a_body_does_not_keep_a_server_from_stopping(tmp_path: Path) -> None:
    with RuntimeProcess(tmp_path / "root") as runtime:
        host, port = runtime.url.removeprefix("http://").split(":")
        head = (
            f"POST /api/v1/workspaces HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {runtime.token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
            connection.sendall(head.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")  # it waits for the body now
            assert runtime.stop() == 0
            assert connection.recv(65536) == b""
    assert '"level": "error"' not in runtime.log


class App:
    """Answers `/healthz` at once, and everything else when it is `let`."""

    def __init__(self) -> None:
        self.let = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/healthz":
            await self.let.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, loop="asyncio", http=HttpProtocol, ws="none", lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve([listener]))
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        await running


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def say(self, content: bytes) -> None:
        self._writer.write(content)
        await self._writer.drain()

    async def answer(self) -> bytes:
        return await self._reader.readuntil(b"ok")

    async def cut(self) -> bool:
        """Waits until the server ends the connection; whether it said nothing before."""
        try:
            return await self._reader.read() == b""
        except ConnectionResetError:
            return True

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionResetError):
            await self._writer.wait_closed()


@pytest.mark.anyio
async def test_whoever_asks_for_nothing_is_cut_off_and_whoever_waits_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.05)
    app = App()
    async with serving(app) as port:
        silent, halting, second, waiting = [await Client.connect(port) for _ in range(4)]
        await waiting.say(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await halting.say(ASK[:20])
        await second.say(ASK)
        assert (await second.answer()).startswith(b"HTTP/1.1 200 ")
        await second.say(ASK[:20])
        for client in (silent, halting, second):
            assert await client.cut()
        app.let.set()
        assert (await waiting.answer()).startswith(b"HTTP/1.1 200 ")
        for client in (silent, halting, second, waiting):
            await client.close()


@pytest.mark.anyio
async def test_silent_connections_make_room_for_one_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "MAX_CONNECTIONS", 3)
    app = App()
    async with serving(app) as port:
        busy = [await Client.connect(port) for _ in range(2)]
        for client in busy:
            await client.say(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(5):
            await (silent := await Client.connect(port)).say(b"G")
            asking = await Client.connect(port)
            assert await silent.cut()
            await silent.close()
            await asking.say(ASK)
            assert (await asking.answer()).startswith(b"HTTP/1.1 200 ")
            await asking.close()
        app.let.set()
        for client in busy:
            assert (await client.answer()).startswith(b"HTTP/1.1 200 ")
            await client.close()
