"""Rows of `wakes`: one per attempt to run. A session has at most one that has not ended."""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row


@dataclass(frozen=True, slots=True)
class WakeRecord:
    seq: int
    wake_id: str
    session_id: str
    lead_input_id: str
    epoch: int
    started_at: str
    ended_at: str | None


class WakeRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, wake_id: str, session_id: str, lead_input_id: str, epoch: int) -> WakeRecord:
        started_at = utc_now()
        seq = self._database.scalar(
            "INSERT INTO wakes (wake_id, session_id, lead_input_id, epoch, started_at) VALUES (?, ?, ?, ?, ?)"
            " RETURNING seq",
            (wake_id, session_id, lead_input_id, epoch, started_at),
        )
        return WakeRecord(int(seq), wake_id, session_id, lead_input_id, epoch, started_at, None)

    def end(self, wake_id: str, *, result: str, stop_reason: str | None, error: str | None = None) -> None:
        """`result` is success, error, blocked, aborted or retry."""
        self._database.execute(
            "UPDATE wakes SET ended_at = ?, result = ?, stop_reason = ?, error = ? WHERE wake_id = ?",
            (utc_now(), result, stop_reason, error, wake_id),
        )

    def running(self, session_id: str) -> WakeRecord | None:
        row = self._database.row(
            "SELECT * FROM wakes WHERE session_id = ? AND ended_at IS NULL", (session_id,)
        )
        return None if row is None else _record(row)

    def any_running(self, workspace_id: str) -> bool:
        """Whether a run goes on in any session of the workspace, archived ones too."""
        found = self._database.scalar(
            "SELECT 1 FROM wakes w JOIN agent_sessions s ON s.session_id = w.session_id"
            " WHERE w.ended_at IS NULL AND s.workspace_id = ? LIMIT 1",
            (workspace_id,),
        )
        return found is not None

    def latest_of(self, input_id: str) -> WakeRecord | None:
        row = self._database.row(
            "SELECT * FROM wakes WHERE lead_input_id = ? ORDER BY seq DESC LIMIT 1", (input_id,)
        )
        return None if row is None else _record(row)

    def abandoned(self, dead_owner_prefix: str) -> list[WakeRecord]:
        """Wakes that nobody will end: their lease ran out, or its owner's name says that it is gone."""
        rows = self._database.rows(
            "SELECT w.* FROM wakes w JOIN agent_sessions s ON s.session_id = w.session_id"
            " WHERE w.ended_at IS NULL AND (s.lease_until IS NULL OR s.lease_until <= ?"
            " OR substr(s.lease_owner, 1, length(?)) = ?) ORDER BY w.seq",
            (utc_now(), dead_owner_prefix, dead_owner_prefix),
        )
        return [_record(row) for row in rows]


def _record(row: Row) -> WakeRecord:
    return WakeRecord(
        seq=row["seq"],
        wake_id=row["wake_id"],
        session_id=row["session_id"],
        lead_input_id=row["lead_input_id"],
        epoch=row["epoch"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
    )
