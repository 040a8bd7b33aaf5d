"""Whole families of rows at once: what the files of the agent layer are made from, and what is made from them.

For projections, imports and rebuilding only. It keeps the times, ids and numbers it is given, where the record
families would make new ones, and it notes nothing for the files.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from holaboss_client.agents import ScheduledWake, SessionEvent
from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row, Value
from holaboss_runtime.store.json_text import encode

SESSION_STREAMS = ("events", "wakes", "session", "checkpoint")
_AGENT_STREAMS = ("learn", "activations")


class Families:
    def __init__(self, database: Database) -> None:
        self.database = database

    # What the files are made from

    def agents(self) -> list[str]:
        rows = self.database.rows("SELECT agent_id FROM agents ORDER BY agent_id")
        return [str(row["agent_id"]) for row in rows]

    def sessions(self, agent_id: str) -> list[str]:
        """Ids of the sessions of an agent, oldest first."""
        rows = self.database.rows(
            "SELECT session_id FROM agent_sessions WHERE agent_id = ? ORDER BY created_at, session_id",
            (agent_id,),
        )
        return [str(row["session_id"]) for row in rows]

    def session(self, session_id: str) -> Row | None:
        return self.database.row("SELECT * FROM agent_sessions WHERE session_id = ?", (session_id,))

    def unfinished_actions(self, session_id: str) -> list[Row]:
        """Actions that are open or whose decision no wake has got yet, oldest first."""
        return self.database.rows(
            "SELECT * FROM pending_actions WHERE session_id = ? AND delivered_wake_id IS NULL"
            " ORDER BY requested_at, id",
            (session_id,),
        )

    def checkpoint(self, session_id: str) -> Row | None:
        return self.database.row("SELECT * FROM session_checkpoints WHERE session_id = ?", (session_id,))

    def events(self, session_id: str) -> list[SessionEvent]:
        rows = self.database.rows(
            "SELECT * FROM session_events WHERE session_id = ? ORDER BY seq", (session_id,)
        )
        return [
            SessionEvent.model_construct(
                seq=int(row["seq"]),
                event_id=row["event_id"],
                session_id=row["session_id"],
                type=row["type"],
                created_at=row["created_at"],
                processed_at=row["processed_at"],
                wake_id=row["wake_id"],
                payload=json.loads(row["payload"]),
            )
            for row in rows
        ]

    def wakes(self, session_id: str) -> list[ScheduledWake]:
        rows = self.database.rows(
            "SELECT * FROM session_wakes WHERE session_id = ? ORDER BY created_at, id", (session_id,)
        )
        return [ScheduledWake.model_validate(row) for row in rows]

    def learnings(self, agent_id: str) -> list[Row]:
        return self.database.rows("SELECT * FROM learnings WHERE agent_id = ? ORDER BY seq", (agent_id,))

    def activations(self, agent_id: str) -> list[Row]:
        return self.database.rows("SELECT * FROM activations WHERE agent_id = ? ORDER BY seq", (agent_id,))

    def mark_all(self, agent_ids: Sequence[str]) -> None:
        """Every file of these agents is to be compared with the database."""
        now = utc_now()
        for agent_id in agent_ids:
            self.database.execute(
                "INSERT INTO projection_outbox (agent_id, session_id, stream, record, created_at)"
                " SELECT s.agent_id, s.session_id, j.value, NULL, ? FROM agent_sessions s, json_each(?) j"
                " WHERE s.agent_id = ?",
                (now, encode(SESSION_STREAMS), agent_id),
            )
            for stream in _AGENT_STREAMS:
                self.database.execute(
                    "INSERT INTO projection_outbox (agent_id, session_id, stream, record, created_at)"
                    " VALUES (?, NULL, ?, NULL, ?)",
                    (agent_id, stream, now),
                )

    # What is made from the files

    def known_agents(self, agent_ids: Collection[str]) -> set[str]:
        return self._known("agents", "agent_id", agent_ids)

    def known_sessions(self, session_ids: Collection[str]) -> set[str]:
        return self._known("agent_sessions", "session_id", session_ids)

    def known_events(self, event_ids: Collection[str]) -> set[str]:
        return self._known("session_events", "event_id", event_ids)

    def known_wakes(self, wake_ids: Collection[str]) -> set[str]:
        return self._known("session_wakes", "id", wake_ids)

    def free_seqs(self, wanted: Sequence[int | None]) -> list[int]:
        """Numbers for the events of one session: the ones they had where all of them are free and rise, else new ones
        above everything used so far."""
        known = [seq for seq in wanted if seq is not None]
        rising = all(first < second for first, second in pairwise(known))
        if len(known) == len(wanted) and rising and not self._known_numbers(known):
            return known
        last = int(self.database.scalar("SELECT coalesce(max(seq), 0) FROM session_events"))
        first = max([last, *known]) + 1
        return list(range(first, first + len(wanted)))

    def insert(self, table: str, rows: Iterable[Mapping[str, Value]]) -> int:
        """Rows as they are, columns by name; how many were not there yet."""
        added = 0
        for row in rows:
            added += self.database.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))}) ON CONFLICT DO NOTHING",
                list(row.values()),
            )
        return added

    def _known(self, table: str, column: str, values: Collection[str]) -> set[str]:
        rows = self.database.rows(
            f"SELECT {column} AS found FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",
            (encode(list(values)),),
        )
        return {str(row["found"]) for row in rows}

    def _known_numbers(self, seqs: Sequence[int]) -> bool:
        found = self.database.scalar(
            "SELECT 1 FROM session_events WHERE seq IN (SELECT value FROM json_each(?)) LIMIT 1",
            (encode(list(seqs)),),
        )
        return found is not None
