"""Rows of `turn_request_snapshots` and `prompt_sections`: exactly what was asked of the model, before it was asked.

The text of a prompt section is stored once, under its fingerprint; snapshots name it. A section that does not change
costs a long session nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holaboss_client import inspection as wire
from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode


@dataclass(frozen=True, slots=True)
class RequestSnapshot:
    input_id: str
    snapshot_kind: str
    fingerprint: str
    payload: dict[str, Any]


class RequestSnapshotRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self, workspace_id: str, session_id: str, snapshot: RequestSnapshot, sections: Mapping[str, str]
    ) -> None:
        """`sections` maps fingerprint to text. A further attempt of the same input replaces its snapshot."""
        now = utc_now()
        with self._database.transaction():
            for fingerprint, content in sections.items():
                self._database.execute(
                    "INSERT INTO prompt_sections (fingerprint, content, created_at) VALUES (?, ?, ?)"
                    " ON CONFLICT (fingerprint) DO NOTHING",
                    (fingerprint, content, now),
                )
            self._database.execute(
                "INSERT INTO turn_request_snapshots (input_id, workspace_id, session_id, snapshot_kind, fingerprint,"
                " payload, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (input_id) DO UPDATE"
                " SET fingerprint = excluded.fingerprint, payload = excluded.payload, updated_at = excluded.updated_at",
                (
                    snapshot.input_id,
                    workspace_id,
                    session_id,
                    snapshot.snapshot_kind,
                    snapshot.fingerprint,
                    encode(snapshot.payload),
                    now,
                    now,
                ),
            )

    def get(self, input_id: str) -> RequestSnapshot | None:
        row = self._database.row("SELECT * FROM turn_request_snapshots WHERE input_id = ?", (input_id,))
        if row is None:
            return None
        return RequestSnapshot(input_id, row["snapshot_kind"], row["fingerprint"], json.loads(row["payload"]))

    def page(self, session_id: str, *, limit: int, before: str | None = None) -> list[wire.RequestSnapshot]:
        """The newest first; `before` is the input id of the last one of the page before."""
        rows = self._database.rows(
            "SELECT s.* FROM agent_sessions a JOIN turn_request_snapshots s"
            " ON s.workspace_id = a.workspace_id AND s.session_id = a.session_id WHERE a.session_id = ?1"
            " AND (?2 IS NULL OR (s.updated_at, s.input_id) <"
            " (SELECT b.updated_at, b.input_id FROM turn_request_snapshots b WHERE b.input_id = ?2))"
            " ORDER BY s.updated_at DESC, s.input_id DESC LIMIT ?3",
            (session_id, before, limit),
        )
        return [wire.RequestSnapshot(**row | {"payload": json.loads(row["payload"])}) for row in rows]

    def section(self, fingerprint: str) -> str | None:
        text = self._database.scalar(
            "SELECT content FROM prompt_sections WHERE fingerprint = ?", (fingerprint,)
        )
        return None if text is None else str(text)
