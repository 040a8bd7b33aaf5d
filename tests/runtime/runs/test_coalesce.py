"""Joining deltas, and folding them: invariant under every way to cut and repeat them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holaboss_client.events import OutputEvent
from holaboss_runtime.runs.coalesce import coalesce
from holaboss_runtime.runs.turn_fold import TurnFold

KINDS = ("output_delta", "thinking_delta", "tool_call")
PARTS = st.lists(st.tuples(st.sampled_from(KINDS), st.text(min_size=1, max_size=30)), min_size=1, max_size=6)


def event(row_id: int, kind: str, index: int, text: str, offset: int) -> OutputEvent:
    payload = (
        {"phase": "completed", "call_id": f"c{index}", "tool_name": text, "content_index": index}
        if kind == "tool_call"
        else {"delta": text, "content_index": index, "offset": offset, "delta_kind": kind}
    )
    return OutputEvent(
        id=row_id,
        workspace_id="w",
        session_id="s",
        input_id="i",
        sequence=row_id,
        event_type=kind,
        created_at="2026-01-01T00:00:00.000Z",
        payload=payload,
    )


def cut(parts: list[tuple[str, str]], draw: st.DataObject) -> list[OutputEvent]:
    events: list[OutputEvent] = []
    for index, (kind, text) in enumerate(parts):
        rest, offset = text, 0
        while rest:
            size = len(rest) if kind == "tool_call" else draw.draw(st.integers(1, len(rest)))
            events.append(event(len(events) + 1, kind, index, rest[:size], offset))
            rest, offset = rest[size:], offset + size
    return events


def content(events: list[OutputEvent]) -> list[tuple[str, object, object]]:
    return [(e.event_type, e.payload.get("delta"), e.payload.get("offset")) for e in events]


@given(PARTS, st.data())
def test_any_cut_joins_to_the_same_events(parts: list[tuple[str, str]], data: st.DataObject) -> None:
    one, other = cut(parts, data), cut(parts, data)
    assert content(coalesce(one)) == content(coalesce(other))
    assert len(coalesce(one)) == len(parts)
    assert coalesce(one)[-1].id == one[-1].id
    assert coalesce(coalesce(one)) == coalesce(one)


@given(PARTS, st.data())
def test_joining_in_windows_ends_the_same(parts: list[tuple[str, str]], data: st.DataObject) -> None:
    events = cut(parts, data)
    middle = data.draw(st.integers(0, len(events)))
    windows = coalesce(events[:middle]) + coalesce(events[middle:])
    assert content(coalesce(windows)) == content(coalesce(events))


@given(PARTS, st.data())
def test_the_fold_ignores_what_it_has_seen(parts: list[tuple[str, str]], data: st.DataObject) -> None:
    events = cut(parts, data)
    resumed = data.draw(st.integers(0, len(events) - 1))
    repeated = TurnFold.of([*events, *coalesce(events[resumed:])])
    once = TurnFold.of(events)
    assert repeated.assistant_text == once.assistant_text
    assert repeated.steps == once.steps
    texts = [text.strip() for kind, text in parts if kind == "output_delta"]
    assert once.assistant_text == "\n\n".join(text for text in texts if text)


def test_a_gap_is_not_joined_over() -> None:
    events = [event(1, "output_delta", 0, "ab", 0), event(2, "output_delta", 0, "ef", 4)]
    assert coalesce(events) == events


def test_deltas_of_two_inputs_are_not_joined() -> None:
    first = event(1, "output_delta", 0, "ab", 0)
    second = event(2, "output_delta", 0, "cd", 2).model_copy(update={"input_id": "j"})
    assert coalesce([first, second]) == [first, second]
