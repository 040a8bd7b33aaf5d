"""Delayed wakes: a wish to be woken becomes an input when its time has come, and runs like any other.

All wakes of a session that are due at once become one input, so that nothing runs twice for the same reason.
"""

from __future__ import annotations

from itertools import groupby

from holaboss_client.agents import ScheduledWake, ScheduledWakeList, ScheduleWake
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.session_wakes import CANCELLED, CONSUMED
from holaboss_runtime.store.sessions import TERMINATED, SessionRecord

PRIORITIES = {"low": -1, "normal": 0, "high": 1}


class DelayedWakes:
    def __init__(self, records: Records, publisher: Publisher, inbound: Inbound) -> None:
        self._records = records
        self._publish = publisher
        self._inbound = inbound

    def schedule(self, session: SessionRecord, wish: ScheduleWake) -> ScheduledWake:
        """Raises `DomainError` for a session that has ended."""
        if session.status == TERMINATED:
            raise DomainError("conflict", "session_terminated", "This session has ended and cannot be woken.")
        with self._records.database.transaction():
            wake = self._records.scheduled.schedule(
                session.session_id,
                due_at=from_now(wish.delay_seconds),
                reason=wish.reason,
                note=wish.note,
                dedupe_key=wish.dedupe_key,
                priority=wish.priority,
            )
            self._publish.state(session.session_id)
            self._inbound.notify_after_commit()
        return wake

    def waiting(self, session_id: str, *, limit: int) -> ScheduledWakeList:
        """The next one first."""
        items = self._records.scheduled.waiting(session_id)[:limit]
        return ScheduledWakeList(items=items, count=len(items))

    def cancel(self, session: SessionRecord, wake_id: str) -> ScheduledWake:
        """Take back one wake that has not happened yet. Raises `DomainError`: `wake_not_found`, conflict
        `wake_not_waiting`."""
        session_id = session.session_id
        with self._records.database.transaction():
            wake = self._records.scheduled.get(wake_id)
            if wake is None or wake.session_id != session_id:
                raise not_found("wake", wake_id)
            if wake.completed_at is not None:
                raise DomainError(
                    "conflict", "wake_not_waiting", f"Wake {wake_id} is not waiting any more: {wake.outcome}."
                )
            self._records.scheduled.complete(wake, CANCELLED)
            facts = self._records.facts.get(session_id)
            if facts is not None and facts.next_input is None and facts.next_wake_at is None:
                self._records.sessions.rest(session_id)
            self._records.outbox.mark(session_id, "session")
            self._publish.state(session_id)
        return self._records.scheduled.get(wake_id) or wake

    def fire(self, now: str, session_id: str | None = None) -> int:
        """Turn what is due into inputs, of one session or of all; how many inputs."""
        due = self._records.scheduled.due(now)
        if session_id is not None:
            due = [wake for wake in due if wake.session_id == session_id]
        if not due:
            return 0
        fired = 0
        with self._records.database.transaction():
            # Asked again inside: another process may have been faster.
            still_due = {wake.id for wake in self._records.scheduled.due(now)}
            wakes = [wake for wake in due if wake.id in still_due]
            for name, group in groupby(wakes, key=lambda wake: wake.session_id):
                self._append(name, list(group))
                fired += 1
        return fired

    def _append(self, session_id: str, wakes: list[ScheduledWake]) -> None:
        session = self._records.sessions.get(session_id)
        if session is None:
            raise RuntimeError(f"session {session_id} of a scheduled wake is not there")
        listed = [
            {"id": wake.id, "reason": wake.reason, "note": wake.note, "due_at": wake.due_at} for wake in wakes
        ]
        words = [wake.reason if not wake.note else f"{wake.reason}: {wake.note}" for wake in wakes]
        queued = self._inbound.append_inbound(
            session,
            Event.SESSION_WAKE_DUE,
            {"wakes": listed, "text": "\n".join(words)},
            priority=max(PRIORITIES.get(wake.priority, 0) for wake in wakes),
        )
        for wake in wakes:
            self._records.scheduled.complete(wake, CONSUMED, input_id=queued.input_id)
