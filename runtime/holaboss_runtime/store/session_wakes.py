"""Rows of `session_wakes`: wishes to be woken later. A key that still waits is never entered twice."""

from __future__ import annotations

from holaboss_client.agents import ScheduledWake
from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.journal import completed_record, enqueued_record
from holaboss_runtime.store.outbox import Outbox

CONSUMED = "consumed"
CANCELLED = "cancelled"


class SessionWakeRecords:
    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def schedule(
        self,
        session_id: str,
        *,
        due_at: str,
        reason: str,
        note: str | None = None,
        dedupe_key: str | None = None,
        priority: str = "normal",
    ) -> ScheduledWake:
        """The new wake, or the one with the same key that still waits."""
        with self._database.transaction():
            row = self._database.row(
                "INSERT INTO session_wakes (id, session_id, due_at, reason, note, dedupe_key, priority, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *",
                (new_id(), session_id, due_at, reason, note, dedupe_key, priority, utc_now()),
            )
            if row is None:
                return self._waiting(session_id, dedupe_key)
            wake = _record(row)
            self._outbox.append(session_id, "wakes", enqueued_record(wake))
            return wake

    def due(self, now: str) -> list[ScheduledWake]:
        """Every wake that should happen by now in a session that can run: not held, not ended, nothing to decide."""
        rows = self._database.rows(
            "SELECT w.* FROM session_wakes w JOIN agent_sessions s ON s.session_id = w.session_id"
            " WHERE w.completed_at IS NULL AND w.due_at <= ? AND s.hold IS NULL AND s.status <> 'terminated'"
            " AND NOT EXISTS (SELECT 1 FROM pending_actions a WHERE a.session_id = w.session_id"
            " AND a.status = 'open') ORDER BY w.session_id, w.due_at, w.id",
            (now,),
        )
        return [_record(row) for row in rows]

    def waiting(self, session_id: str) -> list[ScheduledWake]:
        rows = self._database.rows(
            "SELECT * FROM session_wakes WHERE session_id = ? AND completed_at IS NULL ORDER BY due_at, id",
            (session_id,),
        )
        return [_record(row) for row in rows]

    def get(self, wake_id: str) -> ScheduledWake | None:
        row = self._database.row("SELECT * FROM session_wakes WHERE id = ?", (wake_id,))
        return None if row is None else _record(row)

    def complete(self, wake: ScheduledWake, outcome: str, *, input_id: str | None = None) -> None:
        row = self._database.row(
            "UPDATE session_wakes SET completed_at = ?, outcome = ?, input_id = ?"
            " WHERE id = ? AND completed_at IS NULL RETURNING *",
            (utc_now(), outcome, input_id, wake.id),
        )
        if row is not None:
            self._outbox.append(wake.session_id, "wakes", completed_record(_record(row)))

    def cancel_all(self, session_id: str) -> int:
        """Due or not; how many there were."""
        waiting = self.waiting(session_id)
        for wake in waiting:
            self.complete(wake, CANCELLED)
        return len(waiting)

    def next_due(self, now: str) -> str | None:
        """When the next wake that was not due at `now` becomes so."""
        due = self._database.scalar(
            "SELECT min(due_at) FROM session_wakes WHERE completed_at IS NULL AND due_at > ?", (now,)
        )
        return None if due is None else str(due)

    def _waiting(self, session_id: str, dedupe_key: str | None) -> ScheduledWake:
        row = self._database.row(
            "SELECT * FROM session_wakes WHERE session_id = ? AND dedupe_key = ? AND completed_at IS NULL",
            (session_id, dedupe_key),
        )
        if row is None:
            raise RuntimeError("a wake conflicts with one that is not there")
        return _record(row)


def _record(row: Row) -> ScheduledWake:
    return ScheduledWake(
        id=row["id"],
        session_id=row["session_id"],
        due_at=row["due_at"],
        reason=row["reason"],
        note=row["note"],
        dedupe_key=row["dedupe_key"],
        priority=row["priority"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        outcome=row["outcome"],
    )
