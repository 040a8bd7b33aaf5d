"""One wake: claim an input under a lease, run it, commit it. The only place where a run starts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, cast

from holaboss_client.base import new_id
from holaboss_client.events import TERMINAL_EVENTS, RunEvent
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import Harness, RunnerEvent, RunPackage
from holaboss_runtime.runs.ports import KEY_MISSING, Models, Workspaces
from holaboss_runtime.runs.prepare import Compiled, compile_run, prepare_run, preview
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.cancellation import LEASE_LOST, SHUTDOWN, USER_PAUSE, RunCancellation
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.recovery import Recovery
from holaboss_runtime.sessions.retry import MAX_RETRIES, retry_delay
from holaboss_runtime.sessions.settle import Claim, Settler, failure, interrupted
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.inputs import QUEUED, InputRecord
from holaboss_runtime.store.records import Records

log = logging.getLogger(__name__)

LEASE_S = 300.0
HEARTBEAT_S = 60.0
_SAID_BY_US = frozenset({RunEvent.RUN_CLAIMED, RunEvent.RUN_STARTED, RunEvent.RUN_RETRYING})
_CHANGES_FILES = frozenset({"write", "edit", "bash"})


class WakeResult(Enum):
    RAN = "ran"
    NOTHING_TO_DO = "nothing_to_do"
    WAITS_FOR_KEY = "waits_for_key"


@dataclass(frozen=True, slots=True)
class Waker:
    records: Records
    publish: Publisher
    settler: Settler
    recovery: Recovery
    workspaces: Workspaces
    models: Models
    harness: Harness
    owner: str

    async def wake(self, head: InputRecord, cancel: RunCancellation) -> WakeResult:
        """Run `head`, the input that is next in its session, unless it is gone by the time it would be claimed."""
        began = time.perf_counter()
        compiled = await self._compile(head)
        if isinstance(compiled, DomainError) and compiled.code == KEY_MISSING:
            self._wait_for_key(head, compiled)
            return WakeResult.WAITS_FOR_KEY
        claim = None if cancel.reason else self.claim(head)
        if claim is None:
            return WakeResult.NOTHING_TO_DO
        try:
            if isinstance(compiled, DomainError):
                self.settler.finish(claim, TurnFold(), failure(compiled))
            else:
                await self._run(claim, compiled, cancel, began)
        except Exception as error:
            # A defect in one run must end that run, visibly, and no other.
            log.exception("run of input %s failed inside the runtime", head.input_id)
            self._fail_defect(claim, error)
        return WakeResult.RAN

    def claim(self, head: InputRecord) -> Claim | None:
        """Lease the session, end what an earlier owner left, and take the input; None when somebody was faster."""
        until = from_now(LEASE_S)
        with self.records.database.transaction():
            found = self.records.inputs.get(head.input_id)
            if found is None or found.status != QUEUED:
                return None
            epoch = self.records.sessions.acquire_lease(head.session_id, self.owner, until)
            if epoch is None:
                return None
            left_open = self.records.wakes.running(head.session_id)
            if left_open is not None:
                self.recovery.recover(left_open)
                return None
            taken = self.records.inputs.claim(head.input_id, self.owner, until)
            session = self.records.sessions.get(head.session_id)
            if taken is None or session is None:
                raise RuntimeError(f"input {head.input_id} vanished inside a transaction")
            wake = self.records.wakes.begin(new_id(), head.session_id, head.input_id, epoch)
            self.records.messages.insert(
                taken.workspace_id, taken.session_id, taken.input_id, "user", taken.text
            )
            self.records.sessions.begin_run(head.session_id, epoch)
            self._say(taken, RunEvent.RUN_CLAIMED, {"instruction_preview": preview(taken.text)})
            self.publish.queue(taken.workspace_id, taken.session_id, taken.input_id)
            self.publish.state(taken.session_id)
        return Claim(taken, wake, epoch, session.kind)

    def recover_session(self, session_id: str) -> None:
        """End or requeue the wake that its run left open, if there is one."""
        left_open = self.records.wakes.running(session_id)
        if left_open is not None:
            self.recovery.recover(left_open)

    async def _compile(self, head: InputRecord) -> Compiled | DomainError:
        try:
            return await compile_run(head, self.workspaces, self.models)
        except DomainError as error:
            return error
        except Exception as error:
            # Whatever keeps a workspace from being read must fail its run where a person sees it.
            log.exception("could not prepare a run in workspace %s", head.workspace_id)
            detail = f"The workspace could not be prepared for this run: {error}"
            return DomainError("unavailable", "workspace_unusable", detail)

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
        prepared = prepare_run(
            claim.input,
            compiled,
            self.records,
            wake_id=claim.wake.wake_id,
            session_kind=claim.session_kind,
            harness=self.harness.name,
            tool_names=self.harness.tool_names,
            secrets=self.models.live_secrets(),
        )
        claim = replace(claim, request=prepared.facts)
        fold = TurnFold()
        started = prepared.started | {"bootstrap_total_ms": round((time.perf_counter() - began) * 1000, 1)}
        with self.records.database.transaction():
            self.records.snapshots.save(
                claim.input.workspace_id, claim.input.session_id, prepared.snapshot, prepared.texts
            )
            self._say(claim.input, RunEvent.RUN_STARTED, started)
        fold.add(RunEvent.RUN_STARTED, started)
        async with self._heartbeat(claim, cancel):
            terminal = await self._consume(claim, prepared.package, fold, cancel)
        if cancel.reason != LEASE_LOST:
            self._settle(claim, fold, terminal, cancel)

    async def _consume(
        self, claim: Claim, package: RunPackage, fold: TurnFold, cancel: RunCancellation
    ) -> RunnerEvent:
        """Record what the harness says until its terminal event, which is returned and not recorded yet."""
        events = self.harness.run(package, cancel)
        try:
            async for event in events:
                if event.event_type in TERMINAL_EVENTS:
                    return event
                if event.event_type not in _SAID_BY_US and cancel.reason != LEASE_LOST:
                    fold.add(event.event_type, event.payload)
                    self._say(claim.input, event.event_type, event.payload)
                    self._tell_files(claim.input, event)
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        return _failed("harness_ended", "The agent stopped without finishing. Send the message again.", fold)

    def _settle(self, claim: Claim, fold: TurnFold, terminal: RunnerEvent, cancel: RunCancellation) -> None:
        paused = terminal.payload.get("status") == "paused"
        if paused and cancel.reason == SHUTDOWN:
            if not fold.progressed and claim.input.attempt < MAX_RETRIES:
                self.settler.requeue(claim, delay_s=0.0, why=interrupted(fold).payload)
                return
            terminal = interrupted(fold).model_copy(update={"result": terminal.result})
        if terminal.event_type == RunEvent.RUN_FAILED and cancel.reason != USER_PAUSE:
            delay = retry_delay(terminal.payload, attempt=claim.input.attempt, progressed=fold.progressed)
            if delay is not None:
                self.settler.requeue(claim, delay_s=delay, why=terminal.payload)
                return
        self.settler.finish(claim, fold, terminal)

    def _fail_defect(self, claim: Claim, error: Exception) -> None:
        events = self.records.outputs.of_inputs([claim.input.input_id])[claim.input.input_id]
        fold = TurnFold.of(events)
        message = f"Something went wrong inside Holaboss ({type(error).__name__}). The log has the details."
        self.settler.finish(claim, fold, _failed("internal_error", message, fold))

    @asynccontextmanager
    async def _heartbeat(self, claim: Claim, cancel: RunCancellation) -> AsyncGenerator[None]:
        """Keep the lease while the body runs; cancel the run when the lease is lost."""

        beat = asyncio.get_running_loop().create_task(self._beat(claim, cancel))
        try:
            yield
        finally:
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)

    async def _beat(self, claim: Claim, cancel: RunCancellation) -> None:
        while cancel.reason != LEASE_LOST:
            await asyncio.sleep(HEARTBEAT_S)
            until = from_now(LEASE_S)
            if self.records.sessions.renew_lease(claim.input.session_id, claim.epoch, until):
                self.records.inputs.renew_claim(claim.input.input_id, self.owner, until)
            else:
                log.warning("lost the lease of session %s", claim.input.session_id)
                cancel.cancel(LEASE_LOST)

    def _say(self, said: InputRecord, event_type: str, payload: dict[str, Any]) -> None:
        self.records.outputs.append(
            said.workspace_id, said.session_id, said.input_id, [(event_type, payload)]
        )

    def _tell_files(self, claimed: InputRecord, event: RunnerEvent) -> None:
        payload = event.payload
        completed = event.event_type == RunEvent.TOOL_CALL and payload.get("phase") == "completed"
        if completed and payload.get("tool_name") in _CHANGES_FILES:
            paths = payload.get("changed_paths")
            listed = cast(list[Any], paths) if isinstance(paths, list) else []
            self.publish.files(claimed.workspace_id, claimed.session_id, [str(path) for path in listed])


def _failed(code: str, message: str, fold: TurnFold) -> RunnerEvent:
    payload = {
        "type": code,
        "message": message,
        "provider_id": fold.started.get("provider_id"),
        "model_id": fold.started.get("model_id"),
        "retryable": False,
    }
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload)
