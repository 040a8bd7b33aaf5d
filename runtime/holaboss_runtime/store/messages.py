"""Rows of `session_messages`: what was said, one row per side of a turn. Ids are derived from the input."""

from __future__ import annotations

import json
from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.sessions import HistoryMessage
from holaboss_runtime.store.database import Database, Row

LOOKED_AT = 200


def user_message_id(input_id: str) -> str:
    return f"user-{input_id}"


def assistant_message_id(input_id: str) -> str:
    return f"assistant-{input_id}"


class MessageRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, workspace_id: str, session_id: str, input_id: str, role: str, text: str) -> None:
        """`role` is user or assistant. Inserting the same side of a turn again changes nothing."""
        message_id = user_message_id(input_id) if role == "user" else assistant_message_id(input_id)
        self._database.execute(
            "INSERT INTO session_messages (id, workspace_id, session_id, input_id, role, text, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (message_id, workspace_id, session_id, input_id, role, text, utc_now()),
        )

    def count(self, session_id: str) -> int:
        return int(
            self._database.scalar("SELECT count(*) FROM session_messages WHERE session_id = ?", (session_id,))
        )

    def page(self, session_id: str, *, limit: int, offset: int, newest_first: bool) -> list[HistoryMessage]:
        """`offset` counts messages in the requested order; it is resolved inside the index, without reading a text."""
        order, compare = ("DESC", "<=") if newest_first else ("ASC", ">=")
        rows = self._database.rows(
            "SELECT m.*, i.payload FROM session_messages m LEFT JOIN agent_session_inputs i ON i.input_id = m.input_id"
            f" WHERE m.session_id = ?1 AND m.seq {compare} (SELECT seq FROM session_messages WHERE session_id = ?1"
            f" ORDER BY seq {order} LIMIT 1 OFFSET ?2) ORDER BY m.seq {order} LIMIT ?3",
            (session_id, offset, limit),
        )
        return [_message(row) for row in rows]

    def newest_of(self, session_id: str, role: str, *, limit: int) -> list[tuple[str, str, str]]:
        """`(input_id, text, created_at)` of one side, the newest first; none that is further back than `LOOKED_AT`
        messages, for an agent that wakes itself may speak for months without an answer."""
        rows = self._database.rows(
            "SELECT input_id, text, created_at FROM (SELECT * FROM session_messages WHERE session_id = ?"
            " ORDER BY seq DESC LIMIT ?) AS newest WHERE role = ? ORDER BY seq DESC LIMIT ?",
            (session_id, LOOKED_AT, role, limit),
        )
        return [(row["input_id"], row["text"], row["created_at"]) for row in rows]


def _message(row: Row) -> HistoryMessage:
    metadata: dict[str, Any] = {}
    if row["role"] == "user" and row["payload"]:
        attachments = json.loads(row["payload"]).get("attachments")
        if attachments:
            metadata["attachments"] = attachments
    return HistoryMessage(
        id=row["id"], role=row["role"], text=row["text"], created_at=row["created_at"], metadata=metadata
    )
