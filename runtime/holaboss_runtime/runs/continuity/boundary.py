"""The compaction boundary: the durable hand-off of a finished turn to the run that comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_client.sessions import TurnResult
from holaboss_runtime.runs.agent_context.budget import one_line

BOUNDARY_TYPE = "executor_post_turn"
SUMMARY_LINES = 3
SUMMARY_CHARS = 320
RESUME_TURNS = 4
RESUME_MESSAGES = 3
MESSAGE_CHARS = 220
PRESERVED_TURNS = 5
_RESTORATION_ORDER = (
    "boundary_summary",
    "recent_runtime_context",
    "session_resume_context",
    "preserved_turn_input_ids",
    "restored_memory_paths",
)


@dataclass(frozen=True, slots=True)
class UserMessage:
    input_id: str
    text: str
    created_at: str


def summarise(turn: TurnResult) -> str | None:
    """The first three lines of the answer, 320 characters at most, else a sentence about how the turn ended."""
    lines = [line.strip() for line in turn.assistant_text.splitlines() if line.strip()]
    if lines:
        return _cut("\n".join(lines[:SUMMARY_LINES]), SUMMARY_CHARS)
    reason = turn.stop_reason or "unknown"
    return {
        "waiting_user": "The run waits for an answer of the user.",
        "paused": "The run was paused by the user.",
        "failed": _cut(f"The run failed: {reason}.", SUMMARY_CHARS),
        "completed": _cut(f"The run completed ({reason}) without an answer.", SUMMARY_CHARS)
        if turn.stop_reason
        else None,
    }.get(turn.status)


def boundary_of(
    turn: TurnResult,
    *,
    previous_boundary_id: str | None,
    recent_turns: Sequence[TurnResult],
    recent_messages: Sequence[UserMessage],
    memory_paths: Sequence[str] = (),
) -> dict[str, Any]:
    """The fields of a `compaction_boundaries` row for a turn that was committed, decoded.

    `recent_turns` and `recent_messages` are newest first and include this turn; those of the boundary are for the run
    that comes next, so nothing of this turn is left out of them.
    """
    summary = summarise(turn)
    runtime = runtime_context(turn)
    resume = session_resume_context(recent_turns, recent_messages)
    preserved = [recent.input_id for recent in recent_turns[:PRESERVED_TURNS]]
    present = {
        "boundary_summary": summary,
        "recent_runtime_context": runtime,
        "session_resume_context": resume,
        "preserved_turn_input_ids": preserved,
        "restored_memory_paths": list(memory_paths),
    }
    return {
        "boundary_id": boundary_id(turn.input_id),
        "workspace_id": turn.workspace_id,
        "session_id": turn.session_id,
        "input_id": turn.input_id,
        "boundary_type": BOUNDARY_TYPE,
        "previous_boundary_id": previous_boundary_id,
        "summary": summary,
        "recent_runtime_context": runtime,
        "restoration_context": {
            "compaction_source": "executor_post_turn",
            "boundary_type": BOUNDARY_TYPE,
            "restoration_order": [name for name in _RESTORATION_ORDER if present[name]],
            "session_resume_context": resume,
            "restored_memory_paths": list(memory_paths),
        },
        "preserved_turn_input_ids": preserved,
        "request_snapshot_fingerprint": turn.request_snapshot_fingerprint,
    }


def boundary_id(input_id: str) -> str:
    return f"compaction:{input_id}"


def runtime_context(turn: TurnResult) -> dict[str, Any] | None:
    """What the next run should know of how the last one ended. None when there is nothing to say."""
    summary = summarise(turn)
    context: dict[str, Any] = {}
    if summary:
        context["summary"] = summary
    if turn.stop_reason:
        context["last_stop_reason"] = turn.stop_reason
    if turn.status == "failed":
        context["last_error"] = turn.stop_reason or summary or "run_failed"
    if turn.status == "waiting_user":
        context["waiting_for_user"] = True
    return context or None


def session_resume_context(
    turns: Sequence[TurnResult], messages: Sequence[UserMessage], *, current_input_id: str | None = None
) -> dict[str, Any] | None:
    """The newest four turns and three messages, newest first, without those of `current_input_id`."""
    recent_turns = [
        {
            "input_id": turn.input_id,
            "status": turn.status,
            "stop_reason": turn.stop_reason,
            "summary": summarise(turn),
            "completed_at": turn.completed_at,
        }
        for turn in turns
        if turn.input_id != current_input_id
    ][:RESUME_TURNS]
    recent_messages = [
        {
            "id": f"user-{message.input_id}",
            "text": one_line(message.text, MESSAGE_CHARS),
            "created_at": message.created_at,
        }
        for message in messages
        if message.input_id != current_input_id
    ][:RESUME_MESSAGES]
    if not recent_turns and not recent_messages:
        return None
    return {"recent_turns": recent_turns, "recent_user_messages": recent_messages}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
