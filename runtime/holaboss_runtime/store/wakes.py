"""Rows of `wakes`: one per attempt to run. A session has at most one that has not ended."""

from __future__ import annotations

from collections.abc import Sequence
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
    reason: str = "worker"
    result: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    continuity_owed: bool = False
    evolve_owed: bool = False


class WakeRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self,
        wake_id: str,
        session_id: str,
        input_ids: Sequence[str],
        epoch: int,
        *,
        reason: str = "worker",
    ) -> WakeRecord:
        """The first of `input_ids` leads: the turn, its events and its answer are filed under it."""
        started_at = utc_now()
        seq = self._database.insert(
            "INSERT INTO wakes (wake_id, session_id, lead_input_id, epoch, started_at, reason)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (wake_id, session_id, input_ids[0], epoch, started_at, reason),
        )
        for position, input_id in enumerate(input_ids):
            self._database.execute(
                "INSERT INTO wake_inputs (wake_id, input_id, position) VALUES (?, ?, ?)",
                (wake_id, input_id, position),
            )
        return WakeRecord(seq, wake_id, session_id, input_ids[0], epoch, started_at, None, reason)

    def end(self, wake_id: str, *, result: str, stop_reason: str | None, error: str | None = None) -> None:
        """`result` is success, error, blocked, aborted or retry. What a finished turn still needs is noted as owed."""
        owes = int(result != "retry")
        self._database.execute(
            "UPDATE wakes SET ended_at = ?, result = ?, stop_reason = ?, error = ?, continuity_owed = ?,"
            " evolve_owed = ? WHERE wake_id = ?",
            (utc_now(), result, stop_reason, error, owes, owes, wake_id),
        )

    def asked(self, wake_id: str, request_fingerprint: str) -> None:
        self._database.execute(
            "UPDATE wakes SET request_fingerprint = ? WHERE wake_id = ?", (request_fingerprint, wake_id)
        )

    def continuity_done(self, wake_id: str) -> None:
        self._database.execute("UPDATE wakes SET continuity_owed = 0 WHERE wake_id = ?", (wake_id,))

    def evolve_done(self, wake_id: str) -> None:
        self._database.execute("UPDATE wakes SET evolve_owed = 0 WHERE wake_id = ?", (wake_id,))

    def owing(self, session_id: str | None = None) -> list[WakeRecord]:
        """Finished turns, of one session or of all, whose continuity or evolve job is still to be written."""
        rows = self._database.rows(
            "SELECT * FROM wakes WHERE (continuity_owed = 1 OR evolve_owed = 1)"
            " AND (?1 IS NULL OR session_id = ?1) ORDER BY seq",
            (session_id,),
        )
        return [_record(row) for row in rows]

    def get(self, wake_id: str) -> WakeRecord | None:
        row = self._database.row("SELECT * FROM wakes WHERE wake_id = ?", (wake_id,))
        return None if row is None else _record(row)

    def latest(self, session_id: str) -> WakeRecord | None:
        row = self._database.row(
            "SELECT * FROM wakes WHERE session_id = ? ORDER BY seq DESC LIMIT 1", (session_id,)
        )
        return None if row is None else _record(row)

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

    def open(self) -> list[WakeRecord]:
        """Every wake that has not ended, in any session."""
        # The addition keeps the planner on the index of what is open, instead of reading every wake there ever was.
        rows = self._database.rows("SELECT * FROM wakes WHERE ended_at IS NULL ORDER BY seq + 0")
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
        reason=row["reason"],
        result=row["result"],
        stop_reason=row["stop_reason"],
        error=row["error"],
        continuity_owed=bool(row["continuity_owed"]),
        evolve_owed=bool(row["evolve_owed"]),
    )
