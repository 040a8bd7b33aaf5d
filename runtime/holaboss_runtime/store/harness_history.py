"""Rows of `harness_history`: what the executor remembers of each turn, opaque to all but the adapter that wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode

_BATCH = 32


@dataclass(frozen=True, slots=True)
class HistoryRow:
    seq: int
    adapter: str
    version: int
    payload: Any


class HarnessHistoryRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, session_id: str, seq: int, adapter: str, version: int, payload: Any) -> None:  # noqa: ANN401
        self._database.execute(
            "INSERT INTO harness_history (session_id, seq, adapter, version, payload) VALUES (?, ?, ?, ?, ?)",
            (session_id, seq, adapter, version, encode(payload)),
        )

    def newest(self, session_id: str, *, max_chars: int) -> list[HistoryRow]:
        """The newest turns whose JSON fits into `max_chars` together, oldest first; the newest one always."""
        kept: list[HistoryRow] = []
        used, before = 0, None
        while True:
            rows = self._database.rows(
                "SELECT * FROM harness_history WHERE session_id = ?1 AND (?2 IS NULL OR seq < ?2)"
                " ORDER BY seq DESC LIMIT ?3",
                (session_id, before, _BATCH),
            )
            for row in rows:
                used += len(row["payload"])
                if kept and used > max_chars:
                    return kept[::-1]
                kept.append(
                    HistoryRow(row["seq"], row["adapter"], row["version"], json.loads(row["payload"]))
                )
            if len(rows) < _BATCH:
                return kept[::-1]
            before = rows[-1]["seq"]
