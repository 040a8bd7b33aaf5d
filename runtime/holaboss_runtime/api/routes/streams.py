"""Server-sent events: the output of a session, and the change feed of everything a screen shows.

Every frame carries the row id it stands for, so a client that was cut off goes on with `Last-Event-ID`.
A stream ends with an `event: shutdown` when the server stops.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from json.encoder import encode_basestring
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from holaboss_client.base import utc_now
from holaboss_client.events import Change, ChangeEvent
from holaboss_runtime.api.state import State
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.subscription import OutputQuery, Ping, Shutdown
from holaboss_runtime.store.output_events import StoredEvent

router = APIRouter(prefix="/api/v1")

LastEventId = Annotated[str | None, Header(alias="last-event-id")]
_LARGEST_ROW_ID = 2**62
_ROW_ID = re.compile(r"[0-9]{1,19}")


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        super().__init__(frames, headers={"cache-control": "no-store", "x-accel-buffering": "no"})


@router.get("/agent-sessions/{session_id}/outputs/stream", response_class=EventStream)
async def stream_outputs(
    state: State,
    session_id: str,
    workspace_id: str,
    input_id: str | None = None,
    after_event_id: Annotated[int | None, Query(ge=0, le=_LARGEST_ROW_ID)] = None,
    include_history: bool = True,
    stop_on_terminal: bool = True,
    coalesce_ms: Annotated[int, Query(ge=0, le=5000)] = 0,
    last_event_id: LastEventId = None,
) -> EventStream:
    state.sessions.directory.require_if_known(workspace_id, session_id)
    resumed = _row_id(last_event_id)
    after = after_event_id if resumed is None else resumed
    query = OutputQuery(
        session_id=session_id,
        after_id=state.sessions.transcript.position(session_id, after, include_history=include_history),
        input_id=input_id,
        coalesce_s=coalesce_ms / 1000,
        stop_on_terminal=stop_on_terminal,
    )
    return EventStream(_output_frames(state.sessions.follow_outputs(query, state.lifetime)))


@router.get("/events", response_class=EventStream)
async def stream_changes(state: State, last_event_id: LastEventId = None) -> EventStream:
    """The change feed. Without `Last-Event-ID` it begins now."""
    return EventStream(_change_frames(state.sessions.follow_changes(_row_id(last_event_id), state.lifetime)))


async def _output_frames(
    items: AsyncGenerator[list[StoredEvent] | Ping | Shutdown],
) -> AsyncIterator[bytes]:
    yield b": connected\n\n"
    async with aclosing(items):
        async for item in items:
            match item:
                case Ping():
                    yield b": ping\n\n"
                case Shutdown():
                    yield b"event: shutdown\ndata: {}\n\n"
                case _:
                    yield b"".join(_output_frame(event) for event in item)


async def _change_frames(
    items: AsyncGenerator[list[ChangeEvent] | Ping | Shutdown],
) -> AsyncIterator[bytes]:
    yield b": connected\n\n"
    async with aclosing(items):
        async for item in items:
            match item:
                case Ping():
                    yield b": ping\n\n"
                case Shutdown(position):
                    yield _change_frame(ChangeEvent(id=position, kind=Change.SHUTDOWN, created_at=utc_now()))
                case _:
                    yield b"".join(_change_frame(event) for event in item)


def _output_frame(event: StoredEvent) -> bytes:
    """The payload goes out as the text it was stored as."""
    text, created_at = encode_basestring, encode_basestring(event.created_at)
    data = (
        f'{{"id":{event.id},"workspace_id":{text(event.workspace_id)},"session_id":{text(event.session_id)},'
        f'"input_id":{text(event.input_id)},"sequence":{event.sequence},"event_type":{text(event.event_type)},'
        f'"created_at":{created_at},"timestamp":{created_at},"payload":{event.payload_text}}}'
    )
    return _frame(event.event_type, event.id, data)


def _change_frame(event: ChangeEvent) -> bytes:
    return _frame(event.kind, event.id, event.model_dump_json())


def _frame(event: str, row_id: int, data: str) -> bytes:
    return f"event: {event}\nid: {row_id}\ndata: {data}\n\n".encode()


def _row_id(header: str | None) -> int | None:
    if header is None or not header.strip():
        return None
    if not _ROW_ID.fullmatch(header) or int(header) > _LARGEST_ROW_ID:
        raise DomainError(
            "invalid",
            "last_event_id_invalid",
            "Last-Event-ID must be the id of an event of this stream; leave it out to start over.",
        )
    return int(header)
