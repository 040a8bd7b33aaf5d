"""Rows of `session_events`: the append-only log of a session. Pending means `processed_at` is null.

`seq` is the order; times are informative. Whatever enters the log is also noted for the files of the session.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holaboss_client.agents import SessionEvent
from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.database import Database, Row, Value
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.outbox import Outbox, event_record, processed_record


class SessionEventRecords:
    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def append_pending(
        self, event_id: str, session_id: str, event_type: str, payload: dict[str, Any]
    ) -> SessionEvent:
        """An inbound event that waits for a wake."""
        return self._insert(event_id, session_id, event_type, payload, wake_id=None, processed=False)

    def append(
        self,
        session_id: str,
        event_type: str,
        payload: dict[str, Any],
        *,
        wake_id: str | None = None,
        event_id: str | None = None,
    ) -> SessionEvent:
        """Something that happened and asks for nothing."""
        return self._insert(
            event_id or new_id(), session_id, event_type, payload, wake_id=wake_id, processed=True
        )

    def mark_processed(self, event_id: str, wake_id: str | None) -> None:
        """Set once; a second time changes nothing."""
        row = self._database.row(
            "UPDATE session_events SET processed_at = ?, wake_id = ? WHERE event_id = ? AND processed_at IS NULL"
            " RETURNING *",
            (utc_now(), wake_id, event_id),
        )
        if row is not None and self._outbox.follows(row["session_id"]):
            event = _event(row)
            self._outbox.append(event.session_id, "events", processed_record(event))

    def get(self, event_id: str) -> SessionEvent | None:
        row = self._database.row("SELECT * FROM session_events WHERE event_id = ?", (event_id,))
        return None if row is None else _event(row)

    def pending(self, session_id: str) -> list[SessionEvent]:
        """Inbound events no run has dealt with, oldest first. Reads the queue, not the log."""
        rows = self._database.rows(
            "SELECT e.* FROM agent_session_inputs i JOIN session_events e ON e.event_id = i.input_id"
            " WHERE (i.session_id = ?1 AND i.status = 'QUEUED' OR i.session_id = ?1 AND i.status = 'CLAIMED')"
            " AND e.processed_at IS NULL ORDER BY e.seq",
            (session_id,),
        )
        return [_event(row) for row in rows]

    def of_wake(self, wake_id: str) -> list[SessionEvent]:
        """A trace: everything one wake wrote or took, in order."""
        rows = self._database.rows("SELECT * FROM session_events WHERE wake_id = ? ORDER BY seq", (wake_id,))
        return [_event(row) for row in rows]

    def last_seq_of_turn(self, turn_seq: int) -> int:
        """The newest event of the wake with this `seq`; 0 when there is none."""
        found = self._database.scalar(
            "SELECT max(e.seq) FROM wakes w JOIN session_events e ON e.wake_id = w.wake_id WHERE w.seq = ?",
            (turn_seq,),
        )
        return int(found or 0)

    def select(
        self,
        session_id: str,
        *,
        after_seq: int | None = None,
        before_seq: int | None = None,
        types: Sequence[str] = (),
        wake_id: str | None = None,
        limit: int = 100,
    ) -> list[SessionEvent]:
        """Oldest first. Without `after_seq` the newest that match, with it the ones that follow it."""
        where, values = ["session_id = ?"], list[Value]([session_id])
        if after_seq is not None:
            where.append("seq > ?")
            values.append(after_seq)
        if before_seq is not None:
            where.append("seq < ?")
            values.append(before_seq)
        if types:
            where.append("type IN (SELECT value FROM json_each(?))")
            values.append(encode(list(types)))
        if wake_id is not None:
            where.append("wake_id = ?")
            values.append(wake_id)
        order = "DESC" if after_seq is None else "ASC"
        rows = self._database.rows(
            f"SELECT * FROM session_events WHERE {' AND '.join(where)} ORDER BY seq {order} LIMIT ?",
            (*values, limit),
        )
        found = [_event(row) for row in rows]
        return found[::-1] if after_seq is None else found

    def last_seq(self, session_id: str) -> int:
        return int(
            self._database.scalar(
                "SELECT coalesce(max(seq), 0) FROM session_events WHERE session_id = ?", (session_id,)
            )
        )

    def _insert(
        self,
        event_id: str,
        session_id: str,
        event_type: str,
        payload: dict[str, Any],
        *,
        wake_id: str | None,
        processed: bool,
    ) -> SessionEvent:
        now = utc_now()
        done = now if processed else None
        seq = self._database.insert(
            "INSERT INTO session_events (event_id, session_id, type, payload, wake_id, created_at, processed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (event_id, session_id, event_type, encode(payload), wake_id, now, done),
        )
        event = SessionEvent.model_construct(
            seq=seq,
            event_id=event_id,
            session_id=session_id,
            type=event_type,
            created_at=now,
            processed_at=done,
            wake_id=wake_id,
            payload=payload,
        )
        if self._outbox.follows(session_id):
            self._outbox.append(session_id, "events", event_record(event))
        return event


def _event(row: Row) -> SessionEvent:
    return SessionEvent(
        seq=row["seq"],
        event_id=row["event_id"],
        session_id=row["session_id"],
        type=row["type"],
        created_at=row["created_at"],
        processed_at=row["processed_at"],
        wake_id=row["wake_id"],
        payload=json.loads(row["payload"]),
    )
