"""Runs the real desktop and lets a test press its keys: commands as JSON lines on stdin, answers on stdout.

Events go through Qt's own event queue to the widgets a person would use, found by object name or accessible name. It
never calls a method of the application: what works here works by mouse and keyboard.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QTextEdit,
    QWidget,
)

COMMAND = QEvent.Type(QEvent.registerEventType())
ACTIVE_WITHIN_MS = 2_000


class Command(QEvent):
    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(COMMAND)
        self.request = request


def _text_of(widget: QWidget) -> str:
    if isinstance(widget, QTextEdit | QPlainTextEdit):
        return widget.toPlainText()
    if isinstance(widget, QLineEdit | QLabel | QAbstractButton):
        return widget.text()
    if isinstance(widget, QComboBox):
        return widget.currentText()
    return widget.accessibleName()


def _on_screen(widget: QWidget) -> bool:
    return widget.isVisible() and widget.window().isVisible()


def _named(name: str) -> list[QWidget]:
    """Visible widgets with this object name, accessible name or text, top to bottom."""
    found = [
        w for w in QApplication.allWidgets() if _on_screen(w) and name in (w.objectName(), w.accessibleName())
    ]
    if not found:
        buttons = [w for w in QApplication.allWidgets() if isinstance(w, QAbstractButton) and _on_screen(w)]
        found = [w for w in buttons if w.text().replace("&", "") == name]
    return sorted(found, key=lambda w: (w.mapToGlobal(QPoint(0, 0)).y(), w.mapToGlobal(QPoint(0, 0)).x()))


class Receiver(QObject):
    """Lives in the GUI thread and carries out one command per event."""

    def event(self, event: QEvent) -> bool:
        if not isinstance(event, Command):
            return super().event(event)
        try:
            answer = {"ok": True, "value": getattr(self, "do_" + event.request["op"])(event.request)}
        except Exception as error:  # noqa: BLE001 - every failure is an answer to the test
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        sys.__stdout__.write(json.dumps(answer) + "\n")
        sys.__stdout__.flush()
        return True

    def _widget(self, request: dict[str, Any]) -> QWidget:
        found = _named(request["name"])
        inside = request.get("inside")
        if inside is not None:
            holders = _named(inside)
            found = [w for w in found if any(h.isAncestorOf(w) for h in holders)]
        if not found:
            raise LookupError(f"nothing visible is called {request['name']!r}")
        return found[request.get("index", 0)]

    def _reveal(self, widget: QWidget) -> None:
        parent = widget.parentWidget()
        while parent is not None:
            if isinstance(parent, QScrollArea):
                parent.ensureWidgetVisible(widget)
            parent = parent.parentWidget()

    def do_click(self, request: dict[str, Any]) -> None:
        widget = self._widget(request)
        if not widget.isEnabled():
            raise LookupError(f"{request['name']!r} is disabled")
        self._reveal(widget)
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def do_type(self, request: dict[str, Any]) -> None:
        widget = self._widget(request)
        self._reveal(widget)
        widget.setFocus()
        if request.get("replace"):
            QTest.keySequence(widget, QKeySequence(QKeySequence.StandardKey.SelectAll))
            QTest.keyClick(widget, Qt.Key.Key_Delete)
        QTest.keyClicks(widget, request["text"])

    def do_key(self, request: dict[str, Any]) -> None:
        target = self._widget(request) if "name" in request else QApplication.focusWidget()
        if target is None:
            raise LookupError("nothing has the keyboard focus")
        # Without a window manager nobody else makes a window active, and shortcuts of a window need that.
        target.window().activateWindow()
        if not QTest.qWaitForWindowActive(target.window(), ACTIVE_WITHIN_MS):
            raise LookupError(f"the window of {target.objectName()!r} does not become active")
        QTest.keySequence(target, QKeySequence(request["key"]))

    def do_read(self, request: dict[str, Any]) -> dict[str, Any]:
        widget = self._widget(request)
        return {"text": _text_of(widget), "enabled": widget.isEnabled(), "type": type(widget).__name__}

    def _view(self, request: dict[str, Any]) -> QAbstractItemView:
        view = self._widget(request)
        if not isinstance(view, QAbstractItemView):
            raise LookupError(f"{request['name']!r} has no rows")
        return view

    def do_rows(self, request: dict[str, Any]) -> list[str]:
        model = self._view(request).model()
        return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

    def do_open_row(self, request: dict[str, Any]) -> None:
        view = self._view(request)
        model = view.model()
        for row in range(model.rowCount()):
            index = model.index(row, 0)
            if index.data() == request["text"]:
                view.scrollTo(index)
                place = view.visualRect(index).center()
                QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
                QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
                return
        raise LookupError(f"no row {request['text']!r} in {request['name']!r}")

    def do_exists(self, request: dict[str, Any]) -> bool:
        return bool(_named(request["name"]))

    def do_screen_text(self, _: dict[str, Any]) -> str:
        """The text of every visible widget and its accessible name: what a person can read or hear right now."""
        shown = [w for w in QApplication.allWidgets() if _on_screen(w) and not w.visibleRegion().isEmpty()]
        return "\n".join(
            line for w in shown for line in dict.fromkeys((_text_of(w), w.accessibleName())) if line
        )

    def do_names(self, _: dict[str, Any]) -> list[str]:
        shown = [w for w in QApplication.allWidgets() if _on_screen(w)]
        return sorted({f"{w.objectName()}|{w.accessibleName()}|{type(w).__name__}" for w in shown})

    def do_grab(self, request: dict[str, Any]) -> str:
        windows = [w for w in QApplication.topLevelWidgets() if w.isVisible()]
        biggest = max(windows, key=lambda w: QRect(w.rect()).width() * w.height())
        biggest.grab().save(request["path"])
        return request["path"]

    def do_close(self, _: dict[str, Any]) -> None:
        for widget in QApplication.topLevelWidgets():
            if widget.isVisible() and widget.isWindow():
                widget.close()


def _read_commands() -> None:
    while QCoreApplication.instance() is None:
        time.sleep(0.01)
    receiver = Receiver()
    app = QCoreApplication.instance()
    assert app is not None
    receiver.moveToThread(app.thread())
    for line in sys.stdin:
        QCoreApplication.postEvent(receiver, Command(json.loads(line)))


def main() -> int:
    threading.Thread(target=_read_commands, daemon=True).start()
    from holaboss_app.application import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
