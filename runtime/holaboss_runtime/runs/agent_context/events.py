"""What single events say: the texts of messages after later edits, and the short lines of everything else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from holaboss_client.agents import SessionEvent, SessionEventType
from holaboss_runtime.runs.agent_context.budget import one_line

CONVERSATION = frozenset({SessionEventType.USER_MESSAGE, SessionEventType.AGENT_MESSAGE})
FIELD_CHARS = 160
NOTE_CHARS = 640


class Edits:
    """What became of messages after they were written: the newest text of each, and which were taken back."""

    def __init__(self, events: Iterable[SessionEvent]) -> None:
        self._texts: dict[str, str] = {}
        self.cancelled: set[str] = set()
        for event in events:
            target = str(event.payload.get("input_id", ""))
            if event.type == SessionEventType.USER_MESSAGE_EDITED:
                self._texts[target] = str(event.payload.get("text", ""))
            elif event.type == SessionEventType.USER_MESSAGE_CANCELLED:
                self.cancelled.add(target)

    def text(self, event: SessionEvent) -> str:
        return self._texts.get(event.event_id, message_text(event.payload))


def message_text(payload: Mapping[str, Any]) -> str:
    """Messages from the window and the shell say `text`, answers and imported messages `message`."""
    return str(payload.get("text") or payload.get("message") or "")


def as_note(event: SessionEvent) -> str:
    """One line: the type and its telling fields, none longer than 160 characters."""
    fields = (
        f"{name}={_field(value)}"
        for name, value in event.payload.items()
        if value not in (None, "", [], {}) and not name.endswith("span_id")
    )
    return one_line(f"{event.type} {' '.join(fields)}", NOTE_CHARS)


def as_text(value: object) -> str:
    """A result of a tool as text: a string itself, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def outcome_text(outcome: Mapping[str, Any]) -> str:
    """An outcome in the spelling of events or of the checkpoint."""
    listed = cast(list[object], outcome.get("success_criteria") or outcome.get("successCriteria") or [])
    lines = [said(outcome, "title"), said(outcome, "detail")]
    lines += [f"- done when: {criterion}" for criterion in listed if str(criterion).strip()]
    return "\n".join(line for line in lines if line)


def said(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return "" if value is None else str(value).strip()


def _field(value: object) -> str:
    return one_line(as_text(value), FIELD_CHARS)
