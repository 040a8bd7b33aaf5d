"""The theme as the application applies it, put back after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget

from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.theme import style
from tests.app.chat.stage import Chat
from tests.app.conftest import QLoop

HERE = Path(__file__).parent
# What the offscreen platform says of every window with a size of its own, and of every popup.
PLATFORM_NOISE = r"This plugin does not support (propagateSizeHints|raise|grabbing the keyboard)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.qt_log_ignore(PLATFORM_NOISE))


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[None]:
    style.apply(qapp, "light", 1.0)
    yield
    style.apply(qapp, "light", 1.0)


@pytest.fixture
def show(qapp: QApplication) -> Iterator[Callable[..., None]]:
    """`show(widget, width, height)`: on screen until the test is over."""
    shown: list[QWidget] = []

    def on_screen(widget: QWidget, width: int = 900, height: int = 700) -> None:
        shown.append(widget)
        widget.resize(width, height)
        widget.show()
        qapp.processEvents()

    yield on_screen
    for widget in shown:
        widget.close()
        widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def chat(qloop: QLoop, show: Callable[..., None]) -> Iterator[Chat]:
    pane = ChatPane()
    show(pane, 800, 700)
    chat = Chat(qloop, pane)
    yield chat
    qloop.run(chat.presenter.close())
    assert chat.errors == []
