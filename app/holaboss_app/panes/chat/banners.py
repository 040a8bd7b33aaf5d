"""Sentences above the composer that say what holds things up, each with at most one way out."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import repolish, scaled, theme_notifier


class Banner(QFrame):
    acted = Signal()

    def __init__(self, parent: QWidget, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(f"banner-{name}")
        self._drawing, self._token = "refresh", "text_muted"
        self._icon = QLabel(self)
        self._text = QLabel(self)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._button = QPushButton(self)
        self._button.clicked.connect(self.acted)
        theme_notifier().theme_changed.connect(self._draw)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 7, 8, 7)
        row.setSpacing(10)
        row.addWidget(self._icon)
        row.addWidget(self._text, 1)
        row.addWidget(self._button)

    def describe(self, text: str, why: str, action: str, surface: str) -> None:
        self._token = {"warning": "warning", "danger": "danger"}.get(surface, "text_muted")
        self._drawing = {"warning": "clock", "danger": "alert"}.get(surface, "refresh")
        self._draw()
        self._text.setText(text)
        self.setToolTip(why)
        self.setAccessibleDescription(why)
        self._button.setText(action)
        self._button.setVisible(bool(action))
        if self.property("surface") != surface:
            self.setProperty("surface", surface)
            repolish(self)

    def _draw(self) -> None:
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(icon_pixmap(self._drawing, scaled(16), token=self._token, ratio=ratio))


class Banners(QWidget):
    """Banners by name; the order is the order of their first appearance."""

    acted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._banners: dict[str, Banner] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)

    def say(self, name: str, text: str, *, why: str = "", action: str = "", surface: str = "warning") -> None:
        """Show a sentence. `surface` is `sunken` (something passes by), `warning` (it waits) or `danger`; `why`
        is for those who ask, in the tool tip."""
        banner = self._banners.get(name)
        if banner is None:
            banner = self._banners[name] = Banner(self, name)
            banner.acted.connect(lambda: self.acted.emit(name))
            self._column.addWidget(banner)
        banner.describe(text, why, action, surface)
        banner.show()

    def withdraw(self, name: str) -> None:
        if (banner := self._banners.get(name)) is not None:
            banner.hide()

    def clear(self) -> None:
        for banner in self._banners.values():
            banner.hide()
