"""The bounded log behind `GET /api/v1/events`: every change that some screen may show, in one order."""

from __future__ import annotations

from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.events import Change, ChangeEvent
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode, encode
from holaboss_runtime.store.signal import Signal

KEPT = 10_000
TRIM_EVERY = 1_000


class ChangeLog:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.signal = Signal()

    def append(
        self,
        kind: Change,
        *,
        workspace_id: str | None = None,
        session_id: str | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        """Record a change, inside the transaction that makes it where there is one."""
        with self._database.transaction():
            seq = self._database.insert(
                "INSERT INTO change_log (kind, workspace_id, session_id, payload, created_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (str(kind), workspace_id, session_id, encode(payload or {}), utc_now()),
            )
            if seq % TRIM_EVERY == 0:
                self._database.execute("DELETE FROM change_log WHERE seq <= ?", (seq - KEPT,))
            self._database.after_commit(self.signal.notify)

    def last_seq(self) -> int:
        return int(self._database.scalar("SELECT coalesce(max(seq), 0) FROM change_log"))

    def after(self, seq: int, limit: int = 500) -> list[ChangeEvent] | None:
        """Changes after `seq`, oldest first; None when `seq` is not a position of this log any more."""
        bounds = self._database.row("SELECT min(seq) AS first, max(seq) AS last FROM change_log")
        first, last = (bounds["first"] or 1, bounds["last"] or 0) if bounds else (1, 0)
        if seq > last or seq < first - 1:
            return None
        rows = self._database.rows(
            "SELECT * FROM change_log WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
        )
        return [_event(row) for row in rows]


def _event(row: Row) -> ChangeEvent:
    return ChangeEvent(
        id=row["seq"],
        kind=row["kind"],
        workspace_id=row["workspace_id"],
        session_id=row["session_id"],
        created_at=row["created_at"],
        payload=decode(row["payload"]),
    )
