"""Rows of the database from the files of one session. Pure; ids and numbers in use are the importer's business."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_client.agents import INBOUND
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.projections.adoption_waiting import action_rows, waking_rows
from holaboss_runtime.sessions.projections.documents import FILE_KEYS, SESSION_KEYS, checkpoint_row
from holaboss_runtime.sessions.projections.reading import SessionFiles
from holaboss_runtime.sessions.projections.values import count_of, object_of, text_of, time_of
from holaboss_runtime.store import inputs, journal, pending_actions
from holaboss_runtime.store.json_text import encode, encode_optional
from holaboss_runtime.store.messages import assistant_message_id, user_message_id
from holaboss_runtime.store.sessions import (
    AGENT_SESSION,
    ALL,
    HOLD_USER_PAUSE,
    IDLE,
    ONE,
    REQUIRES_ACTION,
    RESCHEDULING,
    RUNNING,
    TERMINATED,
)

Fields = dict[str, Any]
STATUSES = frozenset({IDLE, RUNNING, RESCHEDULING, REQUIRES_ACTION, TERMINATED})
TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session belongs, as the importer found out. `resources` are rows of the session."""

    workspace_id: str
    environment_id: str | None
    resources: list[Fields]
    notes: Fields
    """What could not be taken over, for the metadata of the session."""


@dataclass(slots=True)
class Adoption:
    """Rows by table, in the order in which they can be inserted. Events have no `seq` yet."""

    session: Fields
    events: list[Fields]
    inputs: list[Fields]
    wakes: list[Fields]
    actions: list[Fields]
    messages: list[Fields]
    checkpoint: Fields | None


def adopt(files: SessionFiles, place: Place, now: str) -> Adoption:
    document = files.document or {}
    events = _events(files, now)
    ended = document.get("status") == TERMINATED
    dropped: set[str] = set()
    for event in events:
        if ended and event["processed_at"] is None:
            # Nothing is run in a session that ended, so nothing may wait in it.
            event["processed_at"] = now
            dropped.add(event["event_id"])
    actions = [] if ended else action_rows(files, events, now)
    wakes = waking_rows(files, now, ended=ended)
    waiting = any(event["processed_at"] is None for event in events)
    session = _session(files, place, events, now)
    session["status"] = _status(document, actions=actions, waiting=waiting, wakes=wakes)
    return Adoption(
        session=session,
        events=events,
        inputs=_inputs(files.session_id, place.workspace_id, events, dropped),
        wakes=wakes,
        actions=actions,
        messages=_messages(files.session_id, place.workspace_id, events),
        checkpoint=_checkpoint(files, now),
    )


def _session(files: SessionFiles, place: Place, events: Sequence[Fields], now: str) -> Fields:
    document = files.document or {}
    own = object_of(document.get("holaboss"))
    metadata = object_of(document.get("metadata"))
    parent: object = metadata.pop("parentSessionId", None)
    extra = {name: value for name, value in document.items() if name not in SESSION_KEYS}
    created = time_of(document.get("createdAt")) or (str(events[0]["created_at"]) if events else now)
    checkpoint = files.checkpoint or {}
    follow_ups: object = own.get("followUps", checkpoint.get("consecutiveFollowUps"))
    return {
        "session_id": files.session_id,
        "workspace_id": place.workspace_id,
        "kind": text_of(own.get("kind")) or AGENT_SESSION,
        "title": text_of(own.get("title")) or (None if own else _first_words(events)),
        "parent_session_id": text_of(parent),
        "created_by": text_of(own.get("createdBy")) or "import",
        "status": IDLE,
        "stop_reason": text_of(document.get("stopReason")),
        "hold": HOLD_USER_PAUSE if own.get("hold") == HOLD_USER_PAUSE else None,
        "last_error": encode_optional(object_of(own.get("lastError")) or None),
        "coalesce": ONE if own.get("coalesce") == ONE else ALL,
        "turns": count_of(object_of(document.get("usage")).get("turns")),
        "harness_session_id": text_of(own.get("harnessSessionId")) or files.session_id,
        "row_version": count_of(document.get("rowVersion")),
        "created_at": created,
        "updated_at": time_of(document.get("updatedAt")) or created,
        "archived_at": time_of(own.get("archivedAt")),
        "agent_id": files.agent_id,
        "environment_id": place.environment_id,
        "resources": encode(place.resources),
        "metadata": encode(metadata | place.notes | ({FILE_KEYS: extra} if extra else {})),
        "follow_ups": count_of(follow_ups),
    }


