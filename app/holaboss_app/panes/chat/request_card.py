"""What both cards above the composer share: a frame with a heading, a count and a row of buttons.

A card never takes the keyboard by itself: somebody may be typing. `focus_first` is for the shortcut that asks for it.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from holaboss_app.core.requests import Request
from holaboss_app.core.visible import for_label
from holaboss_app.panes.chat.request_words import drawing
from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import scaled, theme_notifier


class DecisionButton(QPushButton):
    """Return works as well as Space, but a key that is held down decides nothing."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.isAutoRepeat():
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


class RequestCard(QFrame):
    decided = Signal(object)
    """A `DecideAction`."""
    left = Signal()
    """Somebody wants to go back to the composer without a decision."""

    def __init__(self, parent: QWidget, request: Request) -> None:
        super().__init__(parent)
        self.request = request
        self.setObjectName(f"request-{request.kind}")
        self.setProperty("surface", "request")
        self._icon = QLabel(self)
        self._heading = QLabel(self)
        self._heading.setProperty("role", "strong")
        self._heading.setTextFormat(Qt.TextFormat.PlainText)
        self._heading.setWordWrap(True)
        self._count = QLabel(self)
        self._count.setProperty("role", "small")
        self._trouble = QLabel(self)
        self._trouble.setProperty("role", "danger")
        self._trouble.setTextFormat(Qt.TextFormat.PlainText)
        self._trouble.setWordWrap(True)
        self._trouble.hide()
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self._heading, 1)
        head.addWidget(self._count, 0, Qt.AlignmentFlag.AlignTop)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(14, 12, 14, 12)
        self.column.setSpacing(9)
        self.column.addLayout(head)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(8)
        self._had_keyboard = False
        theme_notifier().theme_changed.connect(self._draw)
        self._draw()

    def finish(self, heading: str) -> None:
        """Everything of its own is in the column: the row of buttons closes it."""
        self._heading.setText(for_label(heading))
        self.setAccessibleName(heading)
        self.column.addWidget(self._trouble)
        self.column.addLayout(self.buttons)

    def count(self, place: int, of: int) -> None:
        """Which of several requests this is; says nothing about a single one."""
        words = self.tr("%1 of %2").replace("%1", str(place)).replace("%2", str(of))
        self._count.setText(words if of > 1 else "")

    def set_busy(self, busy: bool) -> None:
        """The decision is on its way."""
        if busy:
            self._had_keyboard = self.has_keyboard  # what is disabled loses it
        self.setEnabled(not busy)

    @property
    def has_keyboard(self) -> bool:
        """Whether somebody works here with the keyboard, or did when the decision went away."""
        return self._had_keyboard or self.isAncestorOf(self.window().focusWidget() or self.window())

    def complain(self, sentence: str) -> None:
        """The decision was not taken; it can be made again."""
        self.set_busy(False)
        if self._had_keyboard:
            self._had_keyboard = False
            self.focus_first()
        self._trouble.setText(for_label(sentence))
        self._trouble.setVisible(bool(sentence))

    def focus_first(self) -> None:
        """Give the keyboard to what is most likely wanted."""
        raise NotImplementedError

    def add_button(self, text: str, name: str, kind: str = "") -> DecisionButton:
        button = DecisionButton(text, self)
        button.setObjectName(name)
        if kind:
            button.setProperty("kind", kind)
        self.buttons.addWidget(button)
        return button

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def _draw(self) -> None:
        side = scaled(18)
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(icon_pixmap(drawing(self.request), side, token="accent", ratio=ratio))
