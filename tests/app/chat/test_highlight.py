"""Colours of code: named languages only, in slices, remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication

from holaboss_app.panes.chat.highlight import LARGEST, LONGEST_LINE, CodeColours, Lexing, Spans

CODE = 'def f(x):\n    return "é🙂"  # why\n'


@pytest.fixture
def lexing(qapp: QApplication) -> Iterator[Lexing]:
    owner = QObject()
    yield Lexing(owner)
    owner.deleteLater()


def wait_for(qtbot, answers: list[Spans]) -> Spans:  # noqa: ANN001
    qtbot.waitUntil(lambda: bool(answers), timeout=30_000)
    return answers[0]


def test_a_named_language_is_coloured(lexing: Lexing, qtbot) -> None:  # noqa: ANN001
    answers: list[Spans] = []
    lexing.ask("python", CODE, answers.append)
    assert answers == [], "never inside the call"
    units = CODE.encode("utf-16-le")
    named = {units[2 * a : 2 * (a + n)].decode("utf-16-le"): c for a, n, c in wait_for(qtbot, answers)}
    assert named["def"] == "info"
    assert named["f"] == "link"
    assert named["# why"] == "text_muted"
    again: list[Spans] = []
    lexing.ask("python", CODE, again.append)
    assert again == answers


@pytest.mark.parametrize(
    ("language", "text"),
    [("", CODE), ("python", "x" * (LONGEST_LINE + 1)), ("python", "x = 1\n" * (LARGEST // 6 + 1))],
)
def test_what_is_unnamed_or_too_large_is_left_alone(lexing: Lexing, language: str, text: str) -> None:
    lexing.ask(language, text, lambda spans: pytest.fail("asked for nothing"))
    assert lexing.known(language, text) is None


def test_an_unknown_language_stays_plain(lexing: Lexing, qtbot) -> None:  # noqa: ANN001
    answers: list[Spans] = []
    lexing.ask("no-such-language", CODE, answers.append)
    assert wait_for(qtbot, answers) == []


def test_a_withdrawn_question_is_not_answered(lexing: Lexing, qtbot) -> None:  # noqa: ANN001
    first: list[Spans] = []
    second: list[Spans] = []
    take_first: Callable[[Spans], None] = first.append
    lexing.ask("python", CODE, take_first)
    lexing.ask("json", "[1]", second.append)
    lexing.withdraw(take_first)
    wait_for(qtbot, second)
    assert first == []


def test_a_span_over_several_lines_is_painted_on_each(qapp: QApplication) -> None:
    document = QTextDocument("one\ntwo\nthree")
    CodeColours(document).show([(1, 8, "success")])
    painted = []
    block = document.begin()
    while block.isValid():
        painted.append([(f.start, f.length) for f in block.layout().formats()])
        block = block.next()
    assert painted == [[(1, 2)], [(0, 3)], [(0, 1)]]
