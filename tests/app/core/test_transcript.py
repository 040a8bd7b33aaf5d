"""The transcript's data: rows from the index, bodies in pages, turns that are only known here."""

from __future__ import annotations

from holaboss_app.core.heights import Metrics
from holaboss_app.core.transcript import KEPT, PAGE, Transcript
from tests.support.conversations import Events, index, long_conversation

TURNS = long_conversation(100)


def loaded(count: int = 100) -> Transcript:
    transcript = Transcript()
    transcript.take_index(index(TURNS[:count]))
    return transcript


def test_rows_are_there_before_any_body() -> None:
    transcript = loaded()
    assert len(transcript) == 100
    assert transcript.state(0) is None
    assert transcript.position("input-7") == 6


def test_a_hole_is_asked_for_once_and_in_pages() -> None:
    transcript = loaded()
    page = transcript.wanted(90, 95)
    assert page is not None
    assert page.limit <= PAGE
    assert page.from_seq <= 91
    assert page.from_seq + page.limit > 96
    assert transcript.wanted(90, 95) is None
    transcript.forget_requests()
    assert transcript.wanted(90, 95) == page


def test_bodies_fill_their_rows() -> None:
    transcript = loaded()
    assert transcript.take_turns(TURNS[10:12]) == [10, 11]
    state = transcript.state(10)
    assert state is not None
    assert state.text == TURNS[10].text
    assert state.is_final
    assert transcript.wanted(10, 11) is None


def test_a_body_and_live_events_of_the_same_turn_meet_in_one_state() -> None:
    transcript, events = Transcript(), Events("live", first_id=1)
    run = [*events.started(), events.delta("one "), events.delta("two "), events.delta("three")]
    from tests.support.conversations import turn

    transcript.take_index(index([turn(1, "hi", run)], live="live"))
    transcript.apply(run[4])
    assert transcript.state(0) is None
    transcript.take_turns([turn(1, "hi", run[:4])])
    state = transcript.state(0)
    assert state is not None
    assert state.answer == "one two three"


def test_events_of_unknown_inputs_are_refused() -> None:
    assert loaded().apply(Events("stranger").delta("x")) is None


def test_a_message_shown_early_keeps_its_place_and_gets_its_id() -> None:
    transcript = loaded(3)
    transcript.add("provisional", "hello")
    transcript.rename("provisional", "input-4")
    assert transcript.position("provisional") is None
    assert transcript.position("input-4") == 3
    transcript.take_index(index(TURNS[:3]))
    assert transcript.position("input-4") == 3
    transcript.take_index(index(TURNS[:4]))
    assert [row.seq for row in transcript.rows] == [1, 2, 3, 4]
    state = transcript.state(3)
    assert state is not None
    assert state.text == "hello"


def test_a_message_can_be_taken_back() -> None:
    transcript = loaded(3)
    transcript.add("provisional", "hello")
    transcript.remove("provisional")
    assert len(transcript) == 3
    assert transcript.find("provisional") is None


def test_bodies_not_seen_for_long_are_let_go() -> None:
    turns = long_conversation(KEPT + 60, seed=1)
    transcript = Transcript()
    transcript.take_index(index(turns))
    for start in range(0, len(turns), 20):
        transcript.take_turns(turns[start : start + 20])
    held = sum(transcript.find(turn.input_id) is not None for turn in turns)
    assert held <= KEPT
    assert transcript.state(0) is None
    assert transcript.state(len(turns) - 1) is not None
    assert transcript.wanted(0, 3) is not None


def test_a_turn_that_grows_out_of_sight_updates_its_row() -> None:
    transcript = Transcript()
    transcript.add("live", "hi")
    metrics = Metrics(width=700, line_height=20, character_width=7, padding=40, step_height=30)
    before = transcript.rows[0].estimated_height(metrics)
    transcript.apply(Events("live").delta("word " * 400))
    assert transcript.grown("live") == 0
    assert transcript.rows[0].estimated_height(metrics) > before + 100
