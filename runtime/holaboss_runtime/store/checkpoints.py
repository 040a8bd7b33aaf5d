"""Rows of `session_checkpoints`: per agent session, what its next run needs to know of the last one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.outbox import Outbox


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """`notes` are the agent's own words per file; a new checkpoint keeps them."""

    session_id: str
    wake_id: str
    document: dict[str, Any]
    notes: dict[str, str]
    updated_at: str


class CheckpointRecords:
    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def save(self, session_id: str, wake_id: str, document: dict[str, Any]) -> None:
        self._database.execute(
            "INSERT INTO session_checkpoints (session_id, wake_id, document, updated_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (session_id) DO UPDATE SET wake_id = excluded.wake_id, document = excluded.document,"
            " updated_at = excluded.updated_at",
            (session_id, wake_id, encode(document), utc_now()),
        )
        self._outbox.mark(session_id, "checkpoint")

    def get(self, session_id: str) -> CheckpointRecord | None:
        row = self._database.row("SELECT * FROM session_checkpoints WHERE session_id = ?", (session_id,))
        if row is None:
            return None
        return CheckpointRecord(
            session_id,
            row["wake_id"],
            json.loads(row["document"]),
            json.loads(row["notes"]),
            row["updated_at"],
        )
