"""The listener that catches the one answer of an authorization server, on loopback, outside every API.

It knows nothing of OAuth but the names in an answer's query. What does not carry the expected `state` is refused and
changes nothing; the first answer that does ends the listening, so that a second one finds nobody.
"""

from __future__ import annotations

import asyncio
import hmac
import html
from contextlib import suppress
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit

PATH = "/callback"
HEAD_LIMIT = 16 * 1024
HEAD_S = 10.0
VERDICT_S = 30.0
CONNECTIONS = 8

_SINGLE = frozenset({"state", "code", "error", "iss"})
_HEADERS = (
    "Content-Type: text/html; charset=utf-8\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n"
)
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: a `code`, or the `error` the server named. `iss` is its own name for itself."""

    state: str
    code: str | None
    error: str | None
    iss: str | None


class RedirectError(Exception):
    """Nobody answered, or nothing can listen. The message is a sentence."""


class OneShotRedirect:
    """`await OneShotRedirect.open(preferred)`, then `expect`, `answer`, `settle`; always `close`."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._state: str | None = None
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._verdict: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()
        self._connections: set[asyncio.Task[None]] = set()
        self._answering: asyncio.Task[None] | None = None
        self.port = 0

    @classmethod
    async def open(cls, preferred_port: int | None = None) -> Self:
        """Listen on 127.0.0.1, where it can on the port that was registered before. Raises `RedirectError`."""
        redirect = cls()
        for port in (preferred_port, 0) if preferred_port else (0,):
            try:
                server = await asyncio.start_server(redirect._serve, "127.0.0.1", port, limit=HEAD_LIMIT)
            except OSError:
                continue
            redirect._server = server
            redirect.port = int(server.sockets[0].getsockname()[1])
            return redirect
        raise RedirectError("This computer lets nobody listen on 127.0.0.1, so no answer could come back.")

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    def expect(self, state: str) -> None:
        """From now on an answer with this `state` is taken."""
        self._state = state

    async def answer(self, timeout_s: float) -> Answer:
        """The one answer. Raises `RedirectError` when none comes in time."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(self._answer)
        except TimeoutError as error:
            raise RedirectError("Nobody finished the authorization in the browser in time.") from error

    def settle(self, done: bool, sentence: str) -> None:
        """What the person reads in the browser: whether it worked."""
        if not self._verdict.done():
            self._verdict.set_result((done, sentence))

    async def close(self) -> None:
        """Stop listening. The page that is being told the verdict still gets it; browsers open more connections than
        they use, and those are not waited for."""
        self._stop_listening()
        self.settle(False, "The authorization was not finished. Start it again in Holaboss.")
        if self._answering is not None:
            await asyncio.wait([self._answering], timeout=HEAD_S)
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._answer.cancel()

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(HEAD_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                status, title, sentence = await self._reply(head)
                writer.write(_page(status, title, sentence))
                await writer.drain()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _reply(self, head: bytes) -> tuple[int, str, str]:
        found = self._read(head)
        if isinstance(found, int):
            return found, "Not the answer Holaboss waits for", "You can close this page."
        if self._answer.done():
            return 400, "This was answered already", "You can close this page and go back to Holaboss."
        self._answer.set_result(found)
        self._answering = asyncio.current_task()
        self._stop_listening()
        try:
            async with asyncio.timeout(VERDICT_S):
                done, sentence = await asyncio.shield(self._verdict)
        except TimeoutError:
            done, sentence = True, "Holaboss has the answer. You can close this page."
        return 200, "Connected" if done else "Not connected", sentence

    def _read(self, head: bytes) -> Answer | int:
        """The answer in a request, or the status it is refused with."""
        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        if hosts != [f"127.0.0.1:{self.port}"]:  # a name that was bent to this address
            return 400
        if target.path != PATH:
            return 404
        if method != "GET":
            return 405
        pairs = parse_qsl(target.query, keep_blank_values=True, max_num_fields=32)
        values = {name: value for name, value in pairs if name in _SINGLE}
        if len([name for name, _ in pairs if name in _SINGLE]) != len(values):
            return 400
        state = values.get("state", "")
        if self._state is None or not hmac.compare_digest(state.encode(), self._state.encode()):
            return 400
        if not values.get("code") and not values.get("error"):
            return 400
        return Answer(state, values.get("code") or None, values.get("error"), values.get("iss"))


def _page(status: int, title: str, sentence: str) -> bytes:
    body = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Holaboss</title>"
        "<style>body{font:16px system-ui,sans-serif;max-width:34em;margin:18vh auto;padding:0 1em;"
        "color-scheme:light dark}</style>"
        f"<h1>{html.escape(title)}</h1><p>{html.escape(sentence)}</p></html>"
    ).encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\n{_HEADERS}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