def _status(document: Fields, *, actions: Sequence[Fields], waiting: bool, wakes: Sequence[Fields]) -> str:
    """The stored word. Whoever was running is gone, and a word that nothing stands behind is corrected."""
    stated = document.get("status")
    if stated == TERMINATED:
        return TERMINATED
    if any(action["status"] == pending_actions.OPEN for action in actions):
        return REQUIRES_ACTION
    if isinstance(document.get("holaboss"), dict) and stated in STATUSES - {RUNNING, REQUIRES_ACTION}:
        return str(stated)
    due_later = any(wake["completed_at"] is None for wake in wakes)
    return RESCHEDULING if waiting or (due_later and stated != IDLE) else IDLE


def _events(files: SessionFiles, now: str) -> list[Fields]:
    rows: list[Fields] = []
    strange: dict[str, int] = {}
    for event_id, event in files.events.items():
        event_type = str(event["type"])
        created = event["created_at"] if time_of(event["created_at"]) else now
        processed = event["processed_at"] if time_of(event["processed_at"]) else None
        if event_type not in INBOUND:
            # Only what asks for something can wait.
            processed = processed or created
        if not journal.is_known(event_type):
            strange[event_type] = strange.get(event_type, 0) + 1
        rows.append(
            {
                "event_id": event_id,
                "session_id": files.session_id,
                "type": event_type,
                "payload": event["payload"],
                "wake_id": text_of(event["wake_id"]),
                "created_at": created,
                "processed_at": processed,
                "seq": event["seq"],
            }
        )
    for event_type, count in strange.items():
        sentence = (
            f"{count} events of the type {event_type[:80]!r}, which nobody here knows, are in the log only."
        )
        files.problem(files.path / "events.jsonl", "event_type_unknown", sentence)
    return rows


def _inputs(
    session_id: str, workspace_id: str, events: Sequence[Fields], dropped: Collection[str]
) -> list[Fields]:
    edits = {
        str(event["payload"].get("input_id")): event["payload"].get("text")
        for event in events
        if event["type"] == Event.USER_MESSAGE_EDITED
    }
    cancelled = {
        str(event["payload"].get("input_id"))
        for event in events
        if event["type"] == Event.USER_MESSAGE_CANCELLED
    }
    rows: list[Fields] = []
    for event in events:
        if event["type"] not in INBOUND:
            continue
        event_id = str(event["event_id"])
        edited = edits.get(event_id)
        payload = event["payload"] | ({"text": edited} if isinstance(edited, str) else {})
        status = inputs.QUEUED if event["processed_at"] is None else inputs.DONE
        if event_id in cancelled or event_id in dropped:
            status = inputs.CANCELLED
        rows.append(
            {
                "input_id": event_id,
                "session_id": session_id,
                "workspace_id": workspace_id,
                "event_type": event["type"],
                "payload": encode(payload),
                "status": status,
                "available_at": inputs.AT_ONCE,
                "created_at": event["created_at"],
                "updated_at": event["processed_at"] or event["created_at"],
            }
        )
    return rows


def _messages(session_id: str, workspace_id: str, events: Sequence[Fields]) -> list[Fields]:
    """Both sides of each turn. A reply that does not name its input answers what was taken by the time it was
    written and had no reply yet; it stands with the first of these."""
    rows: list[Fields] = []
    taken: dict[str, str] = {}

    def add(message_id: str, input_id: str, role: str, event: Fields, text: object) -> None:
        rows.append(
            {
                "id": message_id,
                "workspace_id": workspace_id,
                "session_id": session_id,
                "input_id": input_id,
                "role": role,
                "text": text if isinstance(text, str) else "",
                "created_at": event["created_at"],
            }
        )

    for event in events:
        event_id, payload = str(event["event_id"]), event["payload"]
        if event["type"] == Event.USER_MESSAGE and event["processed_at"] is not None:
            add(user_message_id(event_id), event_id, "user", event, payload.get("text"))
            taken[event_id] = event["processed_at"]
        elif event["type"] == Event.AGENT_MESSAGE:
            named = text_of(payload.get("input_id"))
            answered = [named] if named else [key for key, at in taken.items() if at <= event["created_at"]]
            input_id = answered[0] if answered else event_id
            taken = {key: at for key, at in taken.items() if key not in answered}
            add(assistant_message_id(input_id), input_id, "assistant", event, payload.get("message"))
    return rows


def _checkpoint(files: SessionFiles, now: str) -> Fields | None:
    if files.checkpoint is None:
        return None
    document, notes = checkpoint_row(files.checkpoint, files.state, files.buffer)
    return {
        "session_id": files.session_id,
        "wake_id": text_of(document.get("lastWakeId")) or "",
        "document": encode(document),
        "notes": encode(notes),
        "updated_at": time_of(document.get("updatedAt")) or now,
    }


def _first_words(events: Sequence[Fields]) -> str | None:
    for event in events:
        if event["type"] == Event.USER_MESSAGE:
            return preview(str(event["payload"].get("text", "")), TITLE_CHARS) or None
    return None
