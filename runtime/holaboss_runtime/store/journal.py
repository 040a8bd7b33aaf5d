"""The lines of the journals under `.openboa`: rows of the database in the spelling of the files, and back.

Pure functions over plain data. The files spell fields in camelCase and lay the payload of an event flat beside its
base fields. A payload that cannot be spelt that way and read back the same lies in the object `verbatim`, so that
whatever stands in the database can be made again from the file.

`seq` in a line of `events.jsonl` is the number of the event the line is about (`session_events.seq`): it rises over
the appended lines of a file and stays the same when the file is written anew. The order of the lines is the order in
which things happened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from holaboss_client.agents import ScheduledWake, SessionEvent, SessionEventType

APPENDED = "session.event.appended"
PROCESSED = "session.event.processed"
ENQUEUED = "session.wake.enqueued"
COMPLETED = "session.wake.completed"
LEARNED = "runtime.learning.captured"
ACTIVATION = "activation."

VERBATIM = "verbatim"
_OUTCOME = ("title", "detail", "successCriteria")
_BASE = frozenset({"id", "type", "createdAt", "processedAt", "wakeId", VERBATIM})
_KNOWN_TYPES = frozenset(str(member) for member in SessionEventType)
_RENAMED = {str(SessionEventType.USER_MESSAGE): {"text": "message"}}

_UNDERSCORE = re.compile(r"_([a-z])")
_CAPITAL = re.compile(r"[A-Z]")

Fields = dict[str, Any]


def is_known(event_type: str) -> bool:
    """Whether this program knows what an event of the type means."""
    return event_type in _KNOWN_TYPES


def camel(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


def snake(name: str) -> str:
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)


def event_record(event: SessionEvent) -> Fields:
    """The line that an event is in the log."""
    fields: Fields = {
        "id": event.event_id,
        "type": event.type,
        "createdAt": event.created_at,
        "processedAt": event.processed_at,
        "wakeId": event.wake_id,
    }
    return {
        "kind": APPENDED,
        "sessionId": event.session_id,
        "seq": event.seq,
        "event": fields | payload_fields(event.type, event.payload),
    }


def processed_record(event: SessionEvent) -> Fields:
    """The line that an event is not pending any more, and which wake took it."""
    return {
        "kind": PROCESSED,
        "sessionId": event.session_id,
        "seq": event.seq,
        "eventId": event.event_id,
        "processedAt": event.processed_at,
        "wakeId": event.wake_id,
    }


def payload_fields(event_type: str, payload: Mapping[str, Any]) -> Fields:
    """A payload as it lies beside the base fields of an event. Only names change, never what a person, a model or a
    tool wrote; fields of a type nobody knows keep their names."""
    fields = _spelt(event_type, payload)
    if fields.keys() & _BASE or payload_of(event_type, fields) != payload:
        return {VERBATIM: dict(payload)}
    return fields


def payload_of(event_type: str, fields: Mapping[str, Any]) -> Fields:
    """The payload that `payload_fields` was given, or the one that a file of another program means."""
    verbatim: object = fields.get(VERBATIM)
    payload = {name: value for name, value in fields.items() if name not in _BASE}
    if is_known(event_type):
        payload = _read(event_type, payload)
    return payload | cast("Fields", verbatim) if isinstance(verbatim, dict) else payload


def _spelt(event_type: str, payload: Mapping[str, Any]) -> Fields:
    if not is_known(event_type):
        return dict(payload)
    names = _RENAMED.get(event_type, {})
    fields = {names.get(name) or camel(name): value for name, value in payload.items()}
    if event_type == SessionEventType.USER_DEFINE_OUTCOME:
        outcome = {name: fields.pop(name) for name in _OUTCOME if name in fields}
        fields |= {"outcome": outcome} if outcome else {}
    if event_type == SessionEventType.SESSION_WAKE_DUE and _all_objects(fields.get("wakes")):
        fields["wakes"] = [{camel(name): value for name, value in wake.items()} for wake in fields["wakes"]]
    return fields


def _read(event_type: str, fields: Fields) -> Fields:
    if event_type == SessionEventType.USER_DEFINE_OUTCOME and isinstance(fields.get("outcome"), dict):
        outcome = cast("Fields", fields["outcome"])
        fields = {name: value for name, value in fields.items() if name != "outcome"} | outcome
    names = {spelt: name for name, spelt in _RENAMED.get(event_type, {}).items()}
    payload = {names.get(spelt) or snake(spelt): value for spelt, value in fields.items()}
    if event_type == SessionEventType.SESSION_WAKE_DUE and _all_objects(payload.get("wakes")):
        payload["wakes"] = [{snake(name): value for name, value in wake.items()} for wake in payload["wakes"]]
    return payload


def enqueued_record(wake: ScheduledWake) -> Fields:
    return {
        "kind": ENQUEUED,
        "sessionId": wake.session_id,
        "wake": {
            "id": wake.id,
            "sessionId": wake.session_id,
            "createdAt": wake.created_at,
            "dueAt": wake.due_at,
            "reason": wake.reason,
            "note": wake.note,
            "dedupeKey": wake.dedupe_key,
            "priority": wake.priority,
        },
    }


def completed_record(wake: ScheduledWake) -> Fields:
    return {
        "kind": COMPLETED,
        "sessionId": wake.session_id,
        "wakeId": wake.id,
        "completedAt": wake.completed_at,
        "outcome": wake.outcome,
    }


def learning_record(row: Mapping[str, Any]) -> Fields:
    """`row` is a row of `learnings`."""
    return {
        "kind": LEARNED,
        "id": row["id"],
        "agentId": row["agent_id"],
        "createdAt": row["created_at"],
        "sessionId": row["session_id"],
        "sourceEventId": row["wake_id"],
        "sourceReason": row["source_reason"],
        "learning": {
            "kind": row["kind"],
            "title": row["title"],
            "detail": row["detail"],
            "promoteToMemory": bool(row["promote"]),
            "dedupeKey": row["dedupe_key"],
        },
    }


def activation_record(row: Mapping[str, Any], payload: Mapping[str, Any]) -> Fields:
    """`row` is a row of `activations`."""
    return {
        "kind": f"{ACTIVATION}{row['kind']}",
        "createdAt": row["created_at"],
        "claimId": row["claim_id"],
        "agentId": row["agent_id"],
        "sessionId": row["session_id"],
        **payload,
    }


def _all_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in cast("list[object]", value))
