"""What a person does to a session: send a message, stop it, let it go on, look at how it is doing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from holaboss_client.agents import AppendedEvent, AppendEvent
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.events import RunEvent
from holaboss_client.sessions import InputReply, QueueReply, QueueRequest, SessionState, SessionStateList
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.runs.attachments import has_images, refuse_images
from holaboss_runtime.runs.ports import Models, Workspaces
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.cancellation import INTERRUPT, TERMINATED, USER_PAUSE
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.sessions.directory import SessionDirectory
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.sessions.orchestrator import Orchestrator
from holaboss_runtime.sessions.payloads import event_payload, message_payload
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.session_log import SessionLog
from holaboss_runtime.sessions.state import derive_state
from holaboss_runtime.sessions.wake import Waker
from holaboss_runtime.store import sessions as stored
from holaboss_runtime.store.inputs import PAUSED, QUEUED, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.session_facts import SessionFacts
from holaboss_runtime.store.sessions import HOLD_USER_PAUSE
from holaboss_runtime.workspace.plan import load_plan

PAUSING = "PAUSING"


class SessionControl:
    def __init__(
        self,
        records: Records,
        publisher: Publisher,
        workspaces: Workspaces,
        models: Models,
        directory: SessionDirectory,
        inbound: Inbound,
        waker: Waker,
        orchestrator: Orchestrator,
    ) -> None:
        self._records = records
        self._publish = publisher
        self._workspaces = workspaces
        self._models = models
        self._directory = directory
        self._inbound = inbound
        self._waker = waker
        self._orchestrator = orchestrator
        self._log = SessionLog(records)
        self.on_terminated: Callable[[str], None] = lambda session_id: None
        """Told of each session that ends for good, in the transaction that ends it."""

    def queue(self, body: QueueRequest) -> QueueReply:
        """Ask for one turn. Raises `DomainError` when the workspace or the message cannot be used."""
        self._workspaces.get(body.workspace_id)
        folder = self._workspaces.folder(body.workspace_id)
        payload = message_payload(body, folder)
        self._check_pictures(payload, folder)
        with self._records.database.transaction():
            queued = self._first_with_key(body)
            if queued is None:
                session = self._directory.choose(body.workspace_id, body.session_id)
                queued = self._inbound.append_inbound(
                    session,
                    Event.USER_MESSAGE,
                    payload,
                    priority=body.priority,
                    idempotency_key=body.idempotency_key,
                )
            state = derive_state(self._facts(queued.session_id))
        return QueueReply(
            input_id=queued.input_id,
            session_id=queued.session_id,
            status=queued.status,
            effective_state=state.effective_state,
            runtime_status=state.runtime_status,
            current_input_id=state.current_input_id,
            has_queued_inputs=state.has_queued_inputs,
        )

    def _check_pictures(self, payload: dict[str, Any], folder: Path) -> None:
        """Say that a model cannot look at a picture before it is sent, not after."""
        if not has_images(payload):
            return
        requested = payload.get("model")
        if requested is None:
            with suppress(DomainError):  # the run will say what is wrong with its plan
                requested = load_plan(folder).model
        if (blind := self._models.blind_model(requested)) is not None:
            raise refuse_images(blind)

    def append(self, session_id: str, body: AppendEvent) -> AppendedEvent:
        """Append an inbound event of any type. An interrupt also stops the run that is under way."""
        payload = event_payload(body.type, body.payload)
        with self._records.database.transaction():
            queued = self._inbound.append_inbound(
                self._directory.get(session_id),
                body.type,
                payload,
                event_id=body.event_id,
                priority=body.priority,
                idempotency_key=body.idempotency_key,
            )
            event = self._records.events.get(queued.input_id)
            if event is None:
                raise RuntimeError(f"input {queued.input_id} has no event")
            if queued.event_type == Event.USER_INTERRUPT and queued.status == QUEUED:
                # One that was sent again, and was heeded then, must not stop what began since.
                self._records.database.after_commit(
                    lambda: self._orchestrator.cancel_run(queued.session_id, INTERRUPT)
                )
        return AppendedEvent(event=event, input_id=queued.input_id)

    def terminate(self, session_id: str) -> SessionState:
        """End a session for good: what runs is stopped, what waits is dropped, nothing is accepted any more.
        Harmless for one that has ended."""
        session = self._directory.get(session_id)
        if session.status == stored.TERMINATED:
            return self.state(session.workspace_id, session_id)
        with self._records.database.transaction(durable=True):
            for input_id in self._records.inputs.drop(session_id):
                self._records.events.mark_processed(input_id, None)
                self._publish.queue(session.workspace_id, session_id, input_id)
            self._records.scheduled.cancel_all(session_id)
            self._records.actions.cancel(session_id)
            self._records.sessions.terminate(session_id)
            self._log.status_changed(session_id, session.status, stored.TERMINATED, "terminated")
            self._publish.state(session_id)
            self._publish.session(session.workspace_id, session_id)
            self._records.database.after_commit(lambda: self._orchestrator.cancel_run(session_id, TERMINATED))
            self.on_terminated(session_id)
        return self.state(session.workspace_id, session_id)

    def pause(self, workspace_id: str, session_id: str) -> InputReply:
        """Stop the session's run, or take back the input that would run next. Nothing else starts until a resume
        or a new message. Raises `DomainError` `session_not_running` when there is nothing to stop."""
        self._directory.require(workspace_id, session_id)
        facts = self._facts(session_id)
        if facts.running_input is not None:
            return self._pause_run(session_id, facts.running_input)
        claim = self._waker.claim_next(session_id)
        if claim is None:
            raise _not_running()
        return self._pause_queued(claim)

    def resume(self, workspace_id: str, session_id: str) -> SessionState:
        """Let the queue of a paused session go on. Harmless for one that is not paused; refused for one that ended."""
        if self._directory.require(workspace_id, session_id).status == stored.TERMINATED:
            raise DomainError(
                "conflict", "session_terminated", "This session has ended. Start another one to go on."
            )
        with self._records.database.transaction():
            self._records.sessions.hold(session_id, None)
            self._publish.state(session_id)
            self._records.database.after_commit(self._orchestrator.notify)
        return self.state(workspace_id, session_id)

    def state(self, workspace_id: str, session_id: str) -> SessionState:
        self._directory.require(workspace_id, session_id)
        return derive_state(self._facts(session_id))

    def states(self, workspace_id: str) -> SessionStateList:
        self._workspaces.get(workspace_id)
        items = [derive_state(facts) for facts in self._records.facts.of_workspace(workspace_id)]
        return SessionStateList(items=items, count=len(items))

    def is_busy(self, workspace_id: str) -> bool:
        return self._records.wakes.any_running(workspace_id)

    def _pause_run(self, session_id: str, input_id: str) -> InputReply:
        """The hold is the order; a run in another process finds it there."""
        with self._records.database.transaction():
            self._records.sessions.hold(session_id, HOLD_USER_PAUSE)
            self._publish.state(session_id)
            self._orchestrator.cancel_run(session_id, USER_PAUSE)
        return InputReply(input_id=input_id, session_id=session_id, status=PAUSING)

    def _pause_queued(self, claim: Claim) -> InputReply:
        """The input becomes a turn that was stopped before it began, so that what was asked stays visible."""
        with self._records.database.transaction(durable=True):
            self._records.sessions.hold(claim.session.session_id, HOLD_USER_PAUSE)
            ended = RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload={"status": "paused", "usage": {}})
            self._waker.finish(claim, TurnFold(), ended)
            self._records.actions.cancel(claim.session.session_id)  # to stop is to take back what was allowed
        return InputReply(input_id=claim.input.input_id, session_id=claim.session.session_id, status=PAUSED)

    def _first_with_key(self, body: QueueRequest) -> InputRecord | None:
        if body.idempotency_key is None:
            return None
        return self._records.inputs.by_key(body.workspace_id, body.idempotency_key)

    def _facts(self, session_id: str) -> SessionFacts:
        facts = self._records.facts.get(session_id)
        if facts is None:
            raise not_found("session", session_id)
        return facts


def _not_running() -> DomainError:
    return DomainError("conflict", "session_not_running", "Nothing is running here that could be stopped.")
