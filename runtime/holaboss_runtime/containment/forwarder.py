"""The one way out of a command whose network is limited: a small HTTP proxy that connects to listed hosts only.

It resolves names itself and connects to the very address it checked. `CONNECT` becomes a tunnel; a plain request is
passed on alone and its connection ends with it. It reads no encrypted traffic, caches nothing and logs nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from holaboss_runtime.containment.network import HostList, plain_host

MAX_CONNECTIONS = 64
MAX_HEAD_BYTES = 32 * 1024
HEAD_S = 30.0
CONNECT_S = 20.0
IDLE_S = 300.0
LINGER_S = 2.0
_CHUNK = 64 * 1024
_MAX_REFUSED = 20
_PER_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"upgrade", b"te", b"trailer", b"host",
})  # fmt: skip

Resolve = Callable[[str, int], Awaitable[list[str]]]


class _Refusal(Exception):
    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status


@dataclass(frozen=True)
class _Request:
    """`head` is what is sent to the host before the body; empty for a tunnel. `body` is None for one in chunks."""

    host: str
    port: int
    head: bytes
    body: int | None


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows it. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Forwarder:
    """Serves listening sockets until `close`. `refused` are hosts that were asked for and are not listed."""

    def __init__(self, hosts: HostList, resolver: Resolve = resolve) -> None:
        self._hosts = hosts
        self._resolve = resolver
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.refused: list[str] = []

    async def serve(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._server = await asyncio.start_server(self._take, sock=listener, limit=MAX_HEAD_BYTES)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError, TimeoutError, asyncio.CancelledError):  # an ended command is no news here
                await self._answer(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._connections) > MAX_CONNECTIONS:
                raise _Refusal("503 Service Unavailable", "There are too many connections at once.")
            request = await _read_request(reader)
            upstream_reader, upstream = await self._connect(request.host, request.port)
        except _Refusal as refusal:
            writer.write(_refusal(refusal))
            writer.write_eof()
            async with asyncio.timeout(LINGER_S):  # closing with something unread would take the answer back
                while await reader.read(_CHUNK):
                    pass
            return
        try:
            if not request.head:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both(partial(_copy, reader, upstream), _copy(upstream_reader, writer))
            else:
                upstream.write(request.head)
                await _both(
                    partial(_send_body, reader, upstream, request.body), _copy(upstream_reader, writer)
                )
        finally:
            upstream.transport.abort()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._hosts.allows(host, port):
            self._note(host, port)
            raise _Refusal(
                "403 Forbidden",
                f"The network of this command is limited, and {host}:{port} is not on its list.",
            )
        try:
            async with asyncio.timeout(CONNECT_S):
                addresses = await self._resolve(host, port)
        except (OSError, TimeoutError) as error:
            raise _Refusal("502 Bad Gateway", f"{host} could not be found.") from error
        usable = [address for address in addresses if self._hosts.may_connect(host, address)]
        if not usable:
            self._note(host, port)
            raise _Refusal(
                "403 Forbidden", f"{host} leads to a private address, which is not reached by name."
            )
        for address in usable:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    return await asyncio.open_connection(address, port, limit=MAX_HEAD_BYTES)
        raise _Refusal("502 Bad Gateway", f"{host}:{port} does not answer.")

    def _note(self, host: str, port: int) -> None:
        name = f"{host}:{port}"
        if name not in self.refused and len(self.refused) < _MAX_REFUSED:
            self.refused.append(name)


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    try:
        async with asyncio.timeout(HEAD_S):
            raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError) as error:
        raise _Refusal("400 Bad Request", "This is not a request that can be passed on.") from error
    lines = raw[:-4].split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3:
        raise _Refusal("400 Bad Request", "This is not a request that can be passed on.")
    method, target, _ = words
    tunnel = method == b"CONNECT"
    host, port, path = _target(target.decode("latin-1"), tunnel=tunnel)
    if tunnel:
        return _Request(host, port, b"", 0)
    shown = f"[{host}]" if ":" in host else host
    fields = [line for line in lines[1:] if line.partition(b":")[0].strip().lower() not in _PER_HOP]
    own = [b"Host: %s" % (shown if port == 80 else f"{shown}:{port}").encode(), b"Connection: close"]
    head = b"\r\n".join([b"%s %s HTTP/1.1" % (method, path.encode("latin-1")), *own, *fields, b"", b""])
    return _Request(host, port, head, _body_of(fields))


def _target(target: str, *, tunnel: bool) -> tuple[str, int, str]:
    """Host, port and what follows. Only `http` is passed on plainly."""
    try:
        parts = urlsplit(f"//{target}" if tunnel else target)
        host, port = plain_host(parts.hostname or ""), parts.port
    except ValueError:
        host = port = parts = None
    if host is None or parts is None or (not tunnel and parts.scheme != "http") or (tunnel and port is None):
        raise _Refusal("400 Bad Request", "Ask for http://host/path or CONNECT host:port.")
    path = parts.path or "/"
    return host, port or 80, f"{path}?{parts.query}" if parts.query else path


def _body_of(fields: list[bytes]) -> int | None:
    values = {
        name.strip().lower(): value.strip() for name, _, value in (field.partition(b":") for field in fields)
    }
    if b"transfer-encoding" in values:
        return None
    length = values.get(b"content-length", b"0")
    if not length.isdigit():
        raise _Refusal("400 Bad Request", "The length of the body makes no sense.")
    return int(length)


async def _send_body(reader: asyncio.StreamReader, upstream: asyncio.StreamWriter, size: int | None) -> None:
    """Exactly the body of one request: what follows it belongs to another, maybe for another host."""
    if size is not None:
        await _pass(reader, upstream, size)
        return
    while True:
        line = await reader.readuntil(b"\r\n")
        upstream.write(line)
        length = int(line.partition(b";")[0].strip() or b"0", 16)
        if length == 0:
            upstream.write(b"\r\n")  # trailers are not passed on
            await upstream.drain()
            return
        await _pass(reader, upstream, length + 2)


async def _pass(reader: asyncio.StreamReader, upstream: asyncio.StreamWriter, size: int) -> None:
    while size:
        piece = await _read(reader, min(_CHUNK, size))
        if not piece:
            return
        size -= len(piece)
        upstream.write(piece)
        await upstream.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await _read(reader, _CHUNK):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _read(reader: asyncio.StreamReader, most: int) -> bytes:
    async with asyncio.timeout(IDLE_S):
        return await reader.read(most)


async def _both(sending: Callable[[], Awaitable[None]], receiving: Awaitable[None]) -> None:
    """Until everything was received; sending may end before, and is ended after."""

    async def sends() -> None:
        with suppress(
            OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            await sending()

    task = asyncio.ensure_future(sends())
    try:
        await receiving
    finally:
        task.cancel()
        await asyncio.wait({task})


def _refusal(refusal: _Refusal) -> bytes:
    body = f"{refusal}\n".encode()
    head = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
