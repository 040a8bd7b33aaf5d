"""What a person does to a session: send a message, stop it, let it go on, look at how it is doing."""

from __future__ import annotations

from holaboss_client.events import RunEvent
from holaboss_client.sessions import InputReply, QueueReply, QueueRequest, SessionState, SessionStateList
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.runs.ports import Workspaces
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.cancellation import USER_PAUSE
from holaboss_runtime.sessions.directory import SessionDirectory
from holaboss_runtime.sessions.inbound import USER_MESSAGE, Inbound, message_payload
from holaboss_runtime.sessions.orchestrator import Orchestrator
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.settle import Settler
from holaboss_runtime.sessions.state import derive_state
from holaboss_runtime.sessions.wake import Waker
from holaboss_runtime.store.inputs import PAUSED, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.session_facts import SessionFacts
from holaboss_runtime.store.sessions import HOLD_USER_PAUSE

PAUSING = "PAUSING"


class SessionControl:
    def __init__(
        self,
        records: Records,
        publisher: Publisher,
        workspaces: Workspaces,
        directory: SessionDirectory,
        inbound: Inbound,
        waker: Waker,
        settler: Settler,
        orchestrator: Orchestrator,
    ) -> None:
        self._records = records
        self._publish = publisher
        self._workspaces = workspaces
        self._directory = directory
        self._inbound = inbound
        self._waker = waker
        self._settler = settler
        self._orchestrator = orchestrator

    def queue(self, body: QueueRequest) -> QueueReply:
        """Ask for one turn. Raises `DomainError` when the workspace or the message cannot be used."""
        self._workspaces.get(body.workspace_id)
        payload = message_payload(body, self._workspaces.folder(body.workspace_id))
        with self._records.database.transaction():
            queued = self._first_with_key(body)
            if queued is None:
                session = self._directory.choose(body.workspace_id, body.session_id)
                queued = self._inbound.append_inbound(
                    body.workspace_id,
                    session.session_id,
                    USER_MESSAGE,
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

    def pause(self, workspace_id: str, session_id: str) -> InputReply:
        """Stop the session's run, or take back the input that would run next. Nothing else starts until a resume
        or a new message. Raises `DomainError` `session_not_running` when there is nothing to stop."""
        self._directory.require(workspace_id, session_id)
        facts = self._facts(session_id)
        if facts.running_input is not None:
            return self._pause_run(session_id, facts.running_input)
        head = None if facts.next_input is None else self._records.inputs.get(facts.next_input)
        if head is None:
            raise _not_running()
        return self._pause_queued(head)

    def resume(self, workspace_id: str, session_id: str) -> SessionState:
        """Let the queue of a paused session go on. Harmless for one that is not paused."""
        self._directory.require(workspace_id, session_id)
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
        with self._records.database.transaction():
            if self._orchestrator.cancel_run(session_id, USER_PAUSE) is None:
                raise _not_running()
            self._records.sessions.hold(session_id, HOLD_USER_PAUSE)
            self._publish.state(session_id)
        return InputReply(input_id=input_id, session_id=session_id, status=PAUSING)

    def _pause_queued(self, head: InputRecord) -> InputReply:
        """The input becomes a turn that was stopped before it began, so that what was asked stays visible."""
        with self._records.database.transaction(durable=True):
            claim = self._waker.claim(head)
            if claim is None:
                raise _not_running()
            self._records.sessions.hold(head.session_id, HOLD_USER_PAUSE)
            ended = RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload={"status": "paused", "usage": {}})
            self._settler.finish(claim, TurnFold(), ended)
        return InputReply(input_id=head.input_id, session_id=head.session_id, status=PAUSED)

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
