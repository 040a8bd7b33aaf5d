"""Where a message is written: a field that grows with its text, the model it goes to, and send or stop.

It knows nothing of sessions. When a message cannot be sent it says why, in words, and offers the way out.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.core.shortcuts import Action, keys
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.model_picker import ModelPicker
from holaboss_app.panes.chat.permission_picker import PermissionPicker
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import current_tokens, scaled, theme_notifier, ui_font

TALLEST = 220
_TWICE_S = 1.5
_INDENT = 10
"""Between the left edge of the picker and its name, below which the message stands."""


class MessageField(QPlainTextEdit):
    """Enter sends, Shift+Enter breaks the line; neither while an input method composes a character."""

    submitted = Signal()
    stop_requested = Signal()
    recall_requested = Signal()
    escape_pressed_once = Signal()
    focus_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._composing = False
        self._escaped_at = 0.0
        self.setObjectName("composer")
        self.setProperty("bare", True)
        self.setAccessibleName(self.tr("Message"))
        self.setPlaceholderText(self.tr("Write a message"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._grow)
        self.restyle()

    def restyle(self) -> None:
        self.setFont(ui_font(t.PROSE_POINTS))
        # The placeholder is drawn with the font of the viewport, which keeps the one it began with.
        self.viewport().setFont(self.font())
        self._grow()

    def replace(self, text: str) -> None:
        """Other text, with the caret behind it."""
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._composing = False
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, plain = event.key(), event.modifiers() in (_NONE, Qt.KeyboardModifier.KeypadModifier)
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            if not self._composing:
                self.submitted.emit()
        elif key == Qt.Key.Key_Escape:
            self._escape()
        elif key == Qt.Key.Key_Up and plain and not self.toPlainText():
            self.recall_requested.emit()
        else:
            super().keyPressEvent(event)

    def _escape(self) -> None:
        now = time.monotonic()
        if now - self._escaped_at < _TWICE_S:
            self._escaped_at = 0.0
            self.stop_requested.emit()
        else:
            self._escaped_at = now
            self.escape_pressed_once.emit()

    def _grow(self) -> None:
        line = self.fontMetrics().lineSpacing()
        # A plain-text layout measures its height in lines.
        lines = max(1, round(self.document().size().height()))
        tallest = scaled(TALLEST)
        self.setFixedHeight(min(lines * line, tallest) + 4)
        wanted = lines * line > tallest
        policies = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policies.ScrollBarAsNeeded if wanted else policies.ScrollBarAlwaysOff)


_NONE = Qt.KeyboardModifier.NoModifier


class Composer(QFrame):
    send_requested = Signal(str)
    stop_requested = Signal()
    recall_requested = Signal()
    text_changed = Signal()
    connect_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._blocked, self._busy, self._stopping = "", False, False
        self.setObjectName("composer-frame")
        self.field = MessageField(self)
        self.picker = ModelPicker(self)
        self.permissions = PermissionPicker(self)
        self._hint = ElidedLabel(self)
        self._hint.setProperty("role", "small")
        self._connect = QPushButton(self.tr("Connect a model"), self)
        self._connect.setObjectName("connect-model")
        self._connect.hide()
        self._stop = QPushButton(icon("stop"), "", self)
        self._stop.setObjectName("stop")
        self._send = QPushButton(icon("send", "on_accent"), "", self)
        self._send.setObjectName("send")
        self._send.setProperty("kind", "primary")
        self._describe_buttons()
        self._arrange()
        self.field.textChanged.connect(self._changed)
        self.field.submitted.connect(self._submit)
        self.field.stop_requested.connect(self._escape_twice)
        self.field.escape_pressed_once.connect(self._escape_once)
        self.field.recall_requested.connect(self.recall_requested)
        self.field.focus_changed.connect(self.update)
        self._send.clicked.connect(self._submit)
        self._stop.clicked.connect(self.stop_requested)
        self._connect.clicked.connect(self.connect_requested)
        theme_notifier().theme_changed.connect(self._restyle)
        self._update()

    @property
    def text(self) -> str:
        return self.field.toPlainText()

    @text.setter
    def text(self, text: str) -> None:
        if text != self.text:
            self.field.replace(text)

    def set_blocked(self, reason: str, *, connectable: bool = False) -> None:
        """Why nothing can be sent, as a sentence; empty when it can. `connectable` offers to connect a
        model."""
        self._blocked = reason
        self._connect.setVisible(connectable)
        self.picker.setVisible(not connectable)
        self._update()

    def set_hint(self, text: str) -> None:
        """What an empty field says instead of its usual words."""
        self.field.setPlaceholderText(text or self.tr("Write a message"))

    def set_busy(self, busy: bool, *, stopping: bool = False) -> None:
        """While busy, Stop takes the place of Send; what is written meanwhile can still be sent, to wait."""
        self._busy, self._stopping = busy, stopping
        self._update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, focused = current_tokens(), self.field.hasFocus()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(tokens.field))
        painter.setPen(
            QPen(QColor(tokens.accent if focused else tokens.border_strong), 1.5 if focused else 1)
        )
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), t.RADIUS_LARGE, t.RADIUS_LARGE)
        painter.end()

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.picker)
        offer = QHBoxLayout()
        offer.setContentsMargins(_INDENT, 0, 0, 0)
        offer.addWidget(self._connect)
        row.addLayout(offer)
        row.addWidget(self.permissions)
        row.addWidget(self._hint, 1)
        row.addWidget(self._stop)
        row.addWidget(self._send)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 12, 10, 8)
        column.setSpacing(8)
        text = QHBoxLayout()
        text.setContentsMargins(_INDENT, 0, 0, 0)
        text.addWidget(self.field)
        column.addLayout(text)
        column.addLayout(row)
        self.setFocusProxy(self.field)
        self._size_buttons()

    def _describe_buttons(self) -> None:
        self._send.setAccessibleName(self.tr("Send"))
        self._send.setToolTip(self.tr("Send (%s)").replace("%s", "Enter"))
        self._stop.setAccessibleName(self.tr("Stop"))
        self._stop.setToolTip(self.tr("Stop the answer (%s)").replace("%s", keys(Action.STOP)))

    def _size_buttons(self) -> None:
        for button in (self._send, self._stop):
            button.setIconSize(QSize(scaled(16), scaled(16)))
            button.setFixedSize(scaled(40), scaled(t.CONTROL_HEIGHT_LARGE - 4))

    def _restyle(self) -> None:
        self.field.restyle()
        self._size_buttons()

    def _changed(self) -> None:
        self._update()
        self.text_changed.emit()

    def _update(self) -> None:
        written = bool(self.text.strip())
        self._stop.setVisible(self._busy)
        self._stop.setEnabled(not self._stopping)
        self._send.setVisible(not self._busy or written)
        self._send.setEnabled(written and not self._blocked)
        waiting = self.tr("Sent after the answer") if self._busy and written else ""
        stopping = self.tr("Stopping…") if self._stopping else ""
        self._say(self._blocked or stopping or waiting)

    def _say(self, text: str) -> None:
        self._hint.set_text(text)
        self._send.setAccessibleDescription(text)

    def _submit(self) -> None:
        text = self.text.strip()
        if text and not self._blocked:
            self.send_requested.emit(text)

    def _escape_once(self) -> None:
        if self._busy and not self._stopping:
            self._say(self.tr("Press Esc again to stop"))

    def _escape_twice(self) -> None:
        if self._busy and not self._stopping:
            self.stop_requested.emit()
