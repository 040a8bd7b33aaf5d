"""The protocol of one HTTP connection, where the framework would let strangers in too far.

Whoever can reach the port can open connections without a token. None may stay without asking for anything, they may not
take all the descriptors of the process, and what is not HTTP is refused with a problem, like everything else.
"""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from holaboss_runtime.api.problems import problem

HEAD_S = 20.0
"""For a whole request head, from the connection or from its first byte on."""

MAX_CONNECTIONS = 256
"""A quarter of the descriptors a process commonly may have: several times the server's backlog may be open for a
moment besides, before they are counted, and the rest is for the database, children and files."""

_MALFORMED = bytes(problem(400, "malformed_request", "What was sent is not a valid HTTP request.").body)


class HttpProtocol(H11Protocol):
    _head_limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_head()
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_is_here()
        elif self._head_limit is None and not self.transport.is_closing():
            self._limit_head()  # the beginning of another request

    def send_400_response(self, msg: str) -> None:
        """An answer that has begun cannot become another one; then the end of the connection has to say it."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [
                ("content-type", "application/problem+json"),
                ("content-length", str(len(_MALFORMED))),
                ("connection", "close"),
            ]
            self._write(h11.Response(status_code=400, headers=headers, reason=b"Bad Request"))
            self._write(h11.Data(data=_MALFORMED))
            self._write(h11.EndOfMessage())
        self.transport.close()

    def shutdown(self) -> None:
        """A server that stops waits for answers, not for bodies that are still to come, nor for who does not read."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # there is none before the first request
        if cycle is not None and cycle.more_body and not cycle.response_started:
            self.transport.close()
        elif self.flow.write_paused:
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def is_silent(self) -> bool:
        """It has not asked for anything, and has not been told to go."""
        return self._head_limit is not None and not self.transport.is_closing()

    def _write(self, event: h11.Event) -> None:
        self.transport.write(self.conn.send(event) or b"")

    def _limit_head(self) -> None:
        self._head_limit = self.loop.call_later(HEAD_S, self.transport.abort)

    def _head_is_here(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None

    def _make_room(self) -> None:
        """One that has not asked for anything goes; where all have, the newest does."""
        silent = (
            other
            for other in self.connections
            if isinstance(other, HttpProtocol) and other is not self and other.is_silent
        )
        next(silent, self).transport.abort()
