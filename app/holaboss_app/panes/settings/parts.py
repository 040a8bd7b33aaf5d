"""The small widgets every section is made of: labels, buttons, notices, fields. They know no provider."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.panes.settings.text import ADDRESS, breakable
from holaboss_app.theme.flow import FlowLayout
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import repolish, scaled, theme_notifier

LAYOUT_ROUNDS = 4
"""What is shown inside of what is shown moves everything around it, one level after the other."""
REVEAL_MARGIN = 64
"""What belongs to it and comes after it is seen too."""


def text_label(text: str = "", role: str = "", *, wrap: bool = True, selectable: bool = False) -> QLabel:
    """A label of plain text. `role` is one of the label roles of `theme.style`."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(wrap)
    if role:
        label.setProperty("role", role)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def set_role(label: QLabel, role: str) -> None:
    """Change the look of a label that is already shown."""
    if label.property("role") != role:
        label.setProperty("role", role)
        repolish(label)


def push_button(text: str, name: str, *, kind: str = "", icon_name: str = "") -> QPushButton:
    """A button with an object name; `kind` is one of the button kinds of `theme.style`."""
    button = QPushButton(text)
    button.setObjectName(name)
    button.setAutoDefault(False)
    button.setCursor(Qt.CursorShape.PointingHandCursor)
    button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
    if kind:
        button.setProperty("kind", kind)
    if icon_name:
        button.setIcon(icon(icon_name))
    return button


def column(parent: QWidget, *, spacing: int = 8, margins: int = 0) -> QVBoxLayout:
    layout = QVBoxLayout(parent)
    layout.setContentsMargins(margins, margins, margins, margins)
    layout.setSpacing(spacing)
    return layout


def row(*, spacing: int = 8) -> QHBoxLayout:
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    return layout


def reveal(part: QWidget) -> None:
    """Scroll the page until `part` is in sight, or its top where it is higher than the page; at once, so that what
    has only just become visible gets its place first."""
    area = part.parentWidget()
    while area is not None and not isinstance(area, QScrollArea):
        area = area.parentWidget()
    if area is None or not part.isVisible():
        return
    for _ in range(LAYOUT_ROUNDS):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    area.ensureWidgetVisible(part, 0, REVEAL_MARGIN)
    content, view = area.widget(), area.viewport()
    if content is not None and part.height() > view.height():
        area.verticalScrollBar().setValue(part.mapTo(content, QPoint(0, 0)).y())


class IconLabel(QWidget):
    """An icon of fixed size that grows with the text scale and follows the theme."""

    def __init__(self, name: str, token: str = "text", size: int = 16) -> None:
        super().__init__()
        self._size = size
        self.show_icon(name, token)
        theme_notifier().theme_changed.connect(self._resize)

    def show_icon(self, name: str, token: str = "text") -> None:
        self._icon = icon(name, token)
        self._resize()

    def sizeHint(self) -> QSize:
        return QSize(scaled(self._size), scaled(self._size))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._icon.paint(painter, self.rect())

    def _resize(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()


class Notice(QFrame):
    """A sentence that matters, in a tinted box, with at most a few buttons that answer it."""

    def __init__(self, text: str = "", surface: str = "warning", icon_name: str = "alert") -> None:
        super().__init__()
        self.setProperty("surface", surface)
        token = surface if surface in {"warning", "danger"} else "text_muted"
        self.icon = IconLabel(icon_name, token)
        self.label = text_label(text)
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._buttons = FlowLayout()
        self._below = column(words := QWidget(), spacing=8)
        self._below.addWidget(self.label)
        self._below.addLayout(self._buttons)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(10)
        layout.addWidget(self.icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(words, 1)

    def say(self, text: str) -> None:
        """Show a sentence; an empty one hides the notice."""
        self.label.setText(text)
        self.setVisible(bool(text))

    def add(self, widget: QWidget) -> None:
        """Put something between the sentence and the buttons."""
        self._below.insertWidget(1, widget)

    def add_button(self, button: QPushButton) -> QPushButton:
        self._buttons.addWidget(button)
        return button


class Field(QWidget):
    """A label, an input, and one line beneath that is a hint until something is wrong."""

    def __init__(self, title: str, editor: QWidget, *, name: str, hint: str = "") -> None:
        super().__init__()
        self.editor = editor
        self._hint = hint
        editor.setObjectName(name)
        editor.setAccessibleName(title)
        self.caption = text_label(title, wrap=False)
        self.caption.setBuddy(editor)
        self.message = text_label("", "small")
        self.message.setObjectName(f"{name}-message")
        self.head = row()
        self.head.addWidget(self.caption)
        self.head.addStretch(1)
        self.rows = column(self, spacing=4)
        self.rows.addLayout(self.head)
        self.rows.addWidget(editor)
        self.rows.addWidget(self.message)
        self.show_error(None)

    def show_hint(self, hint: str) -> None:
        self._hint = hint
        if not self.has_error:
            self.show_error(None)

    def show_error(self, error: str | None) -> None:
        """Say what is wrong, or go back to the hint."""
        self.has_error = error is not None
        words = error or self._hint
        self.message.setText(breakable(words, ADDRESS))
        self.message.setVisible(bool(words))
        set_role(self.message, "danger" if error else "small")
        self.editor.setProperty("invalid", "true" if error else "false")
        self.editor.setAccessibleDescription(words)
        repolish(self.editor)


class Picker(QComboBox):
    """A combo box that lets the page scroll: the wheel changes it only while it has the focus."""

    chosen = Signal()

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.view().setAccessibleName(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.activated.connect(self._activated)

    def _activated(self, _index: int) -> None:
        self.chosen.emit()

    def wheelEvent(self, e: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(e)
        else:
            e.ignore()


class ClickableRow(QWidget):
    """A header that can be clicked anywhere; the keyboard uses the button inside it."""

    clicked = Signal()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonRelease:
            self.clicked.emit()
            return True
        return event.type() == QEvent.Type.MouseButtonPress or super().event(event)
