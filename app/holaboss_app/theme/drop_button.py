"""A button that opens something below it, and says so with an arrow behind its text."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from holaboss_app.theme.elided_button import ElidedButton
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled

ARROW = 14


class DropButton(ElidedButton):
    """The style sheet keeps the room for the arrow; what opens is its owner's work."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "drop")

    def arrow_rect(self) -> QRect:
        """Where the arrow is drawn."""
        size = scaled(ARROW)
        return QRect(self.width() - size - scaled(8), (self.height() - size) // 2 + 1, size, size)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        icon("chevron-down", "text_muted").paint(painter, self.arrow_rect())
        painter.end()
