"""Keeps the files in step while a server lives: flushes after every commit that left something to write.

It sleeps until then. Files that could not be written are tried again with the next change, and now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from holaboss_runtime.store.outbox import Outbox

log = logging.getLogger(__name__)

TRY_AGAIN_S = 30.0


class Keeper:
    """`flush` writes what is noted and says whether all of it could be written."""

    def __init__(self, flush: Callable[[], Awaitable[bool]], outbox: Outbox) -> None:
        self._flush = flush
        self._outbox = outbox
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(), name="file projections")

    async def close(self) -> None:
        """Stop; what is not written yet stays noted."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            ticket = self._outbox.signal.ticket()
            try:
                complete = await self._flush()
            except Exception:
                # A database that is full or locked must not end this for good.
                log.exception("could not write the files of agents; trying again in %s s", TRY_AGAIN_S)
                complete = False
            if complete:
                await ticket.wait()
            else:
                await _either(ticket, TRY_AGAIN_S)


async def _either(ticket: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await ticket.wait()
    except TimeoutError:
        return
