"""The left rail: where to be, and how the runtime is."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QToolButton, QWidget

from holaboss_app.shell.look import IconButton, column
from holaboss_app.shell.runtime_status import RuntimeDot
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled, theme_notifier

WIDTH = 56


class Rail(QFrame):
    space_requested = Signal()
    settings_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rail")
        self.setProperty("surface", "rail")
        self.dot = RuntimeDot()
        self._space = self._place(
            "rail-space", "chat", self.tr("Conversation and files"), self.space_requested
        )
        self._settings = self._place(
            "rail-settings", "settings", self.tr("Settings"), self.settings_requested
        )
        layout = column(self, spacing=6)
        layout.setContentsMargins(8, 8, 4, 12)
        layout.addWidget(self._space)
        layout.addStretch(1)
        layout.addWidget(self._settings)
        layout.addWidget(self.dot)
        theme_notifier().theme_changed.connect(self._redress)
        self._redress()

    def mark(self, place: str) -> None:
        """`space`, `settings`, or empty when neither is shown."""
        pairs = (("space", "chat", self._space), ("settings", "settings", self._settings))
        for name, icon_name, button in pairs:
            button.setChecked(name == place)
            button.setIcon(icon(icon_name, "accent" if name == place else "text_muted"))

    def _place(self, name: str, icon_name: str, text: str, signal: SignalInstance) -> QToolButton:
        made = IconButton(name, icon_name, text, signal.emit)
        made.setProperty("kind", "rail")
        made.setCheckable(True)
        return made

    def _redress(self) -> None:
        self.setFixedWidth(scaled(WIDTH - 8) + 8)
        for made in (self._space, self._settings):
            made.setIconSize(QSize(scaled(20), scaled(20)))
            made.setFixedSize(scaled(40), scaled(40))
        self.dot.setFixedSize(scaled(40), scaled(36))
