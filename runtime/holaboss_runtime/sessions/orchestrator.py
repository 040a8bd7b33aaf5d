"""The worker: starts wakes when there is something to run and a slot to run it in.

It sleeps until it is told that something was queued, freed or configured, or until the next input that waits for its
time comes due. A server that other programs share its database with may also look now and then (`look_s`), for what
nobody told: a program that was killed between its commit and its signal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.approvals import Approvals
from holaboss_runtime.sessions.cancellation import SHUTDOWN, RunCancellation
from holaboss_runtime.sessions.delayed import DelayedWakes
from holaboss_runtime.sessions.subagent_reports import SubagentReports
from holaboss_runtime.sessions.wake import WakeOutcome, Waker
from holaboss_runtime.store.clock import seconds_until
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.signal import Signal

log = logging.getLogger(__name__)

CLOSE_DEADLINE_S = 2.0
_AFTER_TROUBLE_S = 5.0
_AFTER_CONTENTION_S = 1.0
SUBAGENTS_AT_ONCE = 4
"""Of one session: the others wait, so that nobody else is kept from running."""


WORKER = "worker"


@dataclass(frozen=True, slots=True)
class ActiveRun:
    cancel: RunCancellation
    task: asyncio.Task[WakeOutcome | None]


class Orchestrator:
    """At most `concurrency` runs at once, and at most one per session."""

    def __init__(
        self,
        records: Records,
        waker: Waker,
        delayed: DelayedWakes,
        approvals: Approvals,
        reports: SubagentReports,
        *,
        concurrency: int,
        look_s: float | None = None,
    ) -> None:
        self._records = records
        self._waker = waker
        self._delayed = delayed
        self._approvals = approvals
        self._reports = reports
        self._concurrency = concurrency
        self._look_s = look_s
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

    def cancel_run(self, session_id: str, reason: str) -> None:
        """Order the session's run to stop, if this process runs one."""
        run = self._active.get(session_id)
        if run is not None:
            run.cancel.cancel(reason)

    def heed_orders(self) -> None:
        """Another process wrote into the database: stop the runs it wants stopped, look for work, and for wakes
        whose process is gone."""
        for session_id, run in self._active.items():
            order = self._waker.order_for(session_id)
            if order is not None:
                run.cancel.cancel(order)
        self._recover_expired()
        self.notify()

    async def drained(self, agent_id: str) -> None:
        """Wait until nothing of an agent runs or could run right now; what waits for a key could not."""
        while True:
            ticket = self._signal.ticket()
            mine = [name for name in self._active if self._agent_of(name) == agent_id]
            ready = self._records.inputs.ready_of_agent(
                agent_id, utc_now(), busy_sessions=(), waiting_inputs=self._waiting_inputs
            )
            if not mine and ready is None:
                return
            await ticket.wait()

    async def run_now(self, session_id: str, reason: str) -> WakeOutcome:
        """Wake a session that has been asked for by name, ahead of the queue; a run that is under way is that wake."""
        while (run := self._active.get(session_id)) is not None:
            await asyncio.wait({run.task})
            outcome = None if run.task.cancelled() or run.task.exception() else run.task.result()
            if outcome is not None and outcome.wake_id is not None:
                return outcome
        outcome = await asyncio.shield(self._start_named(session_id, reason))
        if outcome is None:
            raise RuntimeError(f"session {session_id} could not be woken")
        return outcome

    async def begin_now(self, session_id: str, reason: str) -> WakeOutcome | None:
        """`run_now` for those who do not wait: why nothing runs, or None once a run is under way."""
        if session_id in self._active:
            return None
        task = self._start_named(session_id, reason)
        await asyncio.sleep(0)  # one step: far enough to know whether there is anything to run
        if task.done():
            return task.result()
        task.add_done_callback(lambda done: self._end_unattended(session_id, done))
        return None

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
                self._recover_expired()
                self._delayed.fire(now)
                self._approvals.expire(now)
                self._reports.deliver(now)
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
                now, busy_sessions=self._busy(), waiting_inputs=self._waiting_inputs
            )
            if head is None:
                return
            cancel = RunCancellation()
            task = asyncio.get_running_loop().create_task(
                self._wake(head.session_id, head.input_id, cancel), name=f"run {head.input_id}"
            )
            self._active[head.session_id] = ActiveRun(cancel, task)

    def _busy(self) -> Collection[str]:
        """Sessions in which nothing more can begin: they run, or enough subagents of their owner do."""
        if len(self._active) < SUBAGENTS_AT_ONCE:
            return self._active
        return {*self._active, *self._records.subagents.crowded_out(self._active, SUBAGENTS_AT_ONCE)}

    async def _wake(self, session_id: str, head_id: str, cancel: RunCancellation) -> WakeOutcome | None:
        pokes = self._pokes
        try:
            outcome = await self._waker.wake(
                session_id, reason=WORKER, cancel=cancel, past=frozenset(self._waiting_inputs)
            )
            if outcome.skipped == "waits_for_key":
                # A poke during the wake may already have brought what the input waits for.
                if pokes == self._pokes:
                    self._waiting_inputs.add(head_id)
            elif outcome.skipped is not None:
                self._look_away(head_id)
            return outcome
        except Exception:
            # Only the database can fail here. Without the pause, a full disk would be asked a thousand times a second.
            log.exception("session %s: trying again in %s s", session_id, _AFTER_TROUBLE_S)
            self._waiting_inputs.add(head_id)
            self._mend_later(session_id)
            return None
        finally:
            self._forget(session_id)

    def _start_named(self, session_id: str, reason: str) -> asyncio.Task[WakeOutcome | None]:
        if self._closing:
            raise DomainError(
                "unavailable", "stopping", "The runtime is stopping. Ask again after its restart."
            )
        cancel = RunCancellation()
        task = asyncio.get_running_loop().create_task(
            self._wake_named(session_id, reason, cancel), name=f"wake {session_id}"
        )
        self._active[session_id] = ActiveRun(cancel, task)
        return task

    def _end_unattended(self, session_id: str, task: asyncio.Task[WakeOutcome | None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("session %s: trying again in %s s", session_id, _AFTER_TROUBLE_S, exc_info=error)

    async def _wake_named(self, session_id: str, reason: str, cancel: RunCancellation) -> WakeOutcome | None:
        try:
            return await self._waker.wake(session_id, reason=reason, cancel=cancel)
        except Exception:
            self._mend_later(session_id)
            raise
        finally:
            self._forget(session_id)

    def _look_away(self, input_id: str) -> None:
        """It looked ready and was not: somebody else is at it. Do not ask again at once."""

        def look_again() -> None:
            self._waiting_inputs.discard(input_id)
            self._signal.notify()

        self._waiting_inputs.add(input_id)
        asyncio.get_running_loop().call_later(_AFTER_CONTENTION_S, look_again)

    def _agent_of(self, session_id: str) -> str | None:
        session = self._records.sessions.get(session_id)
        return None if session is None else session.agent_id

    def _forget(self, session_id: str) -> None:
        self._active.pop(session_id, None)
        self._signal.notify()

    def _recover_expired(self) -> None:
        """Also leases whose owner died after its commit: nothing else would tell."""
        self._waker.recovery.recover_claims()
        left = {wake.session_id for wake in self._records.wakes.open()}
        left |= {session.session_id for session in self._records.sessions.leased()}
        for session_id in sorted(left - self._active.keys()):
            self._waker.recovery.recover_or_report(session_id)

    def _mend_later(self, session_id: str) -> None:
        asyncio.get_running_loop().call_later(_AFTER_TROUBLE_S, self._mend, session_id)

    def _mend(self, session_id: str) -> None:
        """End a wake that its own run could not end, and let the queue go on."""
        if self._closing:
            return
        try:
            if session_id not in self._active:
                self._waker.recovery.recover_own(session_id)
            self._waker.recovery.recover_all()
        except Exception:
            # The trouble is not over.
            log.exception("session %s: trying again in %s s", session_id, _AFTER_TROUBLE_S)
            self._mend_later(session_id)
        else:
            self.poke()

    def _next_due(self, now: str) -> float | None:
        """Seconds until the next input, wake or report comes due, an approval runs out or the lease of another process
        ends; `look_s` at most."""
        times = (
            self._records.inputs.next_due(now),
            self._records.scheduled.next_due(now),
            self._records.actions.next_expiry(now),
            self._records.subagents.next_report(now),
            self._records.sessions.next_lease_end(self._waker.owner, now),
            self._records.inputs.next_claim_end(self._waker.owner, now),
        )
        waits = [max(seconds_until(moment), 0.0) for moment in times if moment is not None]
        if self._look_s is not None:
            waits.append(self._look_s)
        return min(waits, default=None)

    def _arm_timer(self, delay: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if delay is not None:
            # A millisecond late rather than early: times are stored in whole milliseconds.
            self._timer = asyncio.get_running_loop().call_later(delay + 0.001, self._signal.notify)
