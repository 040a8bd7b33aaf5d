"""Rows of `compaction_boundaries`: the durable hand-off that every finished turn leaves to the next run."""

from __future__ import annotations

import json
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional, encode, encode_optional


class BoundaryRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, workspace_id: str, session_id: str, boundary: dict[str, Any]) -> None:
        """`boundary` has the fields of `runs.continuity`. Writing it again, after a crash, changes nothing."""
        now = utc_now()
        self._database.execute(
            "INSERT INTO compaction_boundaries (boundary_id, workspace_id, session_id, input_id, boundary_type,"
            " previous_boundary_id, summary, recent_runtime_context, restoration_context, preserved_turn_input_ids,"
            " request_snapshot_fingerprint, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (boundary_id) DO NOTHING",
            (
                boundary["boundary_id"],
                workspace_id,
                session_id,
                boundary["input_id"],
                boundary["boundary_type"],
                boundary["previous_boundary_id"],
                boundary["summary"],
                encode_optional(boundary["recent_runtime_context"]),
                encode_optional(boundary["restoration_context"]),
                encode(boundary["preserved_turn_input_ids"]),
                boundary["request_snapshot_fingerprint"],
                now,
                now,
            ),
        )

    def latest(self, session_id: str) -> dict[str, Any] | None:
        row = self._database.row(
            "SELECT * FROM compaction_boundaries WHERE session_id = ? ORDER BY seq DESC LIMIT 1",
            (session_id,),
        )
        return None if row is None else _boundary(row)

    def page(self, session_id: str, *, limit: int, before_seq: int | None = None) -> list[dict[str, Any]]:
        """The newest first."""
        rows = self._database.rows(
            "SELECT * FROM compaction_boundaries WHERE session_id = ?1 AND (?2 IS NULL OR seq < ?2)"
            " ORDER BY seq DESC LIMIT ?3",
            (session_id, before_seq, limit),
        )
        return [_boundary(row) for row in rows]


def _boundary(row: Row) -> dict[str, Any]:
    decoded = {
        "recent_runtime_context": decode_optional(row["recent_runtime_context"]),
        "restoration_context": decode_optional(row["restoration_context"]),
        "preserved_turn_input_ids": json.loads(row["preserved_turn_input_ids"]),
    }
    return {**row, **decoded}
