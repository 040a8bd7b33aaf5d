"""Messages that wait above the composer: each can still be changed or taken back."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton, QVBoxLayout, QWidget

from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon, icon_pixmap
from holaboss_app.theme.style import scaled, theme_notifier


@dataclass(frozen=True, slots=True)
class Waiting:
    """One message that waits. `state` is said in words; `editable` is false while it is being sent."""

    key: str
    text: str
    state: str
    editable: bool
    files: tuple[str, ...] = ()
    """Names of what goes with it."""


class QueueRail(QFrame):
    edited = Signal(str, str)
    removed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("queue-rail")
        self.setProperty("surface", "sunken")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 4, 10, 4)
        self._column.setSpacing(0)
        self._rows: dict[str, QueueRow] = {}
        self.hide()

    def show_items(self, items: list[Waiting]) -> None:
        """Show exactly `items`, in this order. A row that is being edited stays as it is."""
        wanted = {item.key for item in items}
        for key in [key for key in self._rows if key not in wanted]:
            row = self._rows.pop(key)
            row.hide()
            row.deleteLater()
        for place, item in enumerate(items):
            row = self._rows.get(item.key)
            if row is None:
                row = self._rows[item.key] = QueueRow(self, item.key)
                row.edited.connect(self.edited)
                row.removed.connect(self.removed)
            row.describe(item)
            self._column.insertWidget(place, row)
        self.setVisible(bool(items))


class EditField(QLineEdit):
    """Enter saves, Esc gives up."""

    gave_up = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.gave_up.emit()
        else:
            super().keyPressEvent(event)


class QueueRow(QWidget):
    edited = Signal(str, str)
    removed = Signal(str)

    def __init__(self, parent: QWidget, key: str) -> None:
        super().__init__(parent)
        self._key, self._text = key, ""
        self._message = ElidedLabel(self)
        self._clip = QLabel(self)
        self._state = QLabel(self)
        self._state.setProperty("role", "small")
        self._field = EditField(self)
        self._field.setAccessibleName(self.tr("Edit the waiting message"))
        self._field.hide()
        self._edit = self._button("pencil", self.tr("Edit the waiting message"))
        self._remove = self._button("x", self.tr("Remove the waiting message"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._clip)
        row.addWidget(self._message, 1)
        row.addWidget(self._field, 1)
        for widget in (self._state, self._edit, self._remove):
            row.addWidget(widget)
        theme_notifier().theme_changed.connect(self._dress)
        self._dress()
        self._edit.clicked.connect(self._start_editing)
        self._remove.clicked.connect(self._take_back)
        self._field.returnPressed.connect(self._save)
        self._field.gave_up.connect(self._stop_editing)

    def describe(self, item: Waiting) -> None:
        self._text = item.text
        self._describe_files(item.files)
        first, _, rest = (item.text.strip() or ", ".join(item.files)).partition("\n")
        self._message.set_text(f"{first} …" if rest else first)
        self._state.setText(item.state)
        for button in (self._edit, self._remove):
            button.setVisible(item.editable)
        if not item.editable:
            self._stop_editing()

    def _dress(self) -> None:
        """The text size may change while a message waits."""
        self.setMinimumHeight(scaled(t.CONTROL_HEIGHT + 2))
        for button in (self._edit, self._remove):
            button.setIconSize(QSize(scaled(14), scaled(14)))

    def _describe_files(self, files: tuple[str, ...]) -> None:
        """A clip before a message that brings files; which ones is told on request."""
        self._clip.setVisible(bool(files))
        if files:
            ratio = self.devicePixelRatioF()
            self._clip.setPixmap(icon_pixmap("attach", scaled(14), token="text_muted", ratio=ratio))
            self._clip.setToolTip("\n".join(files))
            self._clip.setAccessibleName(self.tr("Files: %s").replace("%s", ", ".join(files)))

    def _button(self, name: str, title: str) -> QToolButton:
        button = QToolButton(self)
        button.setIcon(icon(name, "text_muted"))
        button.setAccessibleName(title)
        button.setToolTip(title)
        return button

    def _start_editing(self) -> None:
        self._field.setText(self._text)
        self._message.hide()
        self._field.show()
        self._field.setFocus()

    def _stop_editing(self) -> None:
        self._field.hide()
        self._message.show()

    def _save(self) -> None:
        text = self._field.text().strip()
        self._stop_editing()
        if text and text != self._text:
            self.edited.emit(self._key, text)

    def _take_back(self) -> None:
        self.removed.emit(self._key)
