"""Joining deltas: many small pieces of one part become one event that says the same.

Live streams, history pages and the compaction of old rows all use this one function, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holaboss_client.events import DELTA_EVENTS, OutputEvent


def coalesce(events: Iterable[OutputEvent]) -> list[OutputEvent]:
    """Join consecutive deltas of one part where one continues the other.

    A joined event has the id, sequence and time of its last piece (a stream resumes after it) and the offset
    of its first.
    """
    joined: list[OutputEvent] = []
    run: list[OutputEvent] = []
    end = 0
    for event in events:
        if run and _continues(run[-1], event, end):
            run.append(event)
        else:
            _flush(run, joined)
            run = [event]
            end = _offset(event) or 0
        end += len(_delta(event))
    _flush(run, joined)
    return joined


def _continues(before: OutputEvent, event: OutputEvent, end: int) -> bool:
    return (
        event.event_type in DELTA_EVENTS
        and event.event_type == before.event_type
        and event.input_id == before.input_id
        and event.payload.get("content_index") == before.payload.get("content_index")
        and _offset(event) == end
    )


def _flush(run: list[OutputEvent], joined: list[OutputEvent]) -> None:
    if len(run) < 2:
        joined += run
        return
    payload: dict[str, Any] = {**run[0].payload, "delta": "".join(_delta(event) for event in run)}
    joined.append(run[-1].model_copy(update={"payload": payload}))


def _delta(event: OutputEvent) -> str:
    delta = event.payload.get("delta")
    return delta if isinstance(delta, str) and event.event_type in DELTA_EVENTS else ""


def _offset(event: OutputEvent) -> int | None:
    offset = event.payload.get("offset")
    return offset if isinstance(offset, int) else None
