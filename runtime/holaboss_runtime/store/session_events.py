"""Rows of `session_events`: the append-only log of a session. Pending means `processed_at` is null."""

from __future__ import annotations

from typing import Any

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode


class SessionEventRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def append_pending(
        self, event_id: str, session_id: str, event_type: str, payload: dict[str, Any]
    ) -> None:
        """An inbound event that waits for a wake."""
        self._insert(event_id, session_id, event_type, payload, wake_id=None, processed_at=None)

    def append(
        self, session_id: str, event_type: str, payload: dict[str, Any], *, wake_id: str | None = None
    ) -> None:
        """Something that happened and asks for nothing."""
        self._insert(new_id(), session_id, event_type, payload, wake_id=wake_id, processed_at=utc_now())

    def mark_processed(self, event_id: str, wake_id: str | None) -> None:
        self._database.execute(
            "UPDATE session_events SET processed_at = ?, wake_id = ? WHERE event_id = ? AND processed_at IS NULL",
            (utc_now(), wake_id, event_id),
        )

    def _insert(
        self,
        event_id: str,
        session_id: str,
        event_type: str,
        payload: dict[str, Any],
        *,
        wake_id: str | None,
        processed_at: str | None,
    ) -> None:
        self._database.execute(
            "INSERT INTO session_events (event_id, session_id, type, payload, wake_id, created_at, processed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (event_id, session_id, event_type, encode(payload), wake_id, utc_now(), processed_at),
        )
