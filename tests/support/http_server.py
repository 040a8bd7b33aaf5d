"""A small HTTP/1.1 server in a thread of its own, for tests that decide about every byte and connection.

It starts and stops in milliseconds, works beside any loop (also Qt's) and can reset a connection or write
nonsense, which servers made for production refuse to do. It knows just enough HTTP for our clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, zero seconds: closing sends RST instead of FIN


@dataclass(slots=True)
class Request:
    """One request. `gone` is set when the client leaves before it was answered completely."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    content: bytes
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def body(self) -> Any:
        """The decoded JSON of the body; None without one."""
        return json.loads(self.content) if self.content else None


class Wire(asyncio.Protocol):
    """One connection and the ways to answer on it: `send`, or `begin`, `chunk` as often as wanted, `end`."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._buffer = b""
        self._task: asyncio.Task[None] | None = None
        self._request: Request | None = None
        self._transport: asyncio.Transport

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, {"content-length": str(len(content))} | (headers or {}))
        self._write(content)

    def send_json(self, status: int, payload: Any, headers: dict[str, str] | None = None) -> None:
        self.send(
            status, json.dumps(payload).encode(), {"content-type": "application/json"} | (headers or {})
        )

    def begin(self, status: int, content_type: str) -> None:
        self._head(status, {"transfer-encoding": "chunked", "content-type": content_type})

    def chunk(self, content: bytes) -> None:
        self._write(b"%x\r\n%s\r\n" % (len(content), content))

    def end(self) -> None:
        self._write(b"0\r\n\r\n")

    def raw(self, content: bytes) -> None:
        """Bytes as they are, for answers that are no HTTP."""
        self._write(content)

    def _write(self, content: bytes) -> None:
        """Nothing is said to a client that has left."""
        if not self._transport.is_closing():
            self._transport.write(content)

    def close(self) -> None:
        """End the connection in the middle of whatever was being said."""
        self._transport.close()

    def reset(self) -> None:
        """The client reads ECONNRESET."""
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._transport.abort()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        self._write("\r\n".join([*lines, "", ""]).encode())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.wires.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.wires.discard(self)
        if self._request is not None:
            self._request.gone.set()
        if self._task is not None:
            self._task.cancel()

    def _next(self) -> None:
        if self._task is None and (request := self._parse()):
            self._request = request
            self._task = asyncio.get_running_loop().create_task(self._server.handle(request, self))
            self._task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = self._request = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._server.errors.append(error)
            self._transport.abort()
        elif not self._transport.is_closing():
            self._next()

    def _parse(self) -> Request | None:
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return None
        self._buffer = rest[length:]
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        return Request(method, path, query, headers, rest[:length])


Handler = Callable[[Request, Wire], Coroutine[Any, Any, None]]


class HttpServer:
    """`with HttpServer(handler) as server: server.url`. An error of the handler is raised at the end."""

    def __init__(self, handler: Handler, *, port: int = 0) -> None:
        self.handle = handler
        self.wires: set[Wire] = set()
        self.errors: list[BaseException] = []
        self._wanted_port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="scripted-http", daemon=True)
        self._listening = threading.Event()
        self._failure: OSError | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()
        self._listening.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def call(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the server's own loop, soon."""
        with contextlib.suppress(RuntimeError):  # it has stopped already
            self._loop.call_soon_threadsafe(callback)

    def drop_connections(self) -> None:
        """Reset every open connection; the server goes on listening."""
        self.call(self._reset_all)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None and self.errors:
            raise self.errors[0]

    def _run(self) -> None:
        try:
            listener = self._loop.run_until_complete(
                self._loop.create_server(lambda: Wire(self), "127.0.0.1", self._wanted_port)
            )
        except OSError as failure:
            self._failure = failure
            self._loop.close()
            self._listening.set()
            return
        self.port = listener.sockets[0].getsockname()[1]
        self._listening.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._drain(listener))
        self._loop.close()

    def _reset_all(self) -> None:
        for wire in list(self.wires):
            wire.reset()

    async def _drain(self, listener: asyncio.Server) -> None:
        for listening in listener.sockets:
            self._loop.remove_reader(listening.fileno())
        await asyncio.sleep(0)  # whoever came last is given a protocol only now, by a listener that is open
        listener.close()
        current = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not current]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._reset_all()
        while self.wires:  # noqa: ASYNC110 - each goes with a turn of the loop
            await asyncio.sleep(0)
