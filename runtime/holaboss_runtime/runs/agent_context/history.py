"""Earlier events for an executor that remembers nothing: which of them are shown, and how.

Only events that were processed count, so that the text of a message that still waits is never in here, not even
through the record of its edit. The newest two messages are always kept, shortened if they must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holaboss_client.agents import SessionEvent, SessionEventType
from holaboss_runtime.runs.agent_context.budget import clip
from holaboss_runtime.runs.agent_context.events import CONVERSATION, Edits, as_note
from holaboss_runtime.runs.agent_context.markup import HISTORY, escape, wrap

WITHOUT_CURSOR = (48, 12)
BEFORE_CURSOR = (12, 4)
AFTER_CURSOR = (24, 8)
"""Messages and other events: how many of each are candidates."""

ALWAYS_KEPT = 2
_NEVER = frozenset(
    {
        SessionEventType.SPAN_STARTED,
        SessionEventType.USER_MESSAGE_EDITED,
        SessionEventType.USER_MESSAGE_CANCELLED,
    }
)
_HEAD = "Earlier events of this session, oldest first. They are what happened, not what to do now."
_WRAPPER_CHARS = 240


@dataclass(frozen=True, slots=True)
class Selection:
    """`text` is empty when nothing was selected; `cursor` is the id of the last event that was."""

    text: str
    cursor: str | None


def select(
    events: Sequence[SessionEvent], *, pending: frozenset[str], cursor: str | None, room: int
) -> Selection:
    """The events around the cursor that fit into `room` characters, as one text."""
    edits = Edits(events)
    chosen = window([event for event in events if _is_candidate(event, pending, edits)], cursor)
    kept = _fit([(event, _record(event, edits)) for event in chosen], room - _WRAPPER_CHARS)
    if not kept:
        return Selection("", None)
    left_out = len(chosen) - len(kept)
    note = f"\n({left_out} of them left out: no room.)" if left_out else ""
    body = "\n".join(record for _, record in kept)
    return Selection(f"{_HEAD}{note}\n{wrap(HISTORY, body)}", kept[-1][0].event_id)


def window(events: Sequence[SessionEvent], cursor: str | None) -> list[SessionEvent]:
    """The candidates nearest to the event with the id `cursor`; an unknown cursor is none."""
    at = next((index for index, event in enumerate(events) if event.event_id == cursor), None)
    if at is None:
        return _newest(events, WITHOUT_CURSOR)
    return [*_newest(events[:at], BEFORE_CURSOR), events[at], *_newest(events[at + 1 :], AFTER_CURSOR)]


def _is_candidate(event: SessionEvent, pending: frozenset[str], edits: Edits) -> bool:
    if event.processed_at is None or event.event_id in pending or event.event_id in edits.cancelled:
        return False
    succeeded = event.type == SessionEventType.SPAN_COMPLETED and event.payload.get("result") == "success"
    return event.type not in _NEVER and not succeeded


def _newest(events: Sequence[SessionEvent], limits: tuple[int, int]) -> list[SessionEvent]:
    left = {True: limits[0], False: limits[1]}
    kept: list[SessionEvent] = []
    for event in reversed(events):
        spoken = event.type in CONVERSATION
        if left[spoken] > 0:
            left[spoken] -= 1
            kept.append(event)
    return kept[::-1]


def _record(event: SessionEvent, edits: Edits) -> str:
    """Further lines are indented, so that no text can pass for a record of its own."""
    if event.type == SessionEventType.USER_MESSAGE:
        said = f"person: {edits.text(event)}"
    elif event.type == SessionEventType.AGENT_MESSAGE:
        said = f"you: {edits.text(event)}"
    else:
        said = f"note: {as_note(event)}"
    return escape(f"[{event.created_at}] {said.strip()}").replace("\n", "\n  ")


def _fit(records: list[tuple[SessionEvent, str]], room: int) -> list[tuple[SessionEvent, str]]:
    """First the newest messages, shortened to half of the room each, then everything else that fits, newest first."""
    spoken = [index for index, (event, _) in enumerate(records) if event.type in CONVERSATION]
    kept: dict[int, str] = {}
    left = max(room, 0)
    for index in spoken[-ALWAYS_KEPT:]:
        kept[index] = clip(records[index][1], max(room, 0) // ALWAYS_KEPT - 1)
        left -= len(kept[index]) + 1
    for index in reversed(range(len(records))):
        size = len(records[index][1]) + 1
        if index not in kept and size <= left:
            kept[index] = records[index][1]
            left -= size
    return [(records[index][0], kept[index]) for index in sorted(kept)]
