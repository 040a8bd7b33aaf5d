"""What a person or a script reads of a session: its status, its log, what a wake did. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from holaboss_client.agents import (
    PendingActionList,
    SessionEventPage,
    SessionStatus,
    WakeReport,
)
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.agents.environments import LOCAL_DEFAULT
from holaboss_runtime.agents.resources import from_document
from holaboss_runtime.errors import not_found
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.state import derive_state, stored_status
from holaboss_runtime.sessions.wake import WakeOutcome
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.session_facts import SessionFacts
from holaboss_runtime.store.sessions import SessionRecord
from holaboss_runtime.store.wakes import WakeRecord

CONSUMED_CHARS = 240


class Views:
    def __init__(self, records: Records) -> None:
        self._records = records

    def status(self, session_id: str) -> SessionStatus:
        """Raises `DomainError` `session_not_found`."""
        session, facts = self._read(session_id)
        state = derive_state(facts)
        pending = self._records.events.pending(session_id)
        retrying = self._records.inputs.retrying(session_id)
        waiting = self._records.scheduled.waiting(session_id)
        return SessionStatus(
            session_id=session_id,
            workspace_id=session.workspace_id,
            agent_id=session.agent_id or session.workspace_id,
            environment_id=session.environment_id or LOCAL_DEFAULT,
            kind=session.kind,
            title=session.title,
            status=stored_status(facts),
            stop_reason=session.stop_reason,
            runtime_status=state.runtime_status,
            hold=session.hold,
            last_error=session.last_error,
            turns=session.turns,
            pending_events=len(pending),
            next_pending_type=pending[0].type if pending else None,
            next_retry_at=retrying.available_at if retrying else None,
            retry_attempt=retrying.attempt if retrying else 0,
            queued_wakes=len(waiting),
            next_wake_at=waiting[0].due_at if waiting else None,
            lease_owner=session.lease_owner,
            lease_until=session.lease_until,
            resources=[from_document(found, session_id) for found in session.resources],
            pending_actions=[action.wire() for action in self._records.actions.open(session_id)],
            projection=self._projection(session),
            last_activation=self._records.activations.latest(session_id),
            created_at=session.created_at,
            updated_at=session.updated_at,
        )

    def events(
        self,
        session_id: str,
        *,
        after_seq: int | None = None,
        before_seq: int | None = None,
        types: Sequence[str] = (),
        wake_id: str | None = None,
        limit: int = 100,
    ) -> SessionEventPage:
        """Oldest first: the newest that match, or with `after_seq` those that follow it."""
        items = self._records.events.select(
            session_id, after_seq=after_seq, before_seq=before_seq, types=types, wake_id=wake_id, limit=limit
        )
        return SessionEventPage(
            items=items, count=len(items), last_seq=self._records.events.last_seq(session_id)
        )

    def actions(self, session_id: str, *, only_open: bool = False) -> PendingActionList:
        """The newest first; with `only_open` in the order they were asked."""
        found = (
            self._records.actions.open(session_id) if only_open else self._records.actions.page(session_id)
        )
        return PendingActionList(items=[action.wire() for action in found], count=len(found))

    def report(self, outcome: WakeOutcome) -> WakeReport:
        """What a wake did, or why it did nothing."""
        session, facts = self._read(outcome.session_id)
        wake = None if outcome.wake_id is None else self._records.wakes.get(outcome.wake_id)
        if wake is None:
            return WakeReport(
                session_id=session.session_id,
                executed=False,
                skipped=outcome.skipped or "idle",
                stop_reason=session.stop_reason,
                status=stored_status(facts),
                error=session.last_error,
                next_wake_at=facts.next_wake_at,
            )
        return self._executed(session, facts, wake)

    def begun(self, session_id: str) -> WakeReport:
        """What is known of a wake that is under way; its `wake_id` once it has claimed what it runs."""
        session, facts = self._read(session_id)
        wake = self._records.wakes.running(session_id)
        return WakeReport(
            session_id=session_id,
            executed=False,
            wake_id=None if wake is None else wake.wake_id,
            input_id=None if wake is None else wake.lead_input_id,
            stop_reason=session.stop_reason,
            status=stored_status(facts),
            next_wake_at=facts.next_wake_at,
        )

    def _executed(self, session: SessionRecord, facts: SessionFacts, wake: WakeRecord) -> WakeReport:
        turn = self._records.turns.get(wake.lead_input_id)
        inputs = self._records.inputs.of_wake(wake.wake_id)
        settled = wake.result != "retry"
        started = self._records.outputs.started(wake.lead_input_id)
        error = {"code": wake.stop_reason, "message": wake.error} if wake.error else None
        return WakeReport(
            session_id=session.session_id,
            executed=True,
            wake_id=wake.wake_id,
            input_id=wake.lead_input_id,
            result=wake.result,
            stop_reason=session.stop_reason,
            status=stored_status(facts),
            response=turn.assistant_text if turn and turn.assistant_text else None,
            error=error,
            processed_event_ids=[taken.input_id for taken in inputs] if settled else [],
            consumed=[_line(taken) for taken in inputs],
            queued_wakes=[
                found
                for found in self._records.scheduled.waiting(session.session_id)
                if found.created_at >= wake.started_at
            ],
            next_wake_at=facts.next_wake_at,
            model=_model(started),
        )

    def _read(self, session_id: str) -> tuple[SessionRecord, SessionFacts]:
        session, facts = self._records.sessions.get(session_id), self._records.facts.get(session_id)
        if session is None or facts is None:
            raise not_found("session", session_id)
        return session, facts

    def _projection(self, session: SessionRecord) -> Literal["current", "stale", "none"]:
        if session.agent_id is None:
            return "none"
        return "stale" if self._records.outbox.stale(session.session_id) else "current"


def _line(taken: InputRecord) -> str:
    name = "runtime.wake" if taken.event_type == Event.SESSION_WAKE_DUE else taken.event_type
    return preview(f"{name}: {taken.text}", CONSUMED_CHARS)


def _model(started: dict[str, object]) -> str | None:
    provider, model = started.get("provider_id"), started.get("model_id")
    return f"{provider}/{model}" if provider and model else None
