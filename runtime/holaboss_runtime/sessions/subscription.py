"""Following rows as they are committed: replay from the database, then wait for the next commit.

A subscriber that was away misses nothing and sees nothing twice, because what it gets is always "the rows after this
id". Nothing is buffered for it, so one that vanishes leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_client.events import Change, ChangeEvent
from holaboss_runtime.runs.coalesce import coalesce
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.output_events import OutputEventRecords, StoredEvent
from holaboss_runtime.store.signal import Signal

PING_S = 15.0
_BATCH = 500
_EARLY_S = 0.001
"""Timers may ring this much before their time."""


@dataclass(frozen=True, slots=True)
class Ping:
    """Nothing happened for a while; the connection is alive."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The server stops; always the last item. `position` is the id to resume after."""

    position: int


class _Waiter:
    """Sleeps until its signal, the end of the server or a time, whichever is first.

    Being woken costs one step of the loop: no task and, while events come in quickly, no timer is made for it.
    """

    def __init__(self, signal: Signal, lifetime: asyncio.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._signal = signal
        self._lifetime = lifetime
        self._told = False
        self._sleep: asyncio.Future[bool] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._ending = self._loop.create_task(self._tell_end())
        signal.follow(self._wake)

    @property
    def ending(self) -> bool:
        return self._lifetime.is_set()

    def look(self) -> None:
        """Before reading the state: what is told from here on ends the next `wait`."""
        self._told = False

    async def wait(self, timeout_s: float) -> bool:
        """True when there is something to look at, False when the time ran out."""
        if self._told or self.ending:
            return True
        self._sleep = self._loop.create_future()
        self._deadline = self._loop.time() + timeout_s
        if self._timer is None or self._timer.when() > self._deadline:
            self._arm()
        try:
            return await self._sleep
        finally:
            self._sleep = None

    def close(self) -> None:
        self._ending.cancel()
        self._signal.leave(self._wake)
        if self._timer is not None:
            self._timer.cancel()

    def _wake(self) -> None:
        self._told = True
        self._end_sleep(woken=True)

    def _end_sleep(self, *, woken: bool) -> None:
        if self._sleep is not None and not self._sleep.done():
            self._sleep.set_result(woken)

    async def _tell_end(self) -> None:
        await self._lifetime.wait()
        self._wake()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        """A timer that was set for an earlier sleep is only moved: most sleeps end long before their time."""
        self._timer = None
        if self._sleep is None:
            return
        if self._loop.time() < self._deadline - _EARLY_S:
            self._arm()
        else:
            self._end_sleep(woken=False)


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
) -> AsyncGenerator[list[StoredEvent] | Ping | Shutdown]:
    """Batches of events after `query.after_id` and all that come later, until a terminal event if the query says so.

    Only deltas wait for the end of a window; anything else is sent at once, with the deltas before it. So is a full
    batch: a long replay must neither pile up in memory nor keep the event loop to itself.
    """
    loop = asyncio.get_running_loop()
    waiter = _Waiter(outputs.signal(query.session_id), lifetime)
    seen, window_ends = query.after_id, 0.0
    held: list[StoredEvent] = []
    try:
        while True:
            waiter.look()
            fresh = outputs.rows_after(query.session_id, seen, input_id=query.input_id, limit=_BATCH)
            if fresh:
                seen = fresh[-1].id
                held += fresh
            now = loop.time()
            if held and (now >= window_ends or len(fresh) == _BATCH or not _only_deltas(held)):
                batch = _until_terminal(held) if query.stop_on_terminal else held
                yield _joined(batch) if query.coalesce_s else batch
                if query.stop_on_terminal and batch[-1].is_terminal:
                    return
                held = []
                window_ends = loop.time() + query.coalesce_s
            if len(fresh) == _BATCH:
                continue
            if waiter.ending:
                yield Shutdown(held[0].id - 1 if held else seen)
                return
            if not await waiter.wait(window_ends - now if held else PING_S) and not held:
                yield Ping()
    finally:
        waiter.close()


async def follow_changes(
    changes: ChangeLog, after_seq: int | None, lifetime: asyncio.Event
) -> AsyncGenerator[list[ChangeEvent] | Ping | Shutdown]:
    """Batches of changes after a position (None: from now on); RESET first when the log has lost the position."""
    waiter = _Waiter(changes.signal, lifetime)
    seen = changes.last_seq() if after_seq is None else after_seq
    try:
        while True:
            waiter.look()
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
            if not await waiter.wait(PING_S):
                yield Ping()
    finally:
        waiter.close()


def _only_deltas(events: list[StoredEvent]) -> bool:
    return all(event.is_delta for event in events)


def _until_terminal(events: list[StoredEvent]) -> list[StoredEvent]:
    for position, event in enumerate(events):
        if event.is_terminal:
            return events[: position + 1]
    return events


def _joined(rows: list[StoredEvent]) -> list[StoredEvent]:
    """Neighbours that continue one another as one; whatever is not joined stays the text it was."""
    if sum(row.is_delta for row in rows) < 2:
        return rows
    events = [row.event() for row in rows]
    kept = {row.id: (row, event) for row, event in zip(rows, events, strict=True)}
    joined = list[StoredEvent]()
    for event in coalesce(events):
        row, before = kept[event.id]
        joined.append(row if event is before else row._replace(payload_text=encode(event.payload)))
    return joined
