"""Cards above the composer: what they offer, by mouse and by keyboard, and that nothing is decided by accident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPlainTextEdit, QPushButton, QWidget

from holaboss_app.core.requests import Request
from holaboss_app.panes.chat.request_dock import RequestDock
from holaboss_client.agents import DecideAction
from holaboss_client.permissions import RuleText

Show = Callable[..., None]
RULE = RuleText(tool="bash", command="git push")
QUESTION: dict[str, Any] = {"question": "Which?", "options": [{"label": "Red"}, {"label": "Blue"}]}


@pytest.fixture
def dock(show: Show) -> RequestDock:
    window = QWidget()
    dock = RequestDock(window)
    show(window, 700, 600)
    dock.resize(680, 300)
    window.activateWindow()
    return dock


def decisions(dock: RequestDock) -> list[tuple[str, dict[str, Any]]]:
    made: list[tuple[str, dict[str, Any]]] = []

    def note(request_id: str, decision: DecideAction) -> None:
        made.append((request_id, decision.model_dump(exclude_unset=True)))

    dock.decided.connect(note)
    return made


def approval(request_id: str = "1", command: str = "git push origin") -> Request:
    return Request(request_id, "confirmation", "bash", {"command": command}, "It asks first.", (RULE,))


def question(**more: Any) -> Request:
    return Request("q", "question", "question", QUESTION | more)


def button(dock: RequestDock, name: str) -> QPushButton:
    found = [each for each in dock.findChildren(QPushButton, name) if each.isVisible()]
    assert found, f"{name} is not there"
    return found[0]


def press(key: Qt.Key, *, held: bool = False) -> None:
    focus = QApplication.focusWidget()
    assert focus is not None
    if held:
        none = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(focus, QKeyEvent(QEvent.Type.KeyPress, key, none, "", True))
    else:
        QTest.keyClick(focus, key)


def test_allowing_once(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([approval()])
    button(dock, "request-allow").click()
    assert made == [("1", {"allowed": True})]


def test_the_keyboard_is_not_taken_from_whoever_types(dock: RequestDock) -> None:
    field = QLineEdit(dock.window())
    field.show()
    field.setFocus()
    dock.show_requests([approval()])
    assert QApplication.focusWidget() is field


def test_by_keyboard_alone(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([approval()])
    dock.focus_first()
    press(Qt.Key.Key_Return, held=True)
    assert made == [], "a key that is held down decides nothing"
    order = []
    for _ in range(4):
        focus = QApplication.focusWidget()
        order.append(focus.objectName() if focus else "")
        press(Qt.Key.Key_Tab)
    assert order == ["request-allow", "request-always", "request-deny", "request-edit"]
    dock.focus_first()
    press(Qt.Key.Key_Return)
    assert made == [("1", {"allowed": True})]


def test_escape_goes_back_without_a_decision(dock: RequestDock) -> None:
    made, left = decisions(dock), []
    dock.left.connect(lambda: left.append(True))
    dock.show_requests([approval()])
    dock.focus_first()
    press(Qt.Key.Key_Escape)
    assert (left, made) == ([True], [])


def test_denying_asks_what_to_do_instead(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([approval()])
    button(dock, "request-deny").click()
    assert made == []
    QTest.keyClicks(QApplication.focusWidget(), "Ask again tomorrow")
    press(Qt.Key.Key_Return)
    assert made == [("1", {"allowed": False, "note": "Ask again tomorrow"})]


def test_editing_before_allowing(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([approval()])
    button(dock, "request-edit").click()
    text = dock.findChild(QPlainTextEdit, "request-text")
    assert QApplication.focusWidget() is text
    text.setPlainText("git push fork")
    assert not [each for each in dock.findChildren(QPushButton, "request-always") if each.isVisible()]
    button(dock, "request-allow").click()
    assert made == [("1", {"allowed": True, "input": {"command": "git push fork"}})]


def test_arguments_that_are_no_json_are_not_sent(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([Request("1", "confirmation", "mcp__git__push", {"remote": "origin"})])
    button(dock, "request-edit").click()
    dock.findChild(QPlainTextEdit, "request-text").setPlainText("{")
    button(dock, "request-allow").click()
    assert made == []
    button(dock, "request-deny")


def test_keeping_a_rule(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([approval()])
    button(dock, "request-always").click()
    menu = dock.findChild(QMenu)
    (entry,) = menu.actions()
    assert entry.text() == "Commands that begin with “git push”"
    entry.trigger()
    menu.close()
    ((_, decision),) = made
    assert decision["remember"]["command"] == "git push"


def test_numbers_choose_and_return_answers(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([question()])
    dock.focus_first()
    press(Qt.Key.Key_1)
    press(Qt.Key.Key_2)
    press(Qt.Key.Key_Return)
    assert made == [("q", {"output": {"options": ["Blue"], "text": ""}})]


def test_several_options_where_they_are_allowed(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([question(allow_multiple=True)])
    dock.focus_first()
    press(Qt.Key.Key_1)
    press(Qt.Key.Key_2)
    button(dock, "request-send").click()
    assert made == [("q", {"output": {"options": ["Red", "Blue"], "text": ""}})]


def test_an_answer_in_words_and_skipping(dock: RequestDock) -> None:
    made = decisions(dock)
    dock.show_requests([question(options=None)])
    assert not button(dock, "request-send").isEnabled()
    dock.focus_first()
    QTest.keyClicks(QApplication.focusWidget(), "12 green ones")
    press(Qt.Key.Key_Return)
    button(dock, "request-skip").click()
    assert [decision["output"] for _, decision in made] == [
        {"options": [], "text": "12 green ones"},
        {"options": [], "text": ""},
    ]


def test_several_stand_below_each_other_and_are_decided_alone(dock: RequestDock) -> None:
    made = decisions(dock)
    first, second = approval("1"), approval("2", "git push fork")
    dock.show_requests([first, second])
    card = dock.card("2")
    assert card is not None
    card.findChild(QPushButton, "request-allow").click()
    assert made == [("2", {"allowed": True})]
    dock.show_requests([first])
    assert dock.requests == ["1"]
    dock.show_requests([])
    assert not dock.isVisible()


def test_what_somebody_types_survives_a_new_request(dock: RequestDock) -> None:
    dock.show_requests([question()])
    field = dock.findChild(QLineEdit, "request-answer")
    field.setText("half an ans")
    dock.show_requests([question(), approval()])
    assert field.text() == "half an ans"
    assert field.isVisible()
