"""Waiting messages: change them, take them back, leave them alone while they are being sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QToolButton

from holaboss_app.panes.chat.queue_rail import QueueRail, QueueRow, Waiting

Show = Callable[..., None]


@pytest.fixture
def rail(show: Show) -> QueueRail:
    rail = QueueRail()
    show(rail, 500, 120)
    rail.show_items(
        [Waiting("a", "First\nand more", "Waiting", True), Waiting("b", "Second", "Sending…", False)]
    )
    return rail


def row(rail: QueueRail, place: int) -> QueueRow:
    return rail.findChildren(QueueRow)[place]


def press(rail: QueueRail, place: int, name: str) -> None:
    buttons = row(rail, place).findChildren(QToolButton)
    next(b for b in buttons if b.accessibleName().startswith(name)).click()


def test_rows_say_what_waits_and_why(rail: QueueRail) -> None:
    texts = [label.text() for label in rail.findChildren(QLabel)]
    assert "First …" in texts
    assert "Sending…" in texts
    visible = [b.isVisible() for b in row(rail, 1).findChildren(QToolButton)]
    assert visible == [False, False]


def test_editing_saves_with_enter_and_gives_up_with_escape(rail: QueueRail) -> None:
    edits: list[tuple[str, str]] = []
    rail.edited.connect(lambda key, text: edits.append((key, text)))
    press(rail, 0, "Edit")
    field = row(rail, 0).findChild(QLineEdit)
    assert field.isVisible()
    field.setText("Changed")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert (edits, field.isVisible()) == ([], False)
    press(rail, 0, "Edit")
    field.setText("Changed")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert edits == [("a", "Changed")]


def test_a_row_being_edited_survives_an_update(rail: QueueRail) -> None:
    press(rail, 0, "Edit")
    field = row(rail, 0).findChild(QLineEdit)
    field.setText("half written")
    rail.show_items([Waiting("a", "First\nand more", "Waiting", True)])
    assert field.isVisible()
    assert field.text() == "half written"


def test_removing(rail: QueueRail) -> None:
    removed: list[str] = []
    rail.removed.connect(removed.append)
    press(rail, 0, "Remove")
    assert removed == ["a"]
    rail.show_items([])
    assert not rail.isVisible()
