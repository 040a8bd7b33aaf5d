"""Following rows as they are committed: replay from the database, then wait for the next commit.

A subscriber that was away misses nothing and sees nothing twice, because what it gets is always "the rows after this
id". Nothing is buffered for it, so one that vanishes leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_client.events import DELTA_EVENTS, Change, ChangeEvent, OutputEvent
from holaboss_runtime.runs.coalesce import coalesce
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.output_events import OutputEventRecords

PING_S = 15.0
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Ping:
    """Nothing happened for a while; the connection is alive."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The server stops; always the last item. `position` is the id to resume after."""

    position: int


class _Waiter:
    """Waits for a ticket or for the end of the server, whichever is first."""

    def __init__(self, lifetime: asyncio.Event) -> None:
        self._lifetime = lifetime
        self._ending = asyncio.get_running_loop().create_task(lifetime.wait())

    @property
    def ending(self) -> bool:
        return self._lifetime.is_set()

    async def wait(self, ticket: asyncio.Event, timeout_s: float) -> bool:
        """True when one of them happened, False when the time ran out."""
        waiting = asyncio.get_running_loop().create_task(ticket.wait())
        try:
            done, _ = await asyncio.wait(
                {waiting, self._ending}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            return bool(done)
        finally:
            waiting.cancel()

    def close(self) -> None:
        self._ending.cancel()


@dataclass(frozen=True, slots=True)
class OutputQuery:
    """Which events of a session to follow. `coalesce_s` merges deltas per window; 0 sends each at once."""

    session_id: str
    after_id: int = 0
    input_id: str | None = None
    coalesce_s: float = 0.0
    stop_on_terminal: bool = True


async def follow_outputs(
    outputs: OutputEventRecords, query: OutputQuery, lifetime: asyncio.Event
) -> AsyncGenerator[list[OutputEvent] | Ping | Shutdown]:
    """Batches of events after `query.after_id` and all that come later, until a terminal event if the query says so.

    Only deltas wait for the end of a window; anything else is sent at once, with the deltas before it. So is a full
    batch: a long replay must neither pile up in memory nor keep the event loop to itself.
    """
    loop = asyncio.get_running_loop()
    signal = outputs.signal(query.session_id)
    waiter = _Waiter(lifetime)
    seen, window_ends = query.after_id, 0.0
    held: list[OutputEvent] = []
    try:
        while True:
            ticket = signal.ticket()
            fresh = outputs.after(query.session_id, seen, input_id=query.input_id, limit=_BATCH)
            if fresh:
                seen = fresh[-1].id
                held += fresh
            now = loop.time()
            if held and (now >= window_ends or len(fresh) == _BATCH or not _only_deltas(held)):
                batch = _until_terminal(held) if query.stop_on_terminal else held
                yield coalesce(batch) if query.coalesce_s else batch
                if query.stop_on_terminal and batch[-1].is_terminal:
                    return
                held = []
                window_ends = loop.time() + query.coalesce_s
            if len(fresh) == _BATCH:
                continue
            if waiter.ending:
                yield Shutdown(held[0].id - 1 if held else seen)
                return
            if not await waiter.wait(ticket, window_ends - now if held else PING_S) and not held:
                yield Ping()
    finally:
        waiter.close()


async def follow_changes(
    changes: ChangeLog, after_seq: int | None, lifetime: asyncio.Event
) -> AsyncGenerator[list[ChangeEvent] | Ping | Shutdown]:
    """Batches of changes after a position (None: from now on); RESET first when the log has lost the position."""
    waiter = _Waiter(lifetime)
    seen = changes.last_seq() if after_seq is None else after_seq
    try:
        while True:
            ticket = changes.signal.ticket()
            fresh = changes.after(seen, limit=_BATCH)
            if fresh is None:
                seen = changes.last_seq()
                yield [ChangeEvent(id=seen, kind=Change.RESET, created_at=utc_now())]
                continue
            if fresh:
                yield fresh
                seen = fresh[-1].id
            if len(fresh) == _BATCH:
                continue
            if waiter.ending:
                yield Shutdown(seen)
                return
            if not await waiter.wait(ticket, PING_S):
                yield Ping()
    finally:
        waiter.close()


def _only_deltas(events: list[OutputEvent]) -> bool:
    return all(event.event_type in DELTA_EVENTS for event in events)


def _until_terminal(events: list[OutputEvent]) -> list[OutputEvent]:
    for position, event in enumerate(events):
        if event.is_terminal:
            return events[: position + 1]
    return events
