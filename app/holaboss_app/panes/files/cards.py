"""A sentence that needs an answer, as a tinted card inside the pane: never a dialog in front of the window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
)

from holaboss_app.theme.icons import icon


class Card(QFrame):
    """Hidden until it has something to say. Its buttons stand side by side where there is room."""

    def __init__(self, name: str, surface: str = "warning") -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("surface", surface)
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self._top = QHBoxLayout()
        self._top.addWidget(self.label, 1)
        self._buttons = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._buttons.setSpacing(6)
        self._buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(8)
        layout.addLayout(self._top)
        layout.addLayout(self._buttons)
        self.hide()

    def say(self, text: str) -> None:
        """Show a sentence; an empty one hides the card."""
        self.label.setText(text)
        self.setVisible(bool(text))

    def add_button(self, text: str, name: str, on_click: Callable[[], object], kind: str = "") -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setProperty("kind", kind)
        button.setAutoDefault(False)
        button.clicked.connect(lambda: on_click())
        self._buttons.insertWidget(self._buttons.count() - 1, button, 0, Qt.AlignmentFlag.AlignLeft)
        return button

    def add_dismissal(self, name: str) -> None:
        """A small cross, for a sentence that only tells."""
        cross = icon_button("x", name, self.tr("Dismiss"))
        cross.clicked.connect(lambda: self.say(""))
        self._top.addWidget(cross, 0, Qt.AlignmentFlag.AlignTop)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        buttons = self.findChildren(QPushButton)
        needed = sum(button.sizeHint().width() + 6 for button in buttons) + 20
        direction = QBoxLayout.Direction.LeftToRight
        if needed > self.width():
            direction = QBoxLayout.Direction.TopToBottom
        self._buttons.setDirection(direction)


def icon_button(icon_name: str, name: str, text: str) -> QToolButton:
    """A quiet button that is only an icon; `text` is its tool tip and its accessible name."""
    button = QToolButton()
    button.setObjectName(name)
    button.setIcon(icon(icon_name, "text_muted"))
    button.setToolTip(text)
    button.setAccessibleName(text)
    button.setMinimumSize(26, 26)
    return button
