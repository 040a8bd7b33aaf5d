"""Rows of `pending_actions`: what waits for a person or a program outside, and what was decided.

A decision is made once and handed to a harness once: `delivered_wake_id` is written in the transaction that claims the
wake, before anything runs, so that after a crash nothing approved can run a second time.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from holaboss_client.agents import PendingAction
from holaboss_client.base import utc_now
from holaboss_client.permissions import RuleText
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional, encode, encode_optional

OPEN = "open"
APPROVED = "approved"
DENIED = "denied"
ANSWERED = "answered"
CANCELLED = "cancelled"
EXPIRED = "expired"

TOOL_CONFIRMATION = "tool_confirmation"
CUSTOM_TOOL = "custom_tool"
QUESTION = "question"


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """`call_id` names the call inside the harness; null when no executor waits for the answer. `event_id` is the
    session event that asked. `edited_input` is what was approved instead of `input`, where a person changed it."""

    id: str
    session_id: str
    wake_id: str
    kind: str
    call_id: str | None
    tool_name: str
    input: dict[str, Any]
    input_hash: str
    status: str
    event_id: str
    requested_at: str
    decided_at: str | None
    note: str | None
    output: Any
    delivered_wake_id: str | None
    reason: str = ""
    suggestions: tuple[RuleText, ...] = ()
    edited_input: dict[str, Any] | None = None
    expires_at: str | None = None

    @property
    def approved_input(self) -> dict[str, Any]:
        """The arguments an approved call is made with."""
        return self.input if self.edited_input is None else self.edited_input

    def wire(self) -> PendingAction:
        return PendingAction(
            id=self.id,
            session_id=self.session_id,
            kind=self.kind,
            tool_name=self.tool_name,
            input=self.input,
            status=self.status,
            requested_at=self.requested_at,
            decided_at=self.decided_at,
            note=self.note,
            reason=self.reason,
            suggestions=list(self.suggestions),
            edited_input=self.edited_input,
            expires_at=self.expires_at,
            output=self.output,
        )


@dataclass(frozen=True, slots=True)
class NewAction:
    """A request on its way in; see `ActionRecord`."""

    id: str
    kind: str
    call_id: str | None
    tool_name: str
    arguments: dict[str, Any]
    event_id: str
    reason: str = ""
    suggestions: tuple[RuleText, ...] = ()
    expires_at: str | None = None


class PendingActionRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, session_id: str, wake_id: str, action: NewAction) -> None:
        arguments = encode(action.arguments)
        self._database.execute(
            "INSERT INTO pending_actions (id, session_id, wake_id, kind, call_id, tool_name, input, input_hash,"
            " event_id, requested_at, reason, suggestions, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                action.id,
                session_id,
                wake_id,
                action.kind,
                action.call_id,
                action.tool_name,
                arguments,
                hashlib.sha256(arguments.encode()).hexdigest(),
                action.event_id,
                utc_now(),
                action.reason,
                encode([rule.model_dump(exclude_none=True) for rule in action.suggestions]),
                action.expires_at,
            ),
        )

    def get(self, action_id: str) -> ActionRecord | None:
        row = self._database.row("SELECT * FROM pending_actions WHERE id = ?", (action_id,))
        return None if row is None else _record(row)

    def open(self, session_id: str) -> list[ActionRecord]:
        rows = self._database.rows(
            "SELECT * FROM pending_actions WHERE session_id = ? AND status = 'open' ORDER BY seq",
            (session_id,),
        )
        return [_record(row) for row in rows]

    def page(self, session_id: str, *, limit: int = 100) -> list[ActionRecord]:
        """The newest first, whatever became of them."""
        rows = self._database.rows(
            "SELECT * FROM pending_actions WHERE session_id = ? ORDER BY seq DESC LIMIT ?",
            (session_id, limit),
        )
        return [_record(row) for row in rows]

    def decide(
        self,
        action_id: str,
        status: str,
        *,
        event_id: str | None,
        note: str | None = None,
        output: Any = None,  # noqa: ANN401
        edited_input: dict[str, Any] | None = None,
    ) -> bool:
        """False when somebody was faster."""
        changed = self._database.execute(
            "UPDATE pending_actions SET status = ?, decided_at = ?, decision_event_id = ?, note = ?, output = ?,"
            " edited_input = ? WHERE id = ? AND status = 'open'",
            (
                status,
                utc_now(),
                event_id,
                note,
                encode_optional(output),
                encode_optional(edited_input),
                action_id,
            ),
        )
        return changed == 1

    def overdue(self, now: str, session_id: str | None = None) -> list[ActionRecord]:
        """What still waits and should have been decided by `now`, in one session or in all, in the order it was
        asked."""
        rows = self._database.rows(
            "SELECT a.* FROM pending_actions a JOIN agent_sessions s ON s.session_id = a.session_id"
            " WHERE a.status = 'open' AND a.expires_at IS NOT NULL AND a.expires_at <= ?1"
            " AND (?2 IS NULL OR a.session_id = ?2) AND s.status <> 'terminated' ORDER BY a.seq",
            (now, session_id),
        )
        return [_record(row) for row in rows]

    def next_expiry(self, now: str) -> str | None:
        """When the next request that has time left at `now` runs out of it."""
        due = self._database.scalar(
            "SELECT min(expires_at) FROM pending_actions WHERE status = 'open' AND expires_at IS NOT NULL"
            " AND expires_at > ?",
            (now,),
        )
        return None if due is None else str(due)

    def cancel(self, session_id: str) -> list[ActionRecord]:
        """Discard what waits in a session, and what was allowed and not begun; what was discarded."""
        rows = self._database.rows(
            "UPDATE pending_actions SET status = 'cancelled', decided_at = ? WHERE session_id = ?"
            " AND delivered_wake_id IS NULL AND status IN ('open', 'approved') RETURNING *",
            (utc_now(), session_id),
        )
        return [_record(row) for row in sorted(rows, key=lambda row: int(row["seq"]))]

    def deliver(self, session_id: str, wake_id: str) -> list[ActionRecord]:
        """Hand every decision of the session that no wake has got yet to `wake_id`, for good."""
        rows = self._database.rows(
            "UPDATE pending_actions SET delivered_wake_id = ?, delivered_at = ?"
            " WHERE session_id = ? AND status <> 'open' AND delivered_wake_id IS NULL RETURNING *",
            (wake_id, utc_now(), session_id),
        )
        return [_record(row) for row in sorted(rows, key=lambda row: int(row["seq"]))]

    def delivered_to(self, wake_id: str) -> list[ActionRecord]:
        rows = self._database.rows(
            "SELECT * FROM pending_actions WHERE delivered_wake_id = ? ORDER BY seq", (wake_id,)
        )
        return [_record(row) for row in rows]

    def take_back(self, wake_id: str) -> None:
        """The wake ended before a harness saw anything: its decisions are for the next one."""
        self._database.execute(
            "UPDATE pending_actions SET delivered_wake_id = NULL, delivered_at = NULL WHERE delivered_wake_id = ?",
            (wake_id,),
        )


def _record(row: Row) -> ActionRecord:
    return ActionRecord(
        id=row["id"],
        session_id=row["session_id"],
        wake_id=row["wake_id"],
        kind=row["kind"],
        call_id=row["call_id"],
        tool_name=row["tool_name"],
        input=json.loads(row["input"]),
        input_hash=row["input_hash"],
        status=row["status"],
        event_id=row["event_id"],
        requested_at=row["requested_at"],
        decided_at=row["decided_at"],
        note=row["note"],
        output=decode_optional(row["output"]),
        delivered_wake_id=row["delivered_wake_id"],
        reason=row["reason"],
        suggestions=tuple(RuleText.model_validate(rule) for rule in json.loads(row["suggestions"])),
        edited_input=decode_optional(row["edited_input"]),
        expires_at=row["expires_at"],
    )
