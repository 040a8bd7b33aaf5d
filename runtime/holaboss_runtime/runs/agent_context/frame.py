"""What stands in front of the newest user message: where the session stands, the agent's own notes and learnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from holaboss_client.agents import PendingAction
from holaboss_runtime.runs.agent_context.budget import clip, one_line
from holaboss_runtime.runs.agent_context.events import as_text, outcome_text
from holaboss_runtime.runs.agent_context.markup import NOTES, WAKE, escape, wrap
from holaboss_runtime.runs.agent_context.model import ContextInputs

MAX_LEARNINGS = 20
MAX_ACTIONS = 20
SUMMARY_CHARS = 1_000
OUTCOME_CHARS = 2_000
LINE_CHARS = 240
_TAG_CHARS = 600
NOTE_NAMES = (("session_state", "Session state"), ("working_buffer", "Working buffer"))


def wake(inputs: ContextInputs, room: int) -> str:
    """Where the session stands. The previous summary is told only to an executor that does not remember the answer."""
    checkpoint: Mapping[str, Any] = inputs.checkpoint or {}
    parts = [
        _outcome(checkpoint.get("activeOutcome")),
        _summary(inputs, checkpoint),
        _problems(checkpoint.get("directiveProblems")),
        _actions(inputs.open_actions),
    ]
    body = "\n".join(part for part in parts if part) or "You are awake."
    return wrap(
        WAKE,
        clip(escape(body), room - _TAG_CHARS),
        session=inputs.session_id,
        now=inputs.now,
        last_stop=inputs.previous_stop_reason or "",
        parent=inputs.parent_session_id or "",
        children=inputs.child_count or "",
    )


def notes(inputs: ContextInputs, room: int) -> str:
    """What the agent wrote down for itself in this session."""
    kept = [(title, inputs.notes.get(name, "").strip()) for name, title in NOTE_NAMES]
    parts = [f"{title}:\n{text}" for title, text in kept if text]
    if not parts:
        return ""
    each = (room - _TAG_CHARS) // len(parts)
    body = "\n\n".join(clip(escape(part), each) for part in parts)
    return f"Your own notes of this session. Check them before you rely on them.\n{wrap(NOTES, body)}"


def learnings(inputs: ContextInputs, room: int) -> str:
    if not inputs.learnings:
        return ""
    lines = [f"- {escape(one_line(title, LINE_CHARS))}" for title in inputs.learnings[:MAX_LEARNINGS]]
    return clip("Learned in earlier sessions, newest first:\n" + "\n".join(lines), room)


def _outcome(outcome: object) -> str:
    if not isinstance(outcome, dict):
        return ""
    text = outcome_text(cast(dict[str, Any], outcome))
    return f"The outcome to work towards:\n{clip(text, OUTCOME_CHARS)}" if text else ""


def _summary(inputs: ContextInputs, checkpoint: Mapping[str, Any]) -> str:
    summary = str(checkpoint.get("lastSummary") or "").strip()
    if inputs.executor_remembers or not summary:
        return ""
    return f"Your summary of the last turn: {one_line(summary, SUMMARY_CHARS)}"


def _problems(listed: object) -> str:
    problems = [str(item) for item in cast(list[object], listed)] if isinstance(listed, list) else []
    lines = [f"- {one_line(problem, LINE_CHARS)}" for problem in problems[:10]]
    return "\n".join(["Not everything in your last loop block could be used:", *lines]) if lines else ""


def _actions(actions: tuple[PendingAction, ...]) -> str:
    lines = [
        f"- {one_line(action.tool_name, LINE_CHARS)} ({one_line(action.id, LINE_CHARS)},"
        f" {action.kind.replace('_', ' ')}): {one_line(as_text(action.input), LINE_CHARS)}"
        for action in actions[:MAX_ACTIONS]
    ]
    if len(actions) > MAX_ACTIONS:
        lines.append(f"- and {len(actions) - MAX_ACTIONS} more")
    return "\n".join(["Still waiting for a decision or a result:", *lines]) if lines else ""
