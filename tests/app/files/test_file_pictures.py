"""Draws the file pane as a person sees it. The pictures land in the test's temporary directory, to be looked at."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from holaboss_app.panes.files.cards import CardShelf
from holaboss_app.theme import style
from tests.app.files.conftest import Shelf

LOOKS = {
    "light": ("light", 1.0, 320),
    "dark": ("dark", 1.0, 520),
    "large": ("light", 1.5, 420),
    "narrow": ("dark", 1.0, 190),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_pane_can_be_drawn_in_every_state(
    shelf: Shelf, qapp: QApplication, tmp_path: Path, look: str
) -> None:
    scheme, scale, width = LOOKS[look]
    style.apply(qapp, scheme, scale)
    try:
        _fill(shelf)
        for state in ("conflict", "both", "closing"):
            if state == "both":
                shelf.click("show-both")
            if state == "closing":
                shelf.click("load-theirs")
                shelf.type("again")
                shelf.editor.ask_to_close()
            shelf.pane.resize(width, 900)
            qapp.processEvents()
            assert shelf.pane.grab().save(str(tmp_path / f"{look}-{state}.png"))
            assert _cut_off(shelf) == []
    finally:
        style.apply(qapp, "light", 1.0)


def _fill(shelf: Shelf) -> None:
    shelf.open()
    shelf.expand("notes")
    shelf.activate("workspace.yaml")
    shelf.activate("AGENTS.md")
    shelf.activate("picture.png")
    policy = (
        "# Policy\n\nAsk before anything is sent. Keep the notes of each week in one file of their own.\n"
    )
    shelf.type(policy)
    shelf.runtime.files["AGENTS.md"] = b"# Policy\n\nThe agent wrote this.\n"
    shelf.click("save-file")


def _cut_off(shelf: Shelf) -> list[str]:
    """Labels and buttons that reach out of the pane."""
    widgets = [*shelf.pane.findChildren(QLabel), *shelf.pane.findChildren(QPushButton)]
    return [
        widget.objectName() or widget.text()
        for widget in widgets
        if widget.isVisible() and widget.mapTo(shelf.pane, widget.rect().topRight()).x() >= shelf.pane.width()
    ]


def test_a_conflict_in_a_low_pane_scrolls_and_the_keyboard_reaches_it(
    shelf: Shelf, qapp: QApplication
) -> None:
    style.apply(qapp, "light", 2.0)
    try:
        _fill(shelf)
        shelf.pane.say("")
        shelf.pane.resize(300, 560)
        for _ in range(3):
            qapp.processEvents()
        editor = shelf.editor
        cards, label = editor.findChild(CardShelf), editor.conflict.label
        assert label.height() >= label.heightForWidth(label.width())
        buttons = (editor.keep_mine, editor.load_theirs, editor.show_both)
        for one, two in pairwise(buttons):
            assert not one.geometry().intersects(two.geometry())
        assert cards.geometry().bottom() < editor.area.y()
        assert cards.verticalScrollBar().maximum() > 0
        editor.keep_mine.setFocus()
        for before, button in pairwise(buttons):
            QTest.keyClick(before, Qt.Key.Key_Tab)
            assert button.hasFocus()
            top = button.mapTo(cards.viewport(), button.rect().topLeft())
            assert cards.viewport().rect().contains(QRect(top, button.size())), button.objectName()
    finally:
        style.apply(qapp, "light", 1.0)


def test_cards_that_say_nothing_take_no_room(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    cards = shelf.editor.findChild(CardShelf)
    assert not cards.isVisible()
    shelf.do(lambda: shelf.editor.failed("The disk is full."))
    assert cards.isVisible()
    shelf.do(shelf.editor.settle)
    assert not cards.isVisible()
