"""Rows of `turn_results`: the normalised record of each finished run, and the layout of a transcript."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.sessions import TurnResult
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional, encode, encode_optional

IndexRow = tuple[int, str, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """How big a turn is on a screen, without its text. `steps` counts tool calls and stretches of thinking."""

    user_chars: int
    user_lines: int
    answer_chars: int
    answer_lines: int
    steps: int


@dataclass(frozen=True, slots=True)
class TurnFinish:
    """How a run ended, in the words of `TurnResult`."""

    status: str
    stop_reason: str | None
    assistant_text: str
    tool_usage_summary: dict[str, Any]
    permission_denials: list[dict[str, Any]]
    token_usage: dict[str, Any] | None
    containment: str | None = None


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What was known of the request when the run began; empty when it failed before that."""

    prompt_section_ids: tuple[str, ...] = ()
    capability_manifest_fingerprint: str | None = None
    request_snapshot_fingerprint: str | None = None
    prompt_cache_profile: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A finished turn as the transcript shows it."""

    seq: int
    input_id: str
    status: str
    started_at: str


class TurnRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(
        self,
        *,
        workspace_id: str,
        session_id: str,
        input_id: str,
        seq: int,
        started_at: str,
        finish: TurnFinish,
        request: RequestFacts,
        layout: Layout,
    ) -> None:
        now = utc_now()
        self._database.execute(
            "INSERT INTO turn_results (input_id, workspace_id, session_id, seq, started_at, completed_at, status,"
            " stop_reason, assistant_text, tool_usage_summary, permission_denials, prompt_section_ids,"
            " capability_manifest_fingerprint, request_snapshot_fingerprint, prompt_cache_profile, token_usage,"
            " user_chars, user_lines, answer_chars, answer_lines, steps, created_at, updated_at, containment)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                input_id,
                workspace_id,
                session_id,
                seq,
                started_at,
                now,
                finish.status,
                finish.stop_reason,
                finish.assistant_text,
                encode(finish.tool_usage_summary),
                encode(finish.permission_denials),
                encode(list(request.prompt_section_ids)),
                request.capability_manifest_fingerprint,
                request.request_snapshot_fingerprint,
                encode_optional(request.prompt_cache_profile),
                encode_optional(finish.token_usage),
                layout.user_chars,
                layout.user_lines,
                layout.answer_chars,
                layout.answer_lines,
                layout.steps,
                now,
                now,
                finish.containment,
            ),
        )

    def index(self, session_id: str, *, after_seq: int = 0) -> list[IndexRow]:
        """The layout of every finished turn after `after_seq`, oldest first, from a covering index alone."""
        rows = self._database.rows(
            "SELECT seq, input_id, user_chars, user_lines, answer_chars, answer_lines, steps FROM turn_results"
            " WHERE session_id = ? AND seq > ? ORDER BY seq",
            (session_id, after_seq),
        )
        return [
            (
                row["seq"],
                row["input_id"],
                row["user_chars"],
                row["user_lines"],
                row["answer_chars"],
                row["answer_lines"],
                row["steps"],
            )
            for row in rows
        ]

    def page(self, session_id: str, *, from_seq: int, limit: int) -> list[TurnRow]:
        rows = self._database.rows(
            "SELECT seq, input_id, status, started_at FROM turn_results WHERE session_id = ? AND seq >= ?"
            " ORDER BY seq LIMIT ?",
            (session_id, from_seq, limit),
        )
        return [TurnRow(row["seq"], row["input_id"], row["status"], row["started_at"]) for row in rows]

    def latest(self, session_id: str) -> tuple[int, TurnResult] | None:
        """The last finished turn and its place in the session."""
        row = self._database.row(
            "SELECT * FROM turn_results WHERE session_id = ? ORDER BY seq DESC LIMIT 1", (session_id,)
        )
        return None if row is None else (row["seq"], _result(row))

    def newest(self, session_id: str, *, limit: int, before_seq: int | None = None) -> list[TurnResult]:
        """The newest first."""
        rows = self._database.rows(
            "SELECT * FROM turn_results WHERE session_id = ?1 AND (?2 IS NULL OR seq < ?2)"
            " ORDER BY seq DESC LIMIT ?3",
            (session_id, before_seq, limit),
        )
        return [_result(row) for row in rows]

    def get(self, input_id: str) -> TurnResult | None:
        row = self._database.row("SELECT * FROM turn_results WHERE input_id = ?", (input_id,))
        return None if row is None else _result(row)


def _result(row: Row) -> TurnResult:
    return TurnResult(
        seq=row["seq"],
        input_id=row["input_id"],
        workspace_id=row["workspace_id"],
        session_id=row["session_id"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        status=row["status"],
        stop_reason=row["stop_reason"],
        assistant_text=row["assistant_text"],
        tool_usage_summary=json.loads(row["tool_usage_summary"]),
        permission_denials=json.loads(row["permission_denials"]),
        prompt_section_ids=json.loads(row["prompt_section_ids"]),
        capability_manifest_fingerprint=row["capability_manifest_fingerprint"],
        request_snapshot_fingerprint=row["request_snapshot_fingerprint"],
        prompt_cache_profile=decode_optional(row["prompt_cache_profile"]),
        token_usage=decode_optional(row["token_usage"]),
        containment=row["containment"],
    )
