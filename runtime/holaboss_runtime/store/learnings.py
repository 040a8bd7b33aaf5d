"""Rows of `learnings`: what an agent noted for its later sessions. The same note is kept once per agent."""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.journal import learning_record
from holaboss_runtime.store.outbox import Outbox


@dataclass(frozen=True, slots=True)
class LearningRecord:
    """`kind` is lesson, correction or error; `promote` asks for a place in the agent's memory."""

    id: str
    agent_id: str
    session_id: str
    wake_id: str | None
    kind: str
    title: str
    detail: str
    promote: bool
    dedupe_key: str
    source_reason: str | None
    created_at: str


class LearningRecords:
    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def capture(
        self,
        agent_id: str,
        session_id: str,
        *,
        wake_id: str | None,
        kind: str,
        title: str,
        detail: str,
        promote: bool,
        dedupe_key: str | None = None,
        source_reason: str | None = None,
    ) -> LearningRecord | None:
        """The new record; None when the agent has noted the same before."""
        row = self._database.row(
            "INSERT INTO learnings (id, agent_id, session_id, wake_id, kind, title, detail, promote, dedupe_key,"
            " source_reason, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *",
            (
                new_id(),
                agent_id,
                session_id,
                wake_id,
                kind,
                title,
                detail,
                int(promote),
                dedupe_key or f"{kind}:{title}:{detail}".casefold(),
                source_reason,
                utc_now(),
            ),
        )
        if row is None:
            return None
        self._outbox.append(session_id, "learn", learning_record(row))
        return _record(row)

    def of_agent(self, agent_id: str, *, limit: int = 200) -> list[LearningRecord]:
        """The newest, oldest first."""
        rows = self._database.rows(
            "SELECT * FROM learnings WHERE agent_id = ? ORDER BY seq DESC LIMIT ?", (agent_id, limit)
        )
        return [_record(row) for row in rows[::-1]]

    def promoted(self, agent_id: str, *, limit: int = 200) -> list[LearningRecord]:
        """Those that asked for a place in the agent's memory: the newest, oldest first."""
        rows = self._database.rows(
            "SELECT * FROM learnings WHERE agent_id = ? AND promote = 1 ORDER BY seq DESC LIMIT ?",
            (agent_id, limit),
        )
        return [_record(row) for row in rows[::-1]]

    def of_wake(self, wake_id: str) -> list[LearningRecord]:
        rows = self._database.rows("SELECT * FROM learnings WHERE wake_id = ? ORDER BY seq", (wake_id,))
        return [_record(row) for row in rows]


def _record(row: Row) -> LearningRecord:
    return LearningRecord(
        id=row["id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        wake_id=row["wake_id"],
        kind=row["kind"],
        title=row["title"],
        detail=row["detail"],
        promote=bool(row["promote"]),
        dedupe_key=row["dedupe_key"],
        source_reason=row["source_reason"],
        created_at=row["created_at"],
    )
