"""Rows of `terminal_sessions` and `terminal_session_events`: terminals and the bounded log of each.

It starts nothing and knows no process.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from holaboss_client.terminals import LIVE, Terminal, TerminalEvent
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family
from holaboss_runtime.store.json_text import encode

MOST_LISTED = 500


@dataclass(frozen=True, slots=True)
class TerminalRecord:
    terminal_id: str
    workspace_id: str
    session_id: str | None
    input_id: str | None
    title: str
    backend: str
    owner: str
    status: str
    cwd: str
    shell: str
    command: str
    width: int
    height: int
    containment: str
    network: str
    exit_code: int | None
    last_event_seq: int
    dropped_event_seq: int
    created_by: str | None
    created_at: str
    started_at: str | None
    last_activity_at: str
    ended_at: str | None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def shown(self) -> Terminal:
        names = [name for name in self.__slots__ if name not in ("width", "height")]
        values = {name: getattr(self, name) for name in names}
        return Terminal(cols=self.width, rows=self.height, **values)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """`payload` is JSON text."""

    sequence: int
    event_type: str
    payload: str
    created_at: str


class TerminalRecords(Family[TerminalRecord]):
    def __init__(self, database: Database) -> None:
        super().__init__(
            database, "terminal_sessions", TerminalRecord, key=("terminal_id",), json_columns=("metadata",)
        )

    def page(
        self,
        *,
        workspace_id: str | None = None,
        session_id: str | None = None,
        statuses: Collection[str] = (),
    ) -> list[TerminalRecord]:
        """The newest first."""
        among = f"status IN ({', '.join('?' * len(statuses))})" if statuses else "1 = 1"
        return self.select(
            {"workspace_id": workspace_id, "session_id": session_id},
            order="created_at DESC, terminal_id DESC",
            where=among,
            values=list(statuses),
            limit=MOST_LISTED,
        )

    def append(self, terminal_id: str, events: Sequence[NewEvent], *, dropped: int | None = None) -> None:
        """Add events to the log of a terminal, and drop everything up to the sequence `dropped`."""
        last = events[-1]
        self.database.execute_many(
            "INSERT INTO terminal_session_events (terminal_id, sequence, event_type, payload, created_at)"
            " VALUES (?, ?, ?, ?, ?)",
            [(terminal_id, new.sequence, new.event_type, new.payload, new.created_at) for new in events],
        )
        self.database.execute(
            "UPDATE terminal_sessions SET last_event_seq = ?, last_activity_at = ?,"
            " dropped_event_seq = coalesce(?, dropped_event_seq) WHERE terminal_id = ?",
            (last.sequence, last.created_at, dropped, terminal_id),
        )
        if dropped is not None:
            self.database.execute(
                "DELETE FROM terminal_session_events WHERE terminal_id = ? AND sequence <= ?",
                (terminal_id, dropped),
            )

    def events(self, terminal_id: str, after_sequence: int, limit: int) -> list[TerminalEvent]:
        rows = self.database.rows(
            "SELECT * FROM terminal_session_events WHERE terminal_id = ? AND sequence > ?"
            " ORDER BY sequence LIMIT ?",
            (terminal_id, after_sequence, limit),
        )
        return [TerminalEvent(**(row | {"payload": json.loads(row["payload"])})) for row in rows]

    def has_printed(self, terminal_id: str, after_sequence: int) -> bool:
        """Whether there is output, or its end, after a sequence."""
        found = self.database.scalar(
            "SELECT 1 FROM terminal_session_events WHERE terminal_id = ? AND sequence > ?"
            " AND event_type IN ('output', 'exit', 'error') LIMIT 1",
            (terminal_id, after_sequence),
        )
        return found is not None

    def live(self) -> list[TerminalRecord]:
        return self.select({}, order="terminal_id", where="status IN (?, ?)", values=list(LIVE))

    def forget_old(self, workspace_id: str, keep: int) -> None:
        """Remove the terminals of a workspace that ended, but the newest `keep`."""
        ended = "workspace_id = ? AND status NOT IN (?, ?)"
        old = (
            f"SELECT terminal_id FROM terminal_sessions WHERE {ended}"
            " ORDER BY created_at DESC, terminal_id DESC LIMIT 1000000 OFFSET ?"
        )
        values = (workspace_id, *LIVE, keep)
        for terminal_id in [row[0] for row in self.database.tuples(old, values)]:
            self.forget(terminal_id)

    def forget(self, terminal_id: str) -> None:
        for table in ("terminal_session_events", "terminal_sessions"):
            self.database.execute(f"DELETE FROM {table} WHERE terminal_id = ?", (terminal_id,))


def text_of(payload: dict[str, Any]) -> str:
    """A payload as it is stored."""
    return encode(payload)
