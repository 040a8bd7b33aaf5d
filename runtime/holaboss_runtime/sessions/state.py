"""The public state of a session, derived from its row, its queue and its last turn; nothing of it is stored."""

from __future__ import annotations

from holaboss_client.sessions import SessionState
from holaboss_runtime.store.session_facts import SessionFacts
from holaboss_runtime.store.sessions import IDLE, REQUIRES_ACTION


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
        last_error=facts.last_error,
        last_turn_status=facts.last_turn_status,
        last_turn_completed_at=facts.last_turn_completed_at,
        last_turn_stop_reason=facts.last_turn_stop_reason,
    )


def _first(facts: SessionFacts, *, queued_beats_pause: bool) -> str:
    if facts.running_input is not None:
        return "BUSY"
    if facts.status == REQUIRES_ACTION:
        return "WAITING_USER"
    if facts.status == IDLE and facts.last_error is not None:
        return "ERROR"
    queued = facts.next_input is not None
    if queued and (queued_beats_pause or facts.hold is None):
        return "QUEUED"
    return "PAUSED" if facts.hold is not None else "IDLE"
