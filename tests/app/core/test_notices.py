"""What a run tells the person beside its answer: in order, each once, whatever way the events come."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from holaboss_app.core.reducer import LONGEST_NOTICE, MOST_NOTICES, RunNotice, TurnState
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.notice_line import NoticeLine
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_client.events import OutputEvent
from tests.support.conversations import Events

NEEDED = {
    "code": "mcp_needs_consent",
    "message": "The MCP server files is left out of this run.",
    "mcp_server_id": "files",
    "state": "needs_consent",
}


def state_of(events: list[OutputEvent]) -> TurnState:
    state = TurnState("i1", "hello")
    state.extend(events)
    return state


def test_notices_are_kept_in_order_and_once() -> None:
    events = Events("i1")
    run = [*events.started(), events.event("run_notice", **NEEDED), events.event("run_notice", **NEEDED)]
    run += [
        events.event("run_notice", code="other", message="Two\nlines"),
        events.delta("Hi"),
        events.completed(),
    ]
    expected = [
        RunNotice("mcp_needs_consent", NEEDED["message"], "files", "needs_consent"),
        RunNotice("other", "Two lines"),
    ]
    assert state_of(run).notices == expected
    for seed in range(20):
        mixed = [*run, *run]
        random.Random(seed).shuffle(mixed)
        assert state_of(mixed).notices == expected


def test_another_attempt_says_its_own() -> None:
    events = Events("i1")
    first = [*events.started(), events.event("run_notice", code="a", message="Of the first attempt.")]
    again = events.event("run_retrying", attempt=1, attempts=3, delay_s=1, message="429")
    second = [*events.started(), events.event("run_notice", code="b", message="Of the second attempt.")]
    for run in ([*first, again, *second], [*second, again, *first], [again, *first, *second]):
        assert [notice.code for notice in state_of(run).notices] == ["b"]


def test_notices_are_bounded_and_nonsense_is_none() -> None:
    events = Events("i1")
    run = [
        events.event("run_notice", code="n", message=f"{n} " + "x" * 5_000) for n in range(MOST_NOTICES + 9)
    ]
    forwards, backwards = state_of(run).notices, state_of(run[::-1]).notices
    assert forwards == backwards
    assert len(forwards) == MOST_NOTICES
    assert forwards[-1].message.startswith(f"{MOST_NOTICES + 8} ")
    assert max(len(notice.message) for notice in forwards) == LONGEST_NOTICE
    assert state_of([events.event("run_notice"), events.event("run_notice", message=None)]).notices == []


@pytest.fixture
def turn(qtbot: QtBot) -> Iterator[TurnWidget]:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(500, 400)
    turn = TurnWidget(window, Lexing(window))
    turn.resize(500, 400)
    window.show()
    turn.show()
    yield turn
    turn.unbind()


def lines(turn: TurnWidget) -> list[NoticeLine]:
    return [line for line in turn.findChildren(NoticeLine) if line.isVisibleTo(turn)]


def test_a_turn_shows_them_above_the_answer_with_the_way_out(turn: TurnWidget, qtbot: QtBot) -> None:
    events = Events("i1")
    run = [*events.started(), events.event("run_notice", **NEEDED)]
    run += [events.event("run_notice", code="skills", message="One skill is left out.")]
    run += [events.delta("The answer."), events.completed()]
    turn.bind(state_of(run), set())
    height = turn.arrange(480)
    about_server, about_skills = lines(turn)
    assert about_server.accessibleName() == NEEDED["message"]
    assert about_server.link.isVisibleTo(about_server)
    assert not about_skills.link.isVisibleTo(about_skills)
    assert about_server.geometry().bottom() <= about_skills.geometry().top()
    wanted: list[str] = []
    turn.settings_requested.connect(wanted.append)
    about_server.link.setFocus()
    qtbot.keyClick(about_server.link, Qt.Key.Key_Space)
    assert wanted == ["connections"]

    plain = Events("i2")
    turn.bind(state_of([*plain.started(), plain.delta("The answer."), plain.completed()]), set())
    assert lines(turn) == [], "a widget that is used again shows nothing of the turn before"
    assert turn.arrange(480) < height
