"""A rounded surface above the window that goes when the person clicks elsewhere or presses Escape."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QWidget

from holaboss_app.shell.look import column, frame
from holaboss_app.theme.style import scaled


class Popover(QFrame):
    """Fill `content`, move it, show it. It is gone once closed. `width` is in logical pixels at 100 %
    text."""

    def __init__(self, parent: QWidget, name: str, width: int, *, margins: int = 8, spacing: int = 6) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # The window itself is invisible: only so can the surface inside have round corners.
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setFixedWidth(scaled(width))
        surface = frame("pane")
        column(self).addWidget(surface)
        self.content = column(surface, margins=margins, spacing=spacing)
