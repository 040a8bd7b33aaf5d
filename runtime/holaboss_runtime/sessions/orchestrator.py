"""The worker: starts wakes when there is something to run and a slot to run it in.

It never polls. It sleeps until it is told that something was queued, freed or configured, or until the next input
that waits for its time comes due.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_runtime.sessions.cancellation import SHUTDOWN, RunCancellation
from holaboss_runtime.sessions.wake import Waker, WakeResult
from holaboss_runtime.store.clock import seconds_until
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.signal import Signal

log = logging.getLogger(__name__)

CLOSE_DEADLINE_S = 2.0
_AFTER_TROUBLE_S = 5.0


@dataclass(frozen=True, slots=True)
class ActiveRun:
    input_id: str
    cancel: RunCancellation
    task: asyncio.Task[None]


class Orchestrator:
    """At most `concurrency` runs at once, and at most one per session."""

    def __init__(self, records: Records, waker: Waker, *, concurrency: int) -> None:
        self._records = records
        self._waker = waker
        self._concurrency = concurrency
        self._signal = Signal()
        self._active: dict[str, ActiveRun] = {}
        self._waiting_inputs: set[str] = set()
        self._pokes = 0
        self._worker: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False

    def start(self) -> None:
        self._worker = asyncio.get_running_loop().create_task(self._work(), name="session orchestrator")

    def notify(self) -> None:
        """Something was queued or freed."""
        self._signal.notify()

    def poke(self) -> None:
        """Configuration or keys changed: inputs that waited for them are tried again."""
        self._pokes += 1
        self._waiting_inputs.clear()
        self._signal.notify()

    def cancel_run(self, session_id: str, reason: str) -> ActiveRun | None:
        """Order the session's run to stop; None when this process runs none."""
        run = self._active.get(session_id)
        if run is not None:
            run.cancel.cancel(reason)
        return run

    async def close(self) -> None:
        """Stop every run within `CLOSE_DEADLINE_S`; what does not stop is recovered at the next start."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        tasks = [run.task for run in self._active.values()]
        for run in self._active.values():
            run.cancel.cancel(SHUTDOWN)
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=CLOSE_DEADLINE_S)
        for task in late:
            log.warning("a run did not stop within %s s", CLOSE_DEADLINE_S)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            ticket = self._signal.ticket()
            try:
                now = utc_now()
                self._start_ready(now)
                self._arm_timer(self._next_due(now))
            except Exception:
                # A database that is full or locked must not end the worker for good.
                log.exception("could not look for work; trying again in %s s", _AFTER_TROUBLE_S)
                self._arm_timer(_AFTER_TROUBLE_S)
            await ticket.wait()

    def _start_ready(self, now: str) -> None:
        while len(self._active) < self._concurrency:
            head = self._records.inputs.next_ready(
                now, busy_sessions=self._active, waiting_inputs=self._waiting_inputs
            )
            if head is None:
                return
            cancel = RunCancellation()
            task = asyncio.get_running_loop().create_task(
                self._wake(head, cancel), name=f"run {head.input_id}"
            )
            self._active[head.session_id] = ActiveRun(head.input_id, cancel, task)

    async def _wake(self, head: InputRecord, cancel: RunCancellation) -> None:
        pokes = self._pokes
        try:
            result = await self._waker.wake(head, cancel)
            # A poke during the wake may already have brought what the input waits for.
            if result is WakeResult.WAITS_FOR_KEY and pokes == self._pokes:
                self._waiting_inputs.add(head.input_id)
        except Exception:
            # Only the database can fail here. Without the pause, a full disk would be asked a thousand times a second.
            log.exception("session %s: trying again in %s s", head.session_id, _AFTER_TROUBLE_S)
            self._waiting_inputs.add(head.input_id)
            self._mend_later(head.session_id)
        finally:
            del self._active[head.session_id]
            self._signal.notify()

    def _mend_later(self, session_id: str) -> None:
        asyncio.get_running_loop().call_later(_AFTER_TROUBLE_S, self._mend, session_id)

    def _mend(self, session_id: str) -> None:
        """End a wake that its own run could not end, and let the queue go on."""
        if self._closing:
            return
        try:
            self._waker.recover_session(session_id)
        except Exception:
            # The trouble is not over.
            log.exception("session %s: trying again in %s s", session_id, _AFTER_TROUBLE_S)
            self._mend_later(session_id)
        else:
            self.poke()

    def _next_due(self, now: str) -> float | None:
        due = self._records.inputs.next_due(now)
        return None if due is None else max(seconds_until(due), 0.0)

    def _arm_timer(self, delay: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if delay is not None:
            # A millisecond late rather than early: times are stored in whole milliseconds.
            self._timer = asyncio.get_running_loop().call_later(delay + 0.001, self._signal.notify)
