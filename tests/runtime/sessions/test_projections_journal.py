"""Events as lines and back: nothing that a payload can hold is changed on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_client.agents import SessionEvent, SessionEventType
from holaboss_client.base import new_id
from holaboss_runtime.sessions.projections.journals import EventJournal
from holaboss_runtime.store import journal

TYPES = [*map(str, SessionEventType), "vendor.note_taken", ""]
BASE_KEYS = ["id", "type", "created_at", "createdAt", "processed_at", "wake_id", "verbatim"]
PAYLOAD_KEYS = [
    "text",
    "message",
    "input_id",
    "inputId",
    "outcome",
    "title",
    "success_criteria",
    "wakes",
    "tool_name",
]
KEYS = st.sampled_from([*BASE_KEYS, *PAYLOAD_KEYS, "_x", "a__b", "a_1", "A", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(KEYS | st.text(max_size=6), JSON, max_size=6)


def _event(event_type: str, payload: dict[str, Any], *, processed: str | None = None) -> SessionEvent:
    return SessionEvent(
        seq=1,
        event_id=new_id(),
        session_id="s",
        type=event_type,
        created_at="2025-01-01T00:00:00.000Z",
        processed_at=processed,
        wake_id=None,
        payload=payload,
    )


@given(event_type=st.sampled_from(TYPES), payload=PAYLOADS)
def test_any_payload_comes_back(event_type: str, payload: dict[str, Any]) -> None:
    event = _event(event_type, payload)

    line = json.loads(json.dumps(journal.event_record(event)))

    assert line["event"]["id"] == event.event_id
    assert line["event"]["type"] == event_type
    assert journal.payload_of(event_type, line["event"]) == payload


@given(event_type=st.sampled_from(TYPES), fields=PAYLOADS)
def test_whatever_a_file_says_is_kept_and_read_the_same_again(
    event_type: str, fields: dict[str, Any]
) -> None:
    payload = journal.payload_of(event_type, fields)

    again = journal.payload_of(event_type, journal.payload_fields(event_type, payload))

    assert again == payload


@pytest.mark.parametrize(
    ("event_type", "payload", "fields"),
    [
        ("user.message", {"text": "hi", "thinking_value": "low"}, {"message": "hi", "thinkingValue": "low"}),
        (
            "user.define_outcome",
            {"title": "t", "detail": None, "success_criteria": ["a"]},
            {"outcome": {"title": "t", "detail": None, "successCriteria": ["a"]}},
        ),
        (
            "agent.tool_use",
            {"tool_name": "write", "input": {"file_path": "a", "newText": "b"}},
            {"toolName": "write", "input": {"file_path": "a", "newText": "b"}},
        ),
        (
            "session.wake_due",
            {"wakes": [{"id": "1", "due_at": "x"}], "text": "t"},
            {"wakes": [{"id": "1", "dueAt": "x"}], "text": "t"},
        ),
        ("user.message", {"text": "a", "message": "b"}, {"verbatim": {"text": "a", "message": "b"}}),
    ],
)
def test_the_spelling_of_the_files(event_type: str, payload: dict[str, Any], fields: dict[str, Any]) -> None:
    assert journal.payload_fields(event_type, payload) == fields
    assert journal.payload_of(event_type, fields) == payload


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), max_size=12), st.data())
def test_any_first_part_of_a_log_is_completed_and_no_more(
    shape: list[tuple[bool, bool, int]], data: st.DataObject
) -> None:
    events = [
        SessionEvent(
            seq=number + 1,
            event_id=f"e{number}",
            session_id="s",
            type="user.message" if inbound else "agent.message",
            created_at=f"2025-01-01T00:00:{number:02}.000Z",
            processed_at="2025-01-01T01:00:00.000Z" if done or not inbound else None,
            wake_id=f"w{wake}" if done or not inbound else None,
            payload={"n": number},
        )
        for number, (inbound, done, wake) in enumerate(shape)
    ]
    kept = EventJournal(events)
    lines = kept.lines()
    assert kept.compare(kept.fold(lines)) == kept.compare(kept.fold(lines + lines))
    assert kept.compare(kept.fold(lines)).missing == []
    cut = data.draw(st.integers(0, len(lines)))

    compared = kept.compare(kept.fold(lines[:cut]))

    assert compared.contradictions == []
    whole = kept.compare(kept.fold(lines[:cut] + compared.missing))
    assert (whole.missing, whole.contradictions) == ([], [])
