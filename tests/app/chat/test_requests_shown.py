"""Cards of calls that somebody hostile has written: what they show, and that they and the window stay usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPlainTextEdit, QPushButton, QWidget

from holaboss_app.core.requests import Request
from holaboss_app.core.visible import is_visible
from holaboss_app.panes.chat.request_dock import RequestDock
from holaboss_app.panes.chat.request_words import headline, rule_words
from holaboss_client.permissions import RuleText

Show = Callable[..., None]


@pytest.fixture
def dock(show: Show) -> RequestDock:
    window = QWidget()
    dock = RequestDock(window)
    show(window, 700, 600)
    dock.resize(680, 300)
    return dock


def approval(tool: str = "bash", reason: str = "", **arguments: Any) -> Request:
    return Request("1", "confirmation", tool, arguments, reason)


def allow(dock: RequestDock) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    dock.decided.connect(lambda _id, decision: made.append(decision.model_dump(exclude_unset=True)))
    dock.findChild(QPushButton, "request-allow").click()
    return made


@pytest.mark.parametrize(
    "command", ["ls\rrm", "ls\r\nrm", "rm\xa0-rf", "a\u2028b", "a\ud800b", "a\0b", "\u202els"]
)
def test_allowing_changes_nothing_of_what_was_asked(dock: RequestDock, command: str) -> None:
    dock.show_requests([approval(command=command)])
    assert is_visible(dock.findChild(QPlainTextEdit, "request-text").toPlainText())
    assert allow(dock) == [{"allowed": True}]


def test_a_long_call_says_that_there_is_more(dock: RequestDock) -> None:
    dock.show_requests([approval(command="ls" + "\n" * 300 + "rm -rf .")])
    QApplication.processEvents()
    notes = [label.text() for label in dock.findChildren(QLabel) if label.isVisible()]
    assert "301 lines. Scroll to see the rest." in notes
    dock.show_requests([approval(command="ls")][:0])
    dock.show_requests([Request("2", "confirmation", "bash", {"command": "ls"})])
    QApplication.processEvents()
    assert not [label for label in dock.findChildren(QLabel) if label.isVisible() and "lines" in label.text()]


def test_one_endless_word_does_not_stop_the_window(dock: RequestDock) -> None:
    dock.show_requests([approval(command="a" * 1_000_000)])
    QApplication.processEvents()
    wrapping = dock.findChild(QPlainTextEdit, "request-text").wordWrapMode()
    assert wrapping == QTextOption.WrapMode.WrapAnywhere, "looking for the end of such a word takes minutes"
    assert allow(dock) == [{"allowed": True}]


LONG = {"question": "q" * 4000, "options": [{"label": "x" * 200, "description": "d" * 500}]}
WORDY = {"question": "Why?", "options": [{"label": "word " * 40}], "allow_multiple": True}


@pytest.mark.parametrize(
    "request_",
    [
        Request("1", "question", "question", LONG),
        Request("1", "question", "question", WORDY),
        Request("1", "confirmation", "write", {"path": "p" * 4000, "content": "x"}, "r" * 200),
    ],
)
def test_the_buttons_stay_where_they_can_be_reached(dock: RequestDock, request_: Request) -> None:
    dock.show_requests([request_])
    QApplication.processEvents()
    card = dock.card("1")
    assert card is not None
    assert card.width() <= dock.viewport().width()
    for button in card.findChildren(QPushButton):
        assert not button.isVisible() or button.geometry().right() < dock.viewport().width()


def test_the_heading_is_one_short_line_about_this_very_call() -> None:
    assert headline(approval("write", path="a\n\u202eb\tc")) == "Write a \\u202eb c?"
    assert len(headline(approval("write", path="a" * 100_000))) < 300
    assert headline(approval("some_tool", path="README.md")) == "Use some_tool?"
    assert headline(approval(command="ls", background=True)) == "Run this command in the background?"


def test_the_words_of_a_rule_say_what_it_allows(dock: RequestDock) -> None:
    assert rule_words(RuleText(tool="read", path="docs/**")) == "Reading anything in docs"
    assert rule_words(RuleText(tool="write", path="docs/**")) == "Changing anything in docs"
    assert rule_words(RuleText(tool="write", path="a.md")) == "Changing a.md"
    exact = RuleText(tool="bash", command="=make && rm x")
    dock.show_requests([Request("1", "confirmation", "bash", {"command": "make && rm x"}, "", (exact,))])
    dock.findChild(QPushButton, "request-always").click()
    menu = dock.findChild(QMenu)
    assert menu.actions()[0].text() == "Exactly “make &&&& rm x”", "a menu shows two of them as one"
    menu.close()
