"""What a finished turn leaves for the next run: its boundary, its checkpoint, and the job that learns from it.

Written right after the commit and noted as owed in it, so that whoever finds the debt after a crash pays it. Writing
it twice changes nothing. Nothing here may fail a turn: it is over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from holaboss_client.agents import SessionEvent
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.sessions import TurnResult
from holaboss_runtime.errors import DomainError
from holaboss_runtime.runs import continuity
from holaboss_runtime.runs.directive import LearningWish
from holaboss_runtime.store.learnings import LearningRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import RESCHEDULING, SessionRecord
from holaboss_runtime.store.wakes import WakeRecord

log = logging.getLogger(__name__)

EVOLVE = "evolve"


class Continuity:
    """`remember` shows an agent's promoted learnings in its memory file."""

    def __init__(self, records: Records, remember: Callable[[str, Sequence[LearningRecord]], None]) -> None:
        self._records = records
        self._remember = remember

    def complete(self, wake_id: str, *, last: Callable[[], None] | None = None) -> bool:
        """Write what this wake still owes, and `last`, in one transaction; False, and nothing of it, when that could
        not be done."""
        try:
            with self._records.database.transaction():
                self._pay(wake_id)
                if last is not None:
                    last()
        except Exception:
            # The turn stands; the debt stays written down, and the next start or wake tries again.
            log.exception("continuity of wake %s is still owed", wake_id)
            return False
        return True

    def _pay(self, wake_id: str) -> None:
        wake = self._records.wakes.get(wake_id)
        if wake is not None and wake.continuity_owed:
            self._write(wake)
        if wake is not None and wake.evolve_owed:
            self._queue_evolve(wake)

    def complete_all(self, session_id: str | None = None) -> int:
        """Pay every debt, or those of one session; how many wakes had one."""
        owing = self._records.wakes.owing(session_id)
        for wake in owing:
            self.complete(wake.wake_id)
        return len(owing)

    def _write(self, wake: WakeRecord) -> None:
        turn = self._records.turns.get(wake.lead_input_id)
        session = self._records.sessions.get(wake.session_id)
        with self._records.database.transaction():
            if turn is not None:
                self._records.boundaries.save(turn.workspace_id, turn.session_id, self._boundary(turn))
            if turn is not None and session is not None and session.agent_id is not None:
                self._records.checkpoints.save(
                    session.session_id, wake.wake_id, self._checkpoint(wake, session, turn)
                )
                self._promote(session.agent_id, wake.wake_id)
            self._records.wakes.continuity_done(wake.wake_id)

    def _promote(self, agent_id: str, wake_id: str) -> None:
        if not any(found.promote for found in self._records.learnings.of_wake(wake_id)):
            return
        try:
            self._remember(agent_id, self._records.learnings.promoted(agent_id))
        except DomainError as error:
            # The record is kept; the file is brought up to date with the next promotion.
            log.warning("agent %s: %s", agent_id, error.detail)

    def _boundary(self, turn: TurnResult) -> dict[str, Any]:
        latest = self._records.boundaries.latest(turn.session_id)
        messages = self._records.messages.newest_of(turn.session_id, "user", limit=continuity.RESUME_MESSAGES)
        return continuity.boundary_of(
            turn,
            previous_boundary_id=latest["boundary_id"] if latest else None,
            recent_turns=self._records.turns.newest(turn.session_id, limit=continuity.PRESERVED_TURNS),
            recent_messages=[
                continuity.UserMessage(input_id, text, created) for input_id, text, created in messages
            ],
        )

    def _checkpoint(self, wake: WakeRecord, session: SessionRecord, turn: TurnResult) -> dict[str, Any]:
        """The document the files of the session are made from; `_files` holds the two that are markdown."""
        previous = self._records.checkpoints.get(session.session_id)
        trace = self._records.events.of_wake(wake.wake_id)
        inputs = self._records.inputs.of_wake(wake.wake_id)
        waiting = self._records.scheduled.waiting(session.session_id)
        told = self._records.outputs.started(turn.input_id)
        said = [event for event in trace if event.type == Event.AGENT_MESSAGE]
        record = continuity.SessionRecord(
            session_id=session.session_id,
            agent_id=str(session.agent_id),
            updated_at=wake.ended_at or wake.started_at,
            wake_id=wake.wake_id,
            stop_reason=session.stop_reason or "idle",
            outcome="continue" if session.status == RESCHEDULING else "sleep",
            summary=_end_of(trace).get("summary") or continuity.summarise(turn) or "",
            response=str(said[-1].payload.get("message", "")) if said else turn.assistant_text,
            turns=session.turns,
            consecutive=session.follow_ups,
            next_wake_at=waiting[0].due_at if waiting else None,
            processed_event_ids=tuple(taken.input_id for taken in inputs),
            cursor=continuity.EventCursor(
                context=told.get("context_cursor"),
                processed=inputs[-1].input_id if inputs else None,
                produced=trace[-1].event_id if trace else None,
            ),
            active_outcome=continuity.active_outcome(trace, previous.document if previous else None),
            queued_wakes=tuple(
                continuity.QueuedWake(found.reason, found.due_at, found.note) for found in waiting
            ),
            learnings=tuple(
                LearningWish(found.kind, found.title, found.detail, found.promote, found.dedupe_key)  # pyright: ignore[reportArgumentType]
                for found in self._records.learnings.of_wake(wake.wake_id)
            ),
            problems=tuple(_end_of(trace).get("problems", ())),
            shown=told.get("context_shown") or {},
        )
        notes = previous.notes if previous else {}
        files = {
            "session_state": continuity.session_state_markdown(record, notes.get("session_state", "")),
            "working_buffer": continuity.working_buffer_markdown(record, notes.get("working_buffer", "")),
        }
        return continuity.checkpoint_document(record) | {"_files": files}

    def _queue_evolve(self, wake: WakeRecord) -> None:
        lead = self._records.inputs.get(wake.lead_input_id)
        with self._records.database.transaction():
            if lead is not None:
                self._records.jobs.enqueue(
                    EVOLVE,
                    workspace_id=lead.workspace_id,
                    session_id=wake.session_id,
                    input_id=lead.input_id,
                    payload={"instruction": lead.text[:4_000]},
                    idempotency_key=f"{EVOLVE}:{lead.input_id}",
                )
            self._records.wakes.evolve_done(wake.wake_id)


def _end_of(trace: Sequence[SessionEvent]) -> dict[str, Any]:
    """What the wake said of itself when it ended."""
    ends = [
        event.payload
        for event in trace
        if event.type == Event.SPAN_COMPLETED and event.payload.get("span_kind") == "wake"
    ]
    return ends[-1] if ends else {}
