"""Fixtures of the desktop's tests: an offscreen application, a loop for coroutines, an empty screen after."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest  # the platform is chosen before anything can import Qt
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from holaboss_app.services.event_loop import EventLoop

Result = TypeVar("Result")
HERE = Path(__file__).parent
LONGEST_S = 240.0  # against hangs, and before the suite's own limit, so that it says where
QT_KEEPS = ("QTipLabel", "QComboBoxPrivateContainer", "QMenuBarExtension")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    # Closing a window under test must not end the loop of the test after it.
    qapp.setQuitOnLastWindowClosed(False)
    return qapp


class QLoop:
    """Runs coroutines on the Qt loop, one after the other; tasks they start go on during the next `run`."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._runner.get_loop()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        async def bounded() -> Result:
            async with asyncio.timeout(LONGEST_S):
                return await coroutine

        return self._runner.run(bounded())


@pytest.fixture
def qloop(qapp: QApplication) -> Iterator[QLoop]:
    """`qloop.run(coroutine)`. A task that still runs when the test is over was never closed by its owner."""
    with asyncio.Runner(loop_factory=lambda: EventLoop(qapp)) as runner:
        qloop = QLoop(runner)
        yield qloop
        left = [repr(task.get_coro()) for task in asyncio.all_tasks(qloop.loop)]
    if left:
        pytest.fail("leaked tasks:\n  " + "\n  ".join(left), pytrace=False)


@pytest.fixture(autouse=True)
def nothing_left_on_screen(request: pytest.FixtureRequest) -> Iterator[None]:
    """Windows without a parent and running timers must go with the test that made them."""
    if not {"qapp", "qloop", "qtbot"} & set(request.fixturenames):
        yield
        return
    request.getfixturevalue("qapp")
    windows, timers = {id(window) for window in _windows()}, {id(timer) for timer in _timers()}
    yield
    gc.collect()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = [f"window {window!r}" for window in _windows() if id(window) not in windows]
    left += [f"timer {timer!r} of {timer.parent()!r}" for timer in _timers() if id(timer) not in timers]
    if left:
        for window in _windows():
            window.close()
            window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        pytest.fail("left behind:\n  " + "\n  ".join(left), pytrace=False)


def _windows() -> list[QWidget]:
    """Top-level widgets without a parent, except those that Qt makes and keeps for itself."""
    widgets = QApplication.topLevelWidgets()
    return [
        widget
        for widget in widgets
        if widget.parent() is None and widget.metaObject().className() not in QT_KEEPS
    ]


def _timers() -> list[QTimer]:
    candidates = [thing for thing in gc.get_objects() if issubclass(type(thing), QTimer)]
    return [timer for timer in candidates if shiboken6.isValid(timer) and timer.isActive()]
