"""One wake: lease a session, claim what waits in it, run it, commit it. The only place where a run starts.

`wake(session_id)` needs no more than the id. What it did is in the records; the outcome it returns is for those who
schedule, and nothing depends on it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from holaboss_client.base import utc_now
from holaboss_client.events import TERMINAL_EVENTS, RunEvent
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import Harness, RunnerEvent, RunPackage
from holaboss_runtime.harness.toolbox import Toolbox
from holaboss_runtime.runs.fitting import with_staged
from holaboss_runtime.runs.ports import KEY_MISSING, Models
from holaboss_runtime.runs.profile import ClaimedRun, Compiled, Executor, Lease, Profile
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.approvals import Approvals
from holaboss_runtime.sessions.cancellation import (
    INTERRUPT,
    LEASE_LOST,
    SHUTDOWN,
    TERMINATED,
    USER_PAUSE,
    RunCancellation,
)
from holaboss_runtime.sessions.claims import ANY_TIME, LEASE_S, Claim, Claimer, Skipped, only_stops
from holaboss_runtime.sessions.continuity import Continuity
from holaboss_runtime.sessions.delayed import DelayedWakes
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.recovery import Recovery
from holaboss_runtime.sessions.retry import MAX_RETRIES, retry_delay
from holaboss_runtime.sessions.settle import Settler, failure, interrupted
from holaboss_runtime.sessions.speech import Said, Speech
from holaboss_runtime.sessions.subagent_reports import SubagentReports
from holaboss_runtime.store import sessions as stored
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.inputs import QUEUED, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord

log = logging.getLogger(__name__)

MANUAL = "manual"
_SAID_BY_US = frozenset({RunEvent.RUN_CLAIMED, RunEvent.RUN_STARTED, RunEvent.RUN_RETRYING})
_MAY_CHANGE_ANYTHING = ("bash", "mcp__")
"""How the names of tools begin that do not say which files they changed."""

_WANTED = frozenset({USER_PAUSE, INTERRUPT, TERMINATED})
_CLAIM_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class WakeOutcome:
    """`skipped` says why nothing ran; otherwise `wake_id` ran."""

    session_id: str
    lead_id: str | None = None
    wake_id: str | None = None
    skipped: Skipped | None = None


@dataclass(frozen=True, slots=True)
class Waker:
    """`orders_s`: how often a run looks for orders that another process wrote, for those nobody can signal."""

    records: Records
    publish: Publisher
    settler: Settler
    recovery: Recovery
    continuity: Continuity
    claimer: Claimer
    delayed: DelayedWakes
    approvals: Approvals
    reports: SubagentReports
    workspace_profile: Profile
    agent_profile: Profile
    models: Models
    harness: Harness
    toolbox: Toolbox
    owner: str
    orders_s: float | None = None

    async def wake(
        self,
        session_id: str,
        *,
        reason: str = MANUAL,
        cancel: RunCancellation | None = None,
        past: Collection[str] = (),
    ) -> WakeOutcome:
        """Reconsider one session: run what waits in it, once; inputs in `past` are left alone. Raises `DomainError`
        for an unknown session."""
        cancel = cancel or RunCancellation()
        began = time.perf_counter()
        self.recovery.recover_if_abandoned(session_id)
        self.come_due(session_id)
        for _ in range(_CLAIM_ATTEMPTS):
            session = self.records.sessions.get(session_id)
            if session is None:
                raise not_found("session", session_id)
            waiting = self.claimer.peek(session, past=past)
            if isinstance(waiting, str):
                return WakeOutcome(session_id, skipped=waiting)
            lead_id = waiting[0].input_id
            # To stop needs no model, so whatever is wrong with that must not keep a person from it.
            compiled = None if only_stops(waiting) else await self._compile(session, waiting)
            if isinstance(compiled, DomainError) and compiled.code == KEY_MISSING:
                self._wait_for_key(waiting[0], compiled)
                return WakeOutcome(session_id, lead_id, skipped="waits_for_key")
            if cancel.reason:
                return WakeOutcome(session_id, lead_id, skipped="idle")
            lease = compiled.lease if isinstance(compiled, Compiled) else Lease(LEASE_S)
            claim = self.claimer.claim(session_id, lead_id, reason=reason, lease_s=lease.lease_s, past=past)
            if isinstance(claim, Claim):
                await self._carry(claim, compiled, cancel, began)
                return WakeOutcome(session_id, lead_id, claim.wake.wake_id)
            if claim != "changed":
                return WakeOutcome(session_id, lead_id, skipped=claim)
        return WakeOutcome(session_id, skipped="lease_contended")

    def come_due(self, session_id: str) -> None:
        """Whatever time alone decides in a session becomes an input: wakes that are due, approvals that ran out. So
        does what its subagents came to: it runs anyway."""
        now = utc_now()
        self.delayed.fire(now, session_id)
        self.approvals.expire(now, session_id)
        self.reports.deliver(now, session_id, early=True)

    def claim_next(self, session_id: str) -> Claim | None:
        """Take what would run next, be it due or not, for somebody who ends it without running it."""
        session = self.records.sessions.get(session_id)
        waiting = None if session is None else self.claimer.peek(session, at=ANY_TIME)
        if waiting is None or isinstance(waiting, str):
            return None
        claim = self.claimer.claim(session_id, waiting[0].input_id, at=ANY_TIME)
        return claim if isinstance(claim, Claim) else None

    async def _carry(
        self, claim: Claim, compiled: Compiled | DomainError | None, cancel: RunCancellation, began: float
    ) -> None:
        try:
            if claim.only_stops:
                self.finish(claim, TurnFold(), _stopped())
                return
            compiled = compiled or await self._compile(claim.session, list(claim.inputs))
            if isinstance(compiled, DomainError):
                self.finish(claim, TurnFold(), failure(compiled))
            else:
                await self._run(claim, compiled, cancel, began)
        except Exception as error:
            # A defect in one run must end that run, visibly, and no other.
            log.exception("run of input %s failed inside the runtime", claim.input.input_id)
            self._fail_defect(claim, error)

    async def _compile(self, session: SessionRecord, waiting: list[InputRecord]) -> Compiled | DomainError:
        profile = self._profile(session)
        try:
            return await profile.compile(session, waiting)
        except DomainError as error:
            return error
        except Exception as error:
            # Whatever keeps a workspace from being read must fail its run where a person sees it.
            log.exception("could not prepare a run in workspace %s", session.workspace_id)
            detail = f"The workspace could not be prepared for this run: {error}"
            return DomainError("unavailable", "workspace_unusable", detail)

    def _profile(self, session: SessionRecord) -> Profile:
        return self.workspace_profile if session.agent_id is None else self.agent_profile

    def _wait_for_key(self, head: InputRecord, error: DomainError) -> None:
        with self.records.database.transaction():
            found = self.records.inputs.get(head.input_id)
            if found is None or found.status != QUEUED:
                return
            self.records.sessions.wait(
                head.session_id,
                {
                    "code": error.code,
                    "message": error.detail,
                    "provider_id": error.context.get("provider_id"),
                },
            )
            self.publish.state(head.session_id)

    async def _run(self, claim: Claim, compiled: Compiled, cancel: RunCancellation, began: float) -> None:
        executor = Executor(
            self.harness.name,
            self.harness.tool_names,
            self.models.live_secrets(),
            tuple(self.toolbox.definitions(claim.session.kind)),
            self.harness.capabilities,
            self.harness.prep_plan(claim.session.kind),
        )
        run = ClaimedRun(claim.session, claim.input, claim.inputs, claim.wake.wake_id, claim.decisions)
        prepared = await with_staged(self._profile(claim.session).prepare(run, compiled, executor), executor)
        claim = replace(
            claim,
            request=prepared.facts,
            backoff=compiled.backoff,
            unattended=not prepared.package.permissions.may_ask,
        )
        fold = TurnFold()
        started = prepared.started | {"bootstrap_total_ms": round((time.perf_counter() - began) * 1000, 1)}
        # What is approved may be done at once: that it was handed out has to be on the disk before.
        with self.records.database.transaction(durable=claim.acts):
            self.records.snapshots.save(
                claim.input.workspace_id, claim.input.session_id, prepared.snapshot, prepared.texts
            )
            self.records.wakes.asked(claim.wake.wake_id, prepared.snapshot.fingerprint)
            notices = [(RunEvent.RUN_NOTICE, told) for told in prepared.notices]
            self._say(claim, [(RunEvent.RUN_STARTED, started), *notices], cancel)
        if cancel.reason == LEASE_LOST:
            return
        fold.add(RunEvent.RUN_STARTED, started)
        async with self._heartbeat(claim, cancel, compiled.lease):
            terminal = await self._consume(claim, prepared.package, fold, cancel)
        if cancel.reason != LEASE_LOST:
            self._settle(claim, fold, terminal, cancel)

    async def _consume(
        self, claim: Claim, package: RunPackage, fold: TurnFold, cancel: RunCancellation
    ) -> RunnerEvent:
        """Record what the harness says until its terminal event, which is returned and not recorded yet."""
        events = self.harness.run(package, cancel)
        speech = Speech() if claim.session.agent_id is not None else None
        try:
            async for event in events:
                if event.event_type in TERMINAL_EVENTS:
                    self._say(claim, [] if speech is None else speech.end(), cancel)
                    return event
                if event.event_type not in _SAID_BY_US and cancel.reason != LEASE_LOST:
                    fold.add(event.event_type, event.payload)
                    said = [(event.event_type, event.payload)]
                    self._say(claim, said if speech is None else speech.hear(*said[0]), cancel)
                    self._tell_files(claim.input, event)
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        return _failed("harness_ended", "The agent stopped without finishing. Send the message again.", fold)

    def _settle(self, claim: Claim, fold: TurnFold, terminal: RunnerEvent, cancel: RunCancellation) -> None:
        paused = terminal.payload.get("status") == "paused"
        over = self.order_for(claim.session.session_id) == TERMINATED
        if paused and cancel.reason == SHUTDOWN:
            repeatable = not (fold.progressed or claim.acts)
            if repeatable and claim.input.attempt < MAX_RETRIES and not over:
                self.settler.requeue(claim, delay_s=0.0, why=interrupted(fold).payload)
                return
            terminal = interrupted(fold).model_copy(update={"result": terminal.result})
        if terminal.event_type == RunEvent.RUN_FAILED and cancel.reason not in _WANTED and not over:
            delay = retry_delay(
                terminal.payload,
                attempt=claim.input.attempt,
                progressed=fold.progressed or claim.acts,
                backoff=claim.backoff,
            )
            if delay is not None:
                self.settler.requeue(claim, delay_s=delay, why=terminal.payload)
                return
        self.finish(claim, fold, terminal)

    def finish(self, claim: Claim, fold: TurnFold, terminal: RunnerEvent) -> None:
        """Commit, then write what the next run needs, then let the session go on."""
        if not self.settler.finish(claim, fold, terminal):
            return
        if not self.continuity.complete(claim.wake.wake_id, last=lambda: self.settler.release(claim)):
            self.settler.release(claim)  # what is owed is paid before the next turn

    def _fail_defect(self, claim: Claim, error: Exception) -> None:
        events = self.records.outputs.of_inputs([claim.input.input_id])[claim.input.input_id]
        fold = TurnFold.of(events)
        message = f"Something went wrong inside Holaboss ({type(error).__name__}). The log has the details."
        self.finish(claim, fold, _failed("internal_error", message, fold))
        self.settler.release(claim)  # also when what failed was to let go of a turn that is committed

    @asynccontextmanager
    async def _heartbeat(self, claim: Claim, cancel: RunCancellation, lease: Lease) -> AsyncGenerator[None]:
        """Keep the lease while the body runs; cancel the run when the lease is lost."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._beat(claim, cancel, lease))]
        if self.orders_s is not None:
            tasks.append(loop.create_task(self._look_for_orders(claim, cancel, self.orders_s)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _beat(self, claim: Claim, cancel: RunCancellation, lease: Lease) -> None:
        while cancel.reason != LEASE_LOST:
            await asyncio.sleep(lease.heartbeat_s)
            try:
                self._renew(claim, cancel, from_now(lease.lease_s))
                self._heed_orders(claim, cancel)  # whoever wrote one may have died before its signal
            except Exception:
                # A disk that is full or locked for a while must not cost the lease: the next beat tries again.
                log.exception("could not renew the lease of session %s", claim.session.session_id)

    def _renew(self, claim: Claim, cancel: RunCancellation, until: str) -> None:
        with self.records.database.transaction():
            held = self.records.sessions.renew_lease(claim.session.session_id, claim.epoch, until)
            for taken in claim.inputs if held else ():
                self.records.inputs.renew_claim(taken.input_id, self.owner, until)
        if not held:
            self._lose(claim, cancel)

    async def _look_for_orders(self, claim: Claim, cancel: RunCancellation, every_s: float) -> None:
        while cancel.reason is None:
            await asyncio.sleep(every_s)
            self._heed_orders(claim, cancel)

    def _heed_orders(self, claim: Claim, cancel: RunCancellation) -> None:
        order = self.order_for(claim.session.session_id)
        if order is not None:
            cancel.cancel(order)

    def order_for(self, session_id: str) -> str | None:
        """Why the running session should stop, when somebody wrote down that it should."""
        session = self.records.sessions.get(session_id)
        if session is None or session.status == stored.TERMINATED:
            return TERMINATED
        if session.hold is not None:
            return USER_PAUSE
        return INTERRUPT if self.records.inputs.has_interrupt(session_id) else None

    def _say(self, claim: Claim, events: list[Said], cancel: RunCancellation) -> None:
        """Nothing is said under a lease that was lost: somebody else has ended the turn, or runs it again."""
        if not events:
            return
        lead = claim.input
        if not self.records.outputs.append_under_lease(
            lead.workspace_id, lead.session_id, lead.input_id, claim.epoch, events
        ):
            self._lose(claim, cancel)

    def _lose(self, claim: Claim, cancel: RunCancellation) -> None:
        if cancel.reason != LEASE_LOST:
            log.warning("lost the lease of session %s", claim.session.session_id)
        cancel.cancel(LEASE_LOST)

    def _tell_files(self, claimed: InputRecord, event: RunnerEvent) -> None:
        payload = event.payload
        completed = event.event_type == RunEvent.TOOL_CALL and payload.get("phase") == "completed"
        if not completed or payload.get("denied"):
            return
        paths = payload.get("changed_paths")
        listed = cast(list[Any], paths) if isinstance(paths, list) else []
        if listed or str(payload.get("tool_name")).startswith(_MAY_CHANGE_ANYTHING):
            self.publish.files(claimed.workspace_id, claimed.session_id, [str(path) for path in listed])


def _stopped() -> RunnerEvent:
    return RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload={"status": "paused", "usage": {}})


def _failed(code: str, message: str, fold: TurnFold) -> RunnerEvent:
    payload = {
        "type": code,
        "message": message,
        "provider_id": fold.started.get("provider_id"),
        "model_id": fold.started.get("model_id"),
        "retryable": False,
    }
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload)
