"""The public state of a session, derived from its row, its queue and its last turn; nothing of it is stored."""

from __future__ import annotations

from holaboss_client.base import utc_now
from holaboss_client.sessions import SessionState
from holaboss_runtime.store.session_facts import SessionFacts
from holaboss_runtime.store.sessions import IDLE, REQUIRES_ACTION, RESCHEDULING, RUNNING, TERMINATED


def derive_state(facts: SessionFacts) -> SessionState:
    """`runtime_status` says what the session itself is; `effective_state` also counts what waits in its queue."""
    queued = facts.next_input is not None
    return SessionState(
        workspace_id=facts.workspace_id,
        session_id=facts.session_id,
        effective_state=_first(facts, queued_beats_pause=True),
        runtime_status=_first(facts, queued_beats_pause=False),
        current_input_id=facts.running_input or facts.next_input,
        heartbeat_at=facts.heartbeat_at,
        lease_until=facts.lease_until,
        has_queued_inputs=queued,
        hold=facts.hold,
        status=stored_status(facts),
        stop_reason=facts.stop_reason,
        open_actions=facts.open_actions,
        next_wake_at=_next_wake(facts),
        last_error=facts.last_error,
        last_turn_status=facts.last_turn_status,
        last_turn_completed_at=facts.last_turn_completed_at,
        last_turn_stop_reason=facts.last_turn_stop_reason,
    )


def stored_status(facts: SessionFacts) -> str:
    """The same facts in the words of the agent layer."""
    if facts.status == TERMINATED:
        return TERMINATED
    if facts.running_input is not None:
        return RUNNING
    if facts.open_actions or facts.status == REQUIRES_ACTION:
        return REQUIRES_ACTION
    if facts.hold is None and (facts.next_input is not None or facts.next_wake_at is not None):
        return RESCHEDULING
    return IDLE


def _next_wake(facts: SessionFacts) -> str | None:
    """When the session goes on by itself: a wake that was scheduled, or a retry."""
    retry = facts.available_at if facts.available_at and facts.available_at > utc_now() else None
    return min((moment for moment in (facts.next_wake_at, retry) if moment), default=None)


def _first(facts: SessionFacts, *, queued_beats_pause: bool) -> str:
    if facts.running_input is not None:
        return "BUSY"
    if facts.status == TERMINATED:
        return "IDLE"
    if facts.open_actions or facts.status == REQUIRES_ACTION:
        return "WAITING_USER"
    if facts.status == IDLE and facts.last_error is not None:
        return "ERROR"
    if queued_beats_pause and facts.next_input is not None:
        return "QUEUED"
    if facts.hold is None and facts.available_at is not None and facts.available_at <= utc_now():
        return "QUEUED"
    return "PAUSED" if facts.hold is not None else "IDLE"
