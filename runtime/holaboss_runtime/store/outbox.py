"""Rows of `projection_outbox`: what the files of the agent layer do not show yet.

Written inside the transaction that changes something, so that a file can never know more than the database, and
deleted once the file has it. A session without an agent has no files: noting something for it does nothing. The file
work itself is `sessions/projections/`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.journal import event_record, processed_record
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.signal import Signal

__all__ = [
    "ACTIVATIONS",
    "AGENT_STREAMS",
    "CHECKPOINT",
    "EVENTS",
    "LEARN",
    "SESSION",
    "WAKES",
    "Outbox",
    "OutboxRow",
    "event_record",
    "processed_record",
]

EVENTS = "events"
WAKES = "wakes"
SESSION = "session"
CHECKPOINT = "checkpoint"
LEARN = "learn"
ACTIVATIONS = "activations"

REMEMBERED = 4_096
"""Sessions whose kind is kept in mind."""

AGENT_STREAMS = frozenset({LEARN, ACTIVATIONS})
"""Their files belong to the agent, whichever session wrote them."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """`line` is the text to append, without a line break, or None when the whole file is due."""

    seq: int
    stream: str
    line: str | None


class Outbox:
    """`signal` is notified after each commit that left something to write."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._followed: OrderedDict[str, bool] = OrderedDict()
        self.signal = Signal()

    def follows(self, session_id: str) -> bool:
        """Whether a session has files. What it is made with stays, so one look is enough."""
        known = self._followed.get(session_id)
        if known is None:
            agent_id = self._database.row(
                "SELECT agent_id FROM agent_sessions WHERE session_id = ?", (session_id,)
            )
            if agent_id is None:
                return False
            known = self._followed[session_id] = agent_id["agent_id"] is not None
            if len(self._followed) > REMEMBERED:
                self._followed.popitem(last=False)
        return known

    def append(self, session_id: str, stream: str, record: Mapping[str, Any]) -> None:
        """A line for an append-only file."""
        if self.follows(session_id):
            self._note(session_id, stream, encode(record))

    def mark(self, session_id: str, stream: str) -> None:
        """The file is to be written anew; an append-only file is compared with the database and mended."""
        if self.follows(session_id):
            self._note(session_id, stream, None)

    def mark_agent(self, agent_id: str, stream: str) -> None:
        self._note_agent(agent_id, stream, None)

    def agents(self) -> list[str]:
        """Agents whose files are behind."""
        rows = self._database.rows("SELECT DISTINCT agent_id FROM projection_outbox ORDER BY agent_id")
        return [str(row["agent_id"]) for row in rows]

    def sessions(self, agent_id: str) -> list[str | None]:
        """Which sessions of an agent have files that are behind, oldest first; None stands for the agent itself."""
        rows = self._database.rows(
            "SELECT session_id FROM projection_outbox WHERE agent_id = ? GROUP BY session_id ORDER BY min(seq)",
            (agent_id,),
        )
        return [row["session_id"] for row in rows]

    def pending(self, agent_id: str, session_id: str | None, *, limit: int) -> list[OutboxRow]:
        """In the order they were noted."""
        where = "session_id IS NULL AND agent_id = ?" if session_id is None else "session_id = ?"
        rows = self._database.rows(
            f"SELECT seq, stream, record FROM projection_outbox WHERE {where} ORDER BY seq LIMIT ?",
            (agent_id if session_id is None else session_id, limit),
        )
        return [OutboxRow(int(row["seq"]), row["stream"], row["record"]) for row in rows]

    def seqs(self, agent_id: str, session_id: str | None, streams: Sequence[str]) -> dict[str, list[int]]:
        """Every row of these streams, by stream."""
        where = "session_id IS NULL AND agent_id = ?" if session_id is None else "session_id = ?"
        found: dict[str, list[int]] = {stream: [] for stream in streams}
        rows = self._database.rows(
            "SELECT seq, stream FROM projection_outbox"
            f" WHERE {where} AND stream IN (SELECT value FROM json_each(?)) ORDER BY seq",
            (agent_id if session_id is None else session_id, encode(list(streams))),
        )
        for row in rows:
            found[row["stream"]].append(int(row["seq"]))
        return found

    def done(self, seqs: Sequence[int]) -> None:
        """The files show these now."""
        if seqs:
            self._database.execute(
                "DELETE FROM projection_outbox WHERE seq IN (SELECT value FROM json_each(?))",
                (encode(list(seqs)),),
            )

    def stale(self, session_id: str) -> bool:
        """Whether a file of the session is behind the database."""
        found = self._database.scalar(
            "SELECT 1 FROM projection_outbox WHERE session_id = ? LIMIT 1", (session_id,)
        )
        return found is not None

    def _note(self, session_id: str, stream: str, record: str | None) -> None:
        owner = "NULL" if stream in AGENT_STREAMS else "session_id"
        self._database.execute(
            "INSERT INTO projection_outbox (agent_id, session_id, stream, record, created_at)"
            f" SELECT agent_id, {owner}, ?, ?, ? FROM agent_sessions WHERE session_id = ? AND agent_id IS NOT NULL",
            (stream, record, utc_now(), session_id),
        )
        self._database.after_commit(self.signal.notify)

    def _note_agent(self, agent_id: str, stream: str, record: str | None) -> None:
        self._database.execute(
            "INSERT INTO projection_outbox (agent_id, session_id, stream, record, created_at)"
            " VALUES (?, NULL, ?, ?, ?)",
            (agent_id, stream, record, utc_now()),
        )
        self._database.after_commit(self.signal.notify)
