"""Rows of `agent_session_inputs`: the queue face of inbound events, and the only place an input is claimed.

Order is priority first, then age. An input that is being retried (`attempt > 0`) keeps the rest of its session behind
it, so that a conversation never overtakes itself; only an interrupt goes past.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode, encode

AT_ONCE = ""
"""Sorts before every time: a clock that is set back must not make a message wait for it."""

QUEUED = "QUEUED"
CLAIMED = "CLAIMED"
DONE = "DONE"
FAILED = "FAILED"
PAUSED = "PAUSED"
CANCELLED = "CANCELLED"

MOST_AT_ONCE = 500

INTERRUPT = "user.interrupt"
DECISIONS = ("user.tool_confirmation", "user.custom_tool_result")
CHILD_RESULTS = "session.child_results"
CONTROL = (INTERRUPT, *DECISIONS)
"""Inputs that say how a run goes on rather than what to do next."""

# The concatenation keeps the planner on the index that has the order, instead of sorting the whole queue.
_READY = """\
SELECT i.* FROM agent_session_inputs i JOIN agent_sessions s ON s.session_id = i.session_id
WHERE i.status = 'QUEUED' AND i.available_at || '' <= ?1
  AND s.hold IS NULL AND s.status <> 'terminated' AND (s.lease_until IS NULL OR s.lease_until <= ?1)
  AND i.session_id NOT IN (SELECT c.session_id FROM agent_session_inputs c
                           WHERE c.status = 'CLAIMED' AND c.claimed_until > ?1)
  AND i.session_id NOT IN (SELECT value FROM json_each(?2))
  AND i.input_id NOT IN (SELECT value FROM json_each(?3))
  AND (i.attempt > 0 OR i.event_type = 'user.interrupt' OR i.session_id NOT IN
       (SELECT r.session_id FROM agent_session_inputs r WHERE r.status = 'QUEUED' AND r.attempt > 0))
  AND (i.event_type = 'user.interrupt' OR i.session_id NOT IN
       (SELECT a.session_id FROM pending_actions a WHERE a.status = 'open'))
