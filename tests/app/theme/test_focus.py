"""The way of the keyboard through what is laid out, and where it stays while a button waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from holaboss_app.theme.focus import follow_layout, set_waiting

# The platform without a screen says so about every window with a smallest size.
pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")


class Page(QWidget):
    """Two buttons at the ends, a column for later between them, all of it in a page that scrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = QPushButton("first"), QPushButton("last")
        content = QWidget()
        layout = QVBoxLayout(content)
        self.later = QHBoxLayout()
        layout.addWidget(self.first)
        layout.addLayout(self.later)
        layout.addWidget(self.last)
        area = QScrollArea()
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(content)
        area.setWidgetResizable(True)
        QVBoxLayout(self).addWidget(area)

    def add_later(self, *names: str) -> None:
        for name in names:
            box = QWidget()
            QVBoxLayout(box).addWidget(QPushButton(name))
            self.later.addWidget(box)
        QApplication.processEvents()

    def walk(self, steps: int) -> list[str]:
        """What has the keyboard, from the first button on."""
        self.first.setFocus()
        seen: list[str] = []
        for _ in range(steps):
            focused = QApplication.focusWidget()
            assert isinstance(focused, QPushButton)
            seen.append(focused.text())
            QTest.keyClick(focused, Qt.Key.Key_Tab)
        return seen


@pytest.fixture
def page(qapp: QApplication) -> Iterator[Page]:
    page = Page()
    page.show()
    page.activateWindow()
    assert QTest.qWaitForWindowActive(page)
    yield page
    page.hide()
    page.deleteLater()


def test_what_is_made_later_comes_where_it_stands(page: Page) -> None:
    page.add_later("a", "b")
    assert page.walk(4) == ["first", "last", "a", "b"], "Qt takes the order in which they were made"
    follow_layout(page)
    assert page.walk(4) == ["first", "a", "b", "last"]


def test_a_button_that_waits_gives_the_keyboard_to_nobody_and_has_it_back(page: Page) -> None:
    page.first.setFocus()
    set_waiting(page.first, True)
    assert not page.first.isEnabled()
    assert QApplication.focusWidget() is None
    set_waiting(page.first, False)
    assert page.first.isEnabled()
    assert QApplication.focusWidget() is page.first


def test_a_button_that_waited_takes_the_keyboard_from_nobody(page: Page) -> None:
    page.first.setFocus()
    set_waiting(page.first, True)
    page.last.setFocus()
    set_waiting(page.first, False)
    assert QApplication.focusWidget() is page.last
    set_waiting(page.first, True)
    page.last.clearFocus()
    set_waiting(page.first, False)
    assert QApplication.focusWidget() is None, "it did not have it this time"
