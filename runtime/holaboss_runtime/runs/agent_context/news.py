"""The newest user message of a wake: one entry for each event and each due wake, oldest first.

A single message of a person is given as it is, without tags: it is the user's turn. Everything else is wrapped, and
no text can leave its wrapper or pass for another event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from holaboss_client.agents import ScheduledWake, SessionEvent, SessionEventType
from holaboss_runtime.runs.agent_context.budget import clip, one_line, shares
from holaboss_runtime.runs.agent_context.events import Edits, as_note, as_text, outcome_text, said
from holaboss_runtime.runs.agent_context.markup import EVENT, escape, wrap
from holaboss_runtime.runs.agent_context.model import ContextInputs

NOTHING_NEW = "Nothing new came in. Look at what is open, and sleep if nothing is."
NO_TEXT = "See the attached files."
ENTRY_CHARS = 200
"""The least an entry is shortened to; when there are too many even for that, the oldest are only counted."""
MAX_WAKES = 50
MAX_PATHS = 50
_HEAD_CHARS = 160


@dataclass(frozen=True, slots=True)
class _Entry:
    body: str
    type: str
    id: str = ""
    at: str = ""

    def wrapped(self, limit: int) -> str:
        return wrap(EVENT, clip(self.body, limit), type=self.type, id=self.id, at=self.at)


def instruction(inputs: ContextInputs, room: int) -> str:
    """At most `room` characters. Empty when all that came in are decisions the executor gets by itself."""
    told = [event for event in inputs.pending if event.event_id not in inputs.decided]
    wakes = _due(inputs)
    if inputs.pending and not told and not wakes and inputs.executor_remembers:
        return ""
    edits = Edits(inputs.previous)
    if len(inputs.pending) == 1 and not wakes and told and told[0].type == SessionEventType.USER_MESSAGE:
        return clip(escape(_message(told[0], edits)), room)
    entries = _entries(inputs, wakes, edits)
    return _listed(entries, room) if entries else NOTHING_NEW


def _entries(inputs: ContextInputs, wakes: Sequence[dict[str, Any]], edits: Edits) -> list[_Entry]:
    """All due wakes are one entry, in the place of the first event that named one, else last."""
    entries: list[_Entry] = []
    told = not wakes
    for event in inputs.pending:
        if not wakes or not _is_wake(event):
            entries.append(_entry(event, inputs, edits))
        elif not told:
            entries.append(_wakes_entry(wakes, inputs))
            told = True
    return entries if told else [*entries, _wakes_entry(wakes, inputs)]


def _listed(entries: list[_Entry], room: int) -> str:
    """The newest entries that fit even when each is shortened, then as much of each as there is room for."""
    head = "New since your last turn, oldest first:"
    kept: list[_Entry] = []
    tags, least = _HEAD_CHARS, _HEAD_CHARS
    for entry in reversed(entries):
        tag = len(entry.wrapped(0)) + 1
        least += tag + min(len(entry.body), ENTRY_CHARS)
        if kept and least > room:
            head += f" ({len(entries) - len(kept)} older entries are not shown; read the log of the session.)"
            break
        tags += tag
        kept.append(entry)
    sizes = shares([len(entry.body) for entry in kept], room - tags)
    shown = [entry.wrapped(size) for entry, size in zip(kept, sizes, strict=True)]
    return "\n".join([head, *reversed(shown)])


def _entry(event: SessionEvent, inputs: ContextInputs, edits: Edits) -> _Entry:
    body = _body(event, edits, decided=event.event_id in inputs.decided and inputs.executor_remembers)
    return _Entry(escape(body), event.type, event.event_id, event.created_at)


def _body(event: SessionEvent, edits: Edits, *, decided: bool) -> str:
    payload = event.payload
    match event.type:
        case SessionEventType.USER_MESSAGE:
            return _message(event, edits)
        case SessionEventType.USER_DEFINE_OUTCOME:
            return "From now on work towards this outcome:\n" + outcome_text(payload)
        case SessionEventType.USER_INTERRUPT:
            note = said(payload, "note")
            return "Stop what you were doing. Calls that waited and queued wakes were cancelled." + (
                f"\n{note}" if note else ""
            )
        case SessionEventType.USER_TOOL_CONFIRMATION:
            return _confirmation(payload, decided=decided)
        case SessionEventType.USER_CUSTOM_TOOL_RESULT:
            return _result(payload, decided=decided)
        case _:
            return said(payload, "text") or as_note(event)


def _message(event: SessionEvent, edits: Edits) -> str:
    text = edits.text(event).strip()
    attached = cast(list[object], event.payload.get("attachments") or [])
    items = [cast(dict[str, Any], item) for item in attached if isinstance(item, dict)]
    paths = [one_line(str(item.get("workspace_path") or item.get("name") or ""), 400) for item in items]
    if not paths:
        return text
    listed = "\n".join(f"- {path}" for path in paths[:MAX_PATHS])
    more = f"\nand {len(paths) - MAX_PATHS} more" if len(paths) > MAX_PATHS else ""
    return f"{text or NO_TEXT}\n\nAttached files of the workspace:\n{listed}{more}"


def _confirmation(payload: dict[str, Any], *, decided: bool) -> str:
    allowed = payload.get("allowed") is True
    decision = "approved" if allowed else "denied"
    text = f"A person {decision} the call of `{said(payload, 'tool_name')}` ({said(payload, 'request_id')})."
    if decided:
        text += " What came of it is the result of that call above."
    elif allowed:
        text += " It was not executed for you; call the tool again if it is still needed."
    note = said(payload, "note")
    return f"{text}\n{note}" if note else text


def _result(payload: dict[str, Any], *, decided: bool) -> str:
    head = f"The result of `{said(payload, 'tool_name')}` ({said(payload, 'request_id')})"
    return f"{head} is that of the call above." if decided else f"{head}:\n{as_text(payload.get('output'))}"


def _wakes_entry(wakes: Sequence[dict[str, Any]], inputs: ContextInputs) -> _Entry:
    lines = [
        f"- {one_line(said(wake, 'reason'), 200)} (due {said(wake, 'due_at') or 'now'})"
        + (f": {said(wake, 'note')}" if said(wake, "note") else "")
        for wake in wakes[:MAX_WAKES]
    ]
    more = [f"and {len(wakes) - MAX_WAKES} more"] if len(wakes) > MAX_WAKES else []
    events = [event for event in inputs.pending if _is_wake(event)]
    return _Entry(
        escape("\n".join(["You asked to be woken for this:", *lines, *more])),
        SessionEventType.SESSION_WAKE_DUE,
        events[0].event_id if len(events) == 1 else "",
        events[0].created_at if len(events) == 1 else "",
    )


def _due(inputs: ContextInputs) -> list[dict[str, Any]]:
    """Every due wake once, those named by events and those handed in."""
    found: dict[str, dict[str, Any]] = {}
    for event in inputs.pending:
        listed = cast(list[object], event.payload.get("wakes") or []) if _is_wake(event) else []
        for position, item in enumerate(listed):
            if isinstance(item, dict):
                wake = cast(dict[str, Any], item)
                found.setdefault(str(wake.get("id") or f"{event.event_id}/{position}"), wake)
    for wake in inputs.due_wakes:
        found.setdefault(wake.id, _fields(wake))
    return list(found.values())


def _fields(wake: ScheduledWake) -> dict[str, Any]:
    return {"id": wake.id, "reason": wake.reason, "note": wake.note, "due_at": wake.due_at}


def _is_wake(event: SessionEvent) -> bool:
    return event.type == SessionEventType.SESSION_WAKE_DUE
