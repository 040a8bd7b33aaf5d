"""Where a message is written: a field that grows with its text, the model it goes to, and send or stop.

It knows nothing of sessions. When a message cannot be sent it says why, in words, and offers the way out.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from holaboss_app.core.shortcuts import Action, keys
from holaboss_app.panes.chat.chip_shelf import ChipShelf
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.message_field import MessageField
from holaboss_app.panes.chat.model_picker import ModelPicker
from holaboss_app.panes.chat.permission_picker import PermissionPicker
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import current_tokens, scaled, theme_notifier

_INDENT = 10
"""Between the left edge of the picker and its name, below which the message stands."""


class Composer(QFrame):
    send_requested = Signal(str)
    stop_requested = Signal()
    recall_requested = Signal()
    text_changed = Signal()
    connect_requested = Signal()
    attach_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._blocked, self._busy, self._stopping = "", False, False
        self._files_wait, self._files_come, self._file_count = "", False, 0
        self.setObjectName("composer-frame")
        self.files = ChipShelf(self)
        self.field = MessageField(self)
        self._attach = QToolButton(self)
        self._attach.setObjectName("attach-files")
        self._attach.setIcon(icon("attach", "text_muted"))
        self.picker = ModelPicker(self)
        self.permissions = PermissionPicker(self)
        self._note = QLabel(self)
        self._note.setObjectName("files-note")
        self._note.setProperty("role", "danger")
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setWordWrap(True)
        self._note.hide()
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
        self._attach.clicked.connect(self.attach_requested)
        self.files.emptied.connect(self.field.setFocus)
        self.files.behind = self.field
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

    def set_files(self, count: int, obstacle: str, *, coming: bool = False) -> None:
        """How many files go with the message, and why they cannot yet; files alone are a message. `coming` says that
        this passes by itself in a moment."""
        self._file_count, self._files_wait, self._files_come = count, obstacle, coming
        self._note.setText("" if coming else obstacle)
        self._note.setVisible(bool(self._note.text()))
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
        tools = QHBoxLayout()
        tools.setContentsMargins(2, 0, 0, 0)  # the glyph, not its frame, stands below the text
        tools.addWidget(self._attach)
        row.addLayout(tools)
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
        files = QVBoxLayout()
        files.setContentsMargins(_INDENT - 2, 0, 0, 0)
        files.setSpacing(6)
        files.addWidget(self.files)
        files.addWidget(self._note)
        column.addLayout(files)
        column.addLayout(text)
        column.addLayout(row)
        self.setFocusProxy(self.field)
        self._size_buttons()

    def _describe_buttons(self) -> None:
        self._attach.setAccessibleName(self.tr("Attach files"))
        self._attach.setToolTip(self.tr("Attach files (%s)").replace("%s", keys(Action.ATTACH)))
        self._send.setAccessibleName(self.tr("Send"))
        self._send.setToolTip(self.tr("Send (%s)").replace("%s", "Enter"))
        self._stop.setAccessibleName(self.tr("Stop"))
        self._stop.setToolTip(self.tr("Stop the answer (%s)").replace("%s", keys(Action.STOP)))

    def _size_buttons(self) -> None:
        for button in (self._send, self._stop):
            button.setIconSize(QSize(scaled(16), scaled(16)))
            button.setFixedSize(scaled(40), scaled(t.CONTROL_HEIGHT_LARGE - 4))
        self._attach.setIconSize(QSize(scaled(18), scaled(18)))
        self._attach.setFixedSize(scaled(t.CONTROL_HEIGHT), scaled(t.CONTROL_HEIGHT))

    def _restyle(self) -> None:
        self.field.restyle()
        self._size_buttons()

    def _changed(self) -> None:
        self._update()
        self.text_changed.emit()

    def _update(self) -> None:
        written = bool(self.text.strip()) or self._file_count > 0
        self._stop.setVisible(self._busy)
        self._stop.setEnabled(not self._stopping)
        self._send.setVisible(not self._busy or written)
        self._send.setEnabled(written and not self._hindrance)
        waiting = self.tr("Sent after the answer") if self._busy and written else ""
        stopping = self.tr("Stopping…") if self._stopping else ""
        coming = self._files_wait if self._files_come else ""
        self._say(self._blocked or stopping or coming or waiting)

    def _say(self, text: str) -> None:
        self._hint.set_text(text)
        self._send.setAccessibleDescription(text or self._files_wait)

    def _submit(self) -> None:
        text = self.text.strip()
        if (text or self._file_count) and not self._hindrance:
            self.send_requested.emit(text)

    @property
    def _hindrance(self) -> str:
        return self._blocked or self._files_wait

    def _escape_once(self) -> None:
        if self._busy and not self._stopping:
            self._say(self.tr("Press Esc again to stop"))

    def _escape_twice(self) -> None:
        if self._busy and not self._stopping:
            self.stop_requested.emit()
