"""The reducer: the same events give the same turn, in whatever order, portions and repetitions they come."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from holaboss_app.core.reducer import Retry, Status, TextSegment, ToolSegment, TurnState, result_text
from holaboss_client.events import OutputEvent
from tests.support.conversations import Events

ANSWER = "A first line.\n\n- one\n- two 🙂\n\nThe end of it."
THOUGHT = "Let me look at the folder first."


def whole_run() -> list[OutputEvent]:
    events = Events("i1")
    run = [*events.started("gpt-5", "openai_direct")]
    run += [events.delta(piece, 0, thinking=True) for piece in (THOUGHT[:5], THOUGHT[5:20], THOUGHT[20:])]
    run += events.tool(1, "bash", {"command": "ls"}, "a.txt\nb.txt")
    run += [events.delta(piece, 2) for piece in (ANSWER[:7], ANSWER[7:8], ANSWER[8:30], ANSWER[30:])]
    run += events.tool(3, "read", {"path": "nope"}, "no such file", error=True)
    run.append(events.completed())
    return run


def merged_neighbours(events: list[OutputEvent]) -> list[OutputEvent]:
    """What a coalescing stream makes of the same events: consecutive deltas of one part joined, last id
    wins."""
    result: list[OutputEvent] = []
    for event in events:
        last = result[-1] if result else None
        same = (
            last is not None and event.event_type.endswith("_delta") and last.event_type == event.event_type
        )
        if last is not None and same and last.payload["content_index"] == event.payload["content_index"]:
            payload = {**last.payload, "delta": last.payload["delta"] + event.payload["delta"]}
            result[-1] = event.model_copy(update={"payload": payload})
        else:
            result.append(event)
    return result


def reduced(events: list[OutputEvent]) -> TurnState:
    state = TurnState("i1", "hello")
    state.extend(events)
    return state


def picture(state: TurnState) -> dict[str, Any]:
    return {
        "segments": [
            (s.content_index, s.thinking, s.text)
            if isinstance(s, TextSegment)
            else (s.content_index, s.call_id, s.name, dict(s.arguments), s.result, s.state)
            for s in state.segments
        ],
        "status": state.status,
        "model": (state.provider_id, state.model_id),
        "error": state.error,
        "usage": state.usage,
        "times": (state.started_at, state.ended_at),
        "answer": state.answer,
    }


EXPECTED = picture(reduced(whole_run()))


def test_a_run_becomes_segments_in_the_order_they_began() -> None:
    state = reduced(whole_run())
    thought, command, text, reading = state.segments
    assert isinstance(thought, TextSegment)
    assert thought.thinking
    assert thought.text == THOUGHT
    assert isinstance(command, ToolSegment)
    assert (command.name, command.state, command.result) == ("bash", "done", "a.txt\nb.txt")
    assert isinstance(text, TextSegment)
    assert text.text == ANSWER
    assert isinstance(reading, ToolSegment)
    assert reading.state == "failed"
    assert state.status is Status.COMPLETED
    assert state.answer == ANSWER
    assert state.usage is not None
    assert (state.usage.input_tokens, state.usage.output_tokens) == (1840, 356)
    assert state.duration_s == 13.0


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_order_repetition_and_merging_gives_the_same_turn(data: st.DataObject) -> None:
    events = whole_run() + (merged_neighbours(whole_run()) if data.draw(st.booleans()) else [])
    repeated = events + data.draw(st.lists(st.sampled_from(events), max_size=8))
    assert picture(reduced(data.draw(st.permutations(repeated)))) == EXPECTED


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12))
def test_a_page_and_the_live_stream_may_overlap_anywhere(page_end: int, live_start: int) -> None:
    run = whole_run()
    live_start = min(live_start, page_end)
    state = reduced(run[live_start:])
    state.extend(merged_neighbours(run[:page_end]))
    assert picture(state) == EXPECTED


def test_text_behind_a_gap_is_held_until_the_gap_is_filled() -> None:
    events = Events("i1")
    first, second, third = (events.delta(text) for text in ("one ", "two ", "three"))
    state = reduced([first, third])
    assert state.answer == "one "
    state.apply(second)
    assert state.answer == "one two three"


def retried_run() -> list[OutputEvent]:
    events = Events("i1")
    run = [*events.started(), events.delta("half a thou", 0, thinking=True)]
    run.append(
        events.event(
            "run_retrying", attempt=2, attempts=4, delay_s=1.5, message="The provider is overloaded."
        )
    )
    again = Events("i1", first_id=100, first_sequence=11)
    return [*run, *again.started(), again.delta("Answer", 0), again.completed()]


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(8)))
def test_a_new_attempt_voids_what_the_earlier_one_produced(order: list[int]) -> None:
    run = retried_run()
    state = reduced([run[at] for at in order])
    assert [segment.text for segment in state.segments if isinstance(segment, TextSegment)] == ["Answer"]
    assert state.status is Status.COMPLETED


def test_while_it_is_retried_it_is_known_why_when_and_how_often() -> None:
    state = reduced(retried_run()[:4])
    assert state.status is Status.RETRYING
    assert state.retry == Retry(attempt=3, attempts=4, delay_s=1.5, message="The provider is overloaded.")
    assert state.segments == []
    assert reduced(retried_run()).retry is None


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(5)))
def test_a_failed_run_is_the_same_in_any_order(order: list[int]) -> None:
    events = Events("i1")
    run = [*events.started(), *events.tool(0, "bash", {"command": "sleep 9"}, None), events.delta("a", 1)]
    run.append(events.failed("interrupted", "Cut off."))
    assert picture(reduced([run[at] for at in order])) == picture(reduced(run))


def test_a_failure_keeps_what_was_said_and_names_who_failed() -> None:
    events = Events("i1")
    tool = list(events.tool(1, "bash", {"command": "sleep 9"}, None))
    state = reduced([*events.started(), events.delta("So far"), *tool, events.failed("bad_key", "Refused.")])
    assert state.answer == "So far"
    assert state.error is not None
    assert (state.error.code, state.error.message) == ("bad_key", "Refused.")
    assert (state.error.provider_id, state.error.model_id) == ("openai_direct", "gpt-5")
    assert [s.state for s in state.segments if isinstance(s, ToolSegment)] == ["interrupted"]


def test_a_tool_that_completes_after_the_terminal_event_arrived_is_still_done() -> None:
    events = Events("i1")
    started, completed = events.tool(0, "ls", {"path": "."}, "a.txt")
    end = events.completed()
    state = reduced([started, end, completed])
    assert [s.state for s in state.segments if isinstance(s, ToolSegment)] == ["done"]


def test_a_blocked_call_waits_also_when_its_run_is_over() -> None:
    events = Events("i1")
    started, completed = events.tool(0, "bash", {"command": "make"}, "")
    blocked = completed.model_copy(update={"payload": started.payload | {"phase": "blocked"}})
    for order in ([started, blocked, events.completed()], [blocked, started, events.completed()]):
        state = reduced(order)
        assert [s.state for s in state.segments if isinstance(s, ToolSegment)] == ["waiting"]


def test_a_stopped_run_is_final() -> None:
    events = Events("i1")
    state = reduced([*events.started(), events.delta("So f"), events.completed("paused")])
    assert (state.status, state.is_final) == (Status.PAUSED, True)


def test_unknown_events_change_nothing() -> None:
    events = Events("i1")
    run = [*events.started(), events.delta("x")]
    state = reduced([*run, events.event("something_of_the_future", anything=1)])
    assert picture(state) == picture(reduced(run))


def test_results_of_every_shape_become_text() -> None:
    assert result_text({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}) == "a"
    assert result_text("plain") == "plain"
    assert result_text(None) == ""
    assert result_text(7) == "7"
