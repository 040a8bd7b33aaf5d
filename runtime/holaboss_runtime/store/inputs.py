"""Rows of `agent_session_inputs`: the queue face of inbound events, and the only place an input is claimed.

Order is priority first, then age. An input that is being retried (`attempt > 0`) keeps the rest of its session behind
it, so that a conversation never overtakes itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import encode

AT_ONCE = ""
"""Sorts before every time: a clock that is set back must not make a message wait for it."""

QUEUED = "QUEUED"
CLAIMED = "CLAIMED"
DONE = "DONE"
FAILED = "FAILED"
PAUSED = "PAUSED"
CANCELLED = "CANCELLED"

# The concatenation keeps the planner on the index that has the order, instead of sorting the whole queue.
_READY = """\
SELECT i.* FROM agent_session_inputs i JOIN agent_sessions s ON s.session_id = i.session_id
WHERE i.status = 'QUEUED' AND i.available_at || '' <= ?1
  AND s.hold IS NULL AND (s.lease_until IS NULL OR s.lease_until <= ?1)
  AND i.session_id NOT IN (SELECT value FROM json_each(?2))
  AND i.input_id NOT IN (SELECT value FROM json_each(?3))
  AND (i.attempt > 0 OR i.session_id NOT IN
       (SELECT r.session_id FROM agent_session_inputs r WHERE r.status = 'QUEUED' AND r.attempt > 0))
ORDER BY i.priority DESC, i.seq LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class InputRecord:
    input_id: str
    session_id: str
    workspace_id: str
    payload: dict[str, Any]
    status: str
    priority: int
    available_at: str
    attempt: int
    created_at: str

    @property
    def text(self) -> str:
        return str(self.payload.get("text", ""))


class InputRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(
        self,
        input_id: str,
        session_id: str,
        workspace_id: str,
        payload: dict[str, Any],
        *,
        priority: int = 0,
        idempotency_key: str | None = None,
        available_at: str | None = None,
    ) -> None:
        now = utc_now()
        self._database.execute(
            "INSERT INTO agent_session_inputs (input_id, session_id, workspace_id, payload, status, priority,"
            " available_at, idempotency_key, created_at, updated_at) VALUES (?, ?, ?, ?, 'QUEUED', ?, ?, ?, ?, ?)",
            (
                input_id,
                session_id,
                workspace_id,
                encode(payload),
                priority,
                available_at or AT_ONCE,
                idempotency_key,
                now,
                now,
            ),
        )

    def get(self, input_id: str) -> InputRecord | None:
        row = self._database.row("SELECT * FROM agent_session_inputs WHERE input_id = ?", (input_id,))
        return None if row is None else _record(row)

    def by_key(self, workspace_id: str, idempotency_key: str) -> InputRecord | None:
        row = self._database.row(
            "SELECT * FROM agent_session_inputs WHERE workspace_id = ? AND idempotency_key = ?",
            (workspace_id, idempotency_key),
        )
        return None if row is None else _record(row)

    def next_ready(
        self, now: str, *, busy_sessions: Collection[str], waiting_inputs: Collection[str]
    ) -> InputRecord | None:
        """The input that should run next at `now`, without claiming it."""
        row = self._database.row(_READY, (now, encode(list(busy_sessions)), encode(list(waiting_inputs))))
        return None if row is None else _record(row)

    def claim(self, input_id: str, owner: str, until: str) -> InputRecord | None:
        """One guarded step from QUEUED to CLAIMED; None when somebody was faster or it is not queued any more."""
        row = self._database.row(
            "UPDATE agent_session_inputs SET status = 'CLAIMED', claimed_by = ?, claimed_until = ?, updated_at = ?"
            " WHERE input_id = ? AND status = 'QUEUED' RETURNING *",
            (owner, until, utc_now(), input_id),
        )
        return None if row is None else _record(row)

    def renew_claim(self, input_id: str, owner: str, until: str) -> None:
        self._database.execute(
            "UPDATE agent_session_inputs SET claimed_until = ? WHERE input_id = ? AND status = 'CLAIMED'"
            " AND claimed_by = ?",
            (until, input_id, owner),
        )

    def requeue(self, input_id: str, *, available_at: str) -> None:
        """Back into the queue for one more attempt."""
        self._database.execute(
            "UPDATE agent_session_inputs SET status = 'QUEUED', attempt = attempt + 1, available_at = ?,"
            " claimed_by = NULL, claimed_until = NULL, updated_at = ? WHERE input_id = ?",
            (available_at, utc_now(), input_id),
        )

    def settle(self, input_id: str, status: str) -> None:
        self._database.execute(
            "UPDATE agent_session_inputs SET status = ?, claimed_by = NULL, claimed_until = NULL, updated_at = ?"
            " WHERE input_id = ?",
            (status, utc_now(), input_id),
        )

    def leave_queue(self, input_id: str, status: str) -> bool:
        """From QUEUED to `status`; False when it is not queued."""
        return self._untouched(input_id, "status = ?", status)

    def rewrite(self, input_id: str, payload: dict[str, Any]) -> bool:
        """Change what a queued input asks; False when it is not queued any more."""
        return self._untouched(input_id, "payload = ?", encode(payload))

    def queued(self, session_id: str) -> list[InputRecord]:
        """Inputs that no run has claimed yet, in the order they will run."""
        rows = self._database.rows(
            "SELECT * FROM agent_session_inputs WHERE session_id = ? AND status = 'QUEUED' AND attempt = 0"
            " ORDER BY priority DESC, seq",
            (session_id,),
        )
        return [_record(row) for row in rows]

    def retrying(self, session_id: str) -> InputRecord | None:
        """The claimed input that waits for its next attempt; a session has at most one."""
        row = self._database.row(
            "SELECT * FROM agent_session_inputs WHERE session_id = ? AND status = 'QUEUED' AND attempt > 0",
            (session_id,),
        )
        return None if row is None else _record(row)

    def next_due(self, now: str) -> str | None:
        """When the next input that was not available at `now` becomes so. Ask with the `now` of `next_ready`, or an
        input that became available between the two questions is forgotten."""
        due = self._database.scalar(
            "SELECT min(available_at) FROM agent_session_inputs WHERE status = 'QUEUED' AND available_at > ?",
            (now,),
        )
        return None if due is None else str(due)

    def _untouched(self, input_id: str, assignment: str, value: str) -> bool:
        changed = self._database.execute(
            f"UPDATE agent_session_inputs SET {assignment}, updated_at = ? WHERE input_id = ? AND status = 'QUEUED'",
            (value, utc_now(), input_id),
        )
        return changed == 1


def _record(row: Row) -> InputRecord:
    return InputRecord(
        input_id=row["input_id"],
        session_id=row["session_id"],
        workspace_id=row["workspace_id"],
        payload=json.loads(row["payload"]),
        status=row["status"],
        priority=row["priority"],
        available_at=row["available_at"],
        attempt=row["attempt"],
        created_at=row["created_at"],
    )