"""
_FIRST = " ORDER BY i.priority DESC, i.seq LIMIT 1"


@dataclass(frozen=True, slots=True)
class InputRecord:
    input_id: str
    session_id: str
    workspace_id: str
    event_type: str
    payload: dict[str, Any]
    status: str
    priority: int
    available_at: str
    attempt: int
    claimed_by: str | None
    claimed_until: str | None
    created_at: str

    @property
    def text(self) -> str:
        """What a person reads of it."""
        return spoken(self.event_type, self.payload)


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
        event_type: str = "user.message",
        priority: int = 0,
        idempotency_key: str | None = None,
        available_at: str | None = None,
    ) -> None:
        now = utc_now()
        self._database.execute(
            "INSERT INTO agent_session_inputs (input_id, session_id, workspace_id, event_type, payload, status,"
            " priority, available_at, idempotency_key, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, 'QUEUED', ?, ?, ?, ?, ?)",
            (
                input_id,
                session_id,
                workspace_id,
                event_type,
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
        row = self._database.row(
            _READY + _FIRST, (now, encode(list(busy_sessions)), encode(list(waiting_inputs)))
        )
        return None if row is None else _record(row)

    def ready_of_agent(
        self, agent_id: str, now: str, *, busy_sessions: Collection[str], waiting_inputs: Collection[str] = ()
    ) -> InputRecord | None:
        """`next_ready` among the sessions of one agent."""
        row = self._database.row(
            f"{_READY} AND s.agent_id = ?4{_FIRST}",
            (now, encode(list(busy_sessions)), encode(list(waiting_inputs)), agent_id),
        )
        return None if row is None else _record(row)

    def claimable(self, session_id: str, now: str, *, past: Collection[str] = ()) -> list[InputRecord]:
        """What waits in a session and is due, in the order it would run: control first, then priority, then age.

        Without those in `past`, and at most `MOST_AT_ONCE`: more would fit into no prompt.
        """
        rows = self._database.rows(
            "SELECT * FROM agent_session_inputs WHERE session_id = ?1 AND status = 'QUEUED' AND available_at <= ?2"
            " AND (attempt > 0 OR event_type = 'user.interrupt' OR NOT EXISTS"
            " (SELECT 1 FROM agent_session_inputs r WHERE r.session_id = ?1 AND r.status = 'QUEUED'"
            " AND r.attempt > 0 AND r.available_at > ?2))"
            " AND input_id NOT IN (SELECT value FROM json_each(?3))"
            f" ORDER BY CASE WHEN event_type IN {CONTROL} THEN 0 ELSE 1 END, attempt > 0 DESC, priority DESC, seq"
            " LIMIT ?4",
            (session_id, now, encode(list(past)), MOST_AT_ONCE),
        )
        return [_record(row) for row in rows]

    def of_wake(self, wake_id: str) -> list[InputRecord]:
        """The inputs of a wake, its lead first."""
        rows = self._database.rows(
            "SELECT i.* FROM wake_inputs w JOIN agent_session_inputs i ON i.input_id = w.input_id"
            " WHERE w.wake_id = ? ORDER BY w.position",
            (wake_id,),
        )
        return [_record(row) for row in rows]

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
        """The input that waits for its next attempt, the first of several that were one run."""
        row = self._database.row(
            "SELECT * FROM agent_session_inputs WHERE session_id = ? AND status = 'QUEUED' AND attempt > 0"
            " ORDER BY priority DESC, seq LIMIT 1",
            (session_id,),
        )
        return None if row is None else _record(row)

    def next_due(self, now: str) -> str | None:
        """When the next input that was not available at `now` becomes so. Ask with the `now` of `next_ready`, or an
        input that became available between the two questions is forgotten."""
        due = self._database.scalar(
            "SELECT min(available_at) FROM agent_session_inputs WHERE status = 'QUEUED' AND available_at <> ''"
            " AND available_at > ?",
            (now,),
        )
        return None if due is None else str(due)

    def claimed_elsewhere(self, session_id: str, now: str) -> bool:
        """Whether a worker of the queue holds an input of the session right now."""
        found = self._database.scalar(
            "SELECT 1 FROM agent_session_inputs WHERE session_id = ? AND status = 'CLAIMED' AND claimed_until > ?"
            " LIMIT 1",
            (session_id, now),
        )
        return found is not None

    def next_claim_end(self, owner: str, now: str) -> str | None:
        """When the first claim of anybody but `owner` that still holds at `now` runs out."""
        until = self._database.scalar(
            "SELECT min(claimed_until) FROM agent_session_inputs WHERE status = 'CLAIMED' AND claimed_by <> ?"
            " AND claimed_until > ?",
            (owner, now),
        )
        return None if until is None else str(until)

    def has_interrupt(self, session_id: str) -> bool:
        found = self._database.scalar(
            "SELECT 1 FROM agent_session_inputs WHERE session_id = ? AND status = 'QUEUED'"
            " AND event_type = 'user.interrupt' LIMIT 1",
            (session_id,),
        )
        return found is not None

    def drop(self, session_id: str) -> list[str]:
        """Cancel everything that waits in a session; the ids."""
        rows = self._database.rows(
            "UPDATE agent_session_inputs SET status = 'CANCELLED', updated_at = ?"
            " WHERE session_id = ? AND status = 'QUEUED' RETURNING input_id",
            (utc_now(), session_id),
        )
        return [row["input_id"] for row in rows]

    def attached(self, workspace_id: str, batch: str) -> set[str]:
        """The paths of attachments that messages of a workspace name, among those with `batch` in them. A message
        that was taken back names nothing."""
        rows = self._database.rows(
            "SELECT payload FROM agent_session_inputs WHERE workspace_id = ? AND status <> 'CANCELLED'"
            " AND payload LIKE ?",
            (workspace_id, f"%{batch}%"),
        )
        lists = (cast("list[object]", decode(row["payload"]).get("attachments") or []) for row in rows)
        named = [
            cast("dict[str, Any]", item) for listed in lists for item in listed if isinstance(item, dict)
        ]
        return {str(item.get("workspace_path")) for item in named}

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
        event_type=row["event_type"],
        payload=decode(row["payload"]),
        status=row["status"],
        priority=row["priority"],
        available_at=row["available_at"],
        attempt=row["attempt"],
        claimed_by=row["claimed_by"],
        claimed_until=row["claimed_until"],
        created_at=row["created_at"],
    )


def spoken(event_type: str, payload: dict[str, Any]) -> str:
    """An inbound event in words: what a transcript shows of it."""
    if event_type == "user.tool_confirmation":
        declined = "Not answered" if payload.get("expired") else "Declined"
        verb = "Allowed" if payload.get("allowed") else declined
        changed = " with changes" if payload.get("input") else ""
        note = payload.get("note")
        return f"{verb}: {payload.get('tool_name', '')}{changed}" + (f". {note}" if note else "")
    if event_type == "user.custom_tool_result" and payload.get("kind") == "question":
        return _answer(payload.get("output"))
    if event_type == "user.custom_tool_result":
        return _with_note(f"Result of `{payload.get('tool_name', '')}`", payload.get("output"))
    if event_type == "user.interrupt":
        return _with_note("Interrupted", payload.get("note"))
    if event_type == "user.define_outcome":
        return _with_note(f"Wanted outcome: {payload.get('title', '')}", payload.get("detail"))
    return str(payload.get("text", ""))


def _with_note(text: str, note: object) -> str:
    return f"{text}: {note}" if note else text


def _answer(output: object) -> str:
    """The reply to a question, as a person would say it: what was chosen, and what was written."""
    if not isinstance(output, dict):
        return "" if output is None else str(output)
    said = cast("dict[str, Any]", output)
    options = ", ".join(str(option) for option in cast("list[object]", said.get("options") or []))
    return "\n\n".join(part for part in (options, str(said.get("text") or "")) if part) or "(no answer)"
