"""The loop of one agent for a program that is no server: run what is ready, cycle by cycle, then stop.

In a cycle every session is woken at most once, and after each run it is asked again what comes next, so that work of a
higher priority goes first. Watching, it sleeps between cycles until something comes due; because nobody can signal it,
it looks once a second whether another program wrote something.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

from holaboss_client.base import utc_now
from holaboss_runtime.sessions.cancellation import INTERRUPT, RunCancellation
from holaboss_runtime.sessions.service import Sessions
from holaboss_runtime.sessions.wake import WakeOutcome
from holaboss_runtime.store.clock import seconds_until

DEFAULT_CYCLES = 10
POLL_S = 1.0

_Result = TypeVar("_Result")
Stopped = Literal["idle", "max_cycles", "idle_timeout", "interrupted"]
Wake = Callable[[str, RunCancellation], Awaitable[WakeOutcome]]
Heard = Callable[[int, WakeOutcome], None]
"""The number of the cycle, and what a wake in it did."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """When to stop. Without `max_cycles` never for that reason; `idle_timeout_s` counts from the last run. `poll_s` is
    how long new work of another program may go unseen."""

    max_cycles: int | None = DEFAULT_CYCLES
    stop_when_idle: bool = True
    idle_timeout_s: float | None = None
    poll_s: float = POLL_S


@dataclass(slots=True)
class Tally:
    stop_reason: Stopped = "idle"
    cycles: int = 0
    executed: int = 0
    waiting_for_key: list[str] = field(default_factory=list[str])
    """Sessions whose next run needs a key that is not here."""


async def stoppable(stop: RunCancellation, run: Callable[[RunCancellation], Awaitable[_Result]]) -> _Result:
    """`run` with an order of its own to stop, which is given as soon as `stop` is."""
    cancel = RunCancellation()

    async def pass_on() -> None:
        await stop.wait()
        cancel.cancel(INTERRUPT)

    passing = asyncio.get_running_loop().create_task(pass_on())
    try:
        return await run(cancel)
    finally:
        passing.cancel()
        await asyncio.gather(passing, return_exceptions=True)


class BoundedLoop:
    """`wake` runs one session; `heard` is told of each attempt, also of one that ran nothing."""

    def __init__(
        self, sessions: Sessions, agent_id: str, bounds: Bounds, *, wake: Wake, heard: Heard
    ) -> None:
        self._sessions = sessions
        self._records = sessions.records
        self._agent_id = agent_id
        self._bounds = bounds
        self._wake = wake
        self._heard = heard

    async def run(self, stop: RunCancellation) -> Tally:
        """`stop` ends the loop, and the run that is under way; a run that somebody else stops ends alone."""
        tally = Tally()
        busy_until = time.monotonic()
        while True:
            if stop.reason is not None:
                tally.stop_reason = "interrupted"
                return tally
            if self._bounds.max_cycles is not None and tally.cycles >= self._bounds.max_cycles:
                tally.stop_reason = "max_cycles"
                return tally
            executed = await self._cycle(tally, stop)
            if executed:
                busy_until = time.monotonic()
                continue
            if self._bounds.stop_when_idle and stop.reason is None:
                tally.stop_reason = "idle"
                return tally
            if await self._rest(busy_until, stop):
                tally.stop_reason = "idle_timeout"
                return tally

    async def _cycle(self, tally: Tally, stop: RunCancellation) -> int:
        """Wake every session that is ready, once; how many of them ran. One that ran nothing is no cycle, unless it
        is the one that finds the agent idle."""
        self._sessions.recover()
        seen: set[str] = set()
        executed = 0
        while stop.reason is None:
            now = utc_now()
            self._fire(now)
            ready = self._records.inputs.ready_of_agent(self._agent_id, now, busy_sessions=seen)
            if ready is None:
                break
            seen.add(ready.session_id)
            outcome = await stoppable(stop, partial(self._wake, ready.session_id))
            executed += outcome.wake_id is not None
            self._note(outcome, tally)
            self._heard(tally.cycles + 1, outcome)
        if executed or self._bounds.stop_when_idle:
            tally.cycles += 1
        tally.executed += executed
        return executed

    def _note(self, outcome: WakeOutcome, tally: Tally) -> None:
        waits = outcome.skipped == "waits_for_key"
        if waits and outcome.session_id not in tally.waiting_for_key:
            tally.waiting_for_key.append(outcome.session_id)
        elif not waits and outcome.session_id in tally.waiting_for_key:
            tally.waiting_for_key.remove(outcome.session_id)

    def _fire(self, now: str) -> None:
        for session_id in {wake.session_id for wake in self._records.scheduled.due(now)}:
            session = self._records.sessions.get(session_id)
            if session is not None and session.agent_id == self._agent_id:
                self._sessions.delayed.fire(now, session_id)
        for action in self._records.actions.overdue(now):
            session = self._records.sessions.get(action.session_id)
            if session is not None and session.agent_id == self._agent_id:
                self._sessions.approvals.expire(now, action.session_id)
        for owner_id in self._records.subagents.ready_owners(now):
            owner = self._records.sessions.get(owner_id)
            if owner is not None and owner.agent_id == self._agent_id:
                self._sessions.reports.deliver(now, owner_id)

    async def _rest(self, busy_until: float, stop: RunCancellation) -> bool:
        """Sleep until it is worth looking again; True when it has been idle for too long, and still is."""
        delays = [self._bounds.poll_s, *self._until_due()]
        limit = self._bounds.idle_timeout_s
        if limit is not None:
            left = busy_until + limit - time.monotonic()
            if left <= 0:
                return True
            delays.append(left)
        try:
            async with asyncio.timeout(max(min(delays), 0.0) + 0.001):
                await stop.wait()
        except TimeoutError:
            pass
        return False

    def _until_due(self) -> list[float]:
        now = utc_now()
        times = (
            self._records.inputs.next_due(now),
            self._records.scheduled.next_due(now),
            self._records.actions.next_expiry(now),
            self._records.subagents.next_report(now),
        )
        return [seconds_until(moment) for moment in times if moment is not None]
