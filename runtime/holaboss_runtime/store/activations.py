"""Rows of `activations`: the claim journal of an agent. Every wake that was tried says how it went."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holaboss_client.agents import Activation
from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row, Value
from holaboss_runtime.store.journal import activation_record
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.outbox import Outbox

LEASED = "leased"
BLOCKED = "blocked"
ACKED = "acked"
REQUEUED = "requeued"
ABANDONED = "abandoned"
KINDS = (LEASED, BLOCKED, ACKED, REQUEUED, ABANDONED)


class ActivationRecords:
    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def append(
        self, kind: str, *, claim_id: str, agent_id: str, session_id: str, payload: dict[str, Any]
    ) -> None:
        """`claim_id` is the id of the wake, or of the attempt that did not get one."""
        row = self._database.row(
            "INSERT INTO activations (kind, claim_id, agent_id, session_id, payload, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?) RETURNING *",
            (kind, claim_id, agent_id, session_id, encode(payload), utc_now()),
        )
        if row is not None:
            self._outbox.append(session_id, "activations", activation_record(row, payload))

    def select(
        self,
        agent_id: str,
        *,
        session_id: str | None = None,
        claim_id: str | None = None,
        kinds: Sequence[str] = (),
        limit: int = 100,
    ) -> list[Activation]:
        """The newest that match, oldest first."""
        where, values = ["agent_id = ?"], list[Value]([agent_id])
        for column, value in (("session_id", session_id), ("claim_id", claim_id)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        if kinds:
            where.append("kind IN (SELECT value FROM json_each(?))")
            values.append(encode(list(kinds)))
        rows = self._database.rows(
            f"SELECT * FROM activations WHERE {' AND '.join(where)} ORDER BY seq DESC LIMIT ?",
            (*values, limit),
        )
        return [_record(row) for row in rows[::-1]]

    def latest(self, session_id: str) -> Activation | None:
        row = self._database.row(
            "SELECT * FROM activations WHERE session_id = ? ORDER BY seq DESC LIMIT 1", (session_id,)
        )
        return None if row is None else _record(row)


def _record(row: Row) -> Activation:
    return Activation(
        seq=row["seq"],
        kind=row["kind"],
        claim_id=row["claim_id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        created_at=row["created_at"],
        payload=json.loads(row["payload"]),
    )
