"""The writing end of a pipe whose reader may be behind."""

from __future__ import annotations

import asyncio


class PacedWriter(asyncio.Protocol):
    """`room` is set while the reader keeps up, and once it is gone; `transport` is there until then."""

    def __init__(self) -> None:
        self.transport: asyncio.WriteTransport | None = None
        self.room = asyncio.Event()
        self.room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.room.set()

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()
