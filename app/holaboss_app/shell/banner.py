"""One line above the panes while the runtime is away or silent. What is on screen stays readable."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QLabel, QWidget

from holaboss_app.shell.look import button, column, frame, label, row
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled, theme_notifier


class RuntimeBanner(QWidget):
    """Hidden until there is something to say."""

    restart_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runtime-banner")
        self._mark = QLabel()
        self._text = label("", wrap=True)
        self._text.setObjectName("runtime-banner-text")
        strip = frame("warning")
        column(self).addWidget(strip)
        self.setContentsMargins(4, 4, 8, 8)
        layout = row(strip, spacing=10)
        layout.setContentsMargins(12, 6, 6, 6)
        layout.addWidget(self._mark)
        layout.addWidget(self._text, 1)
        layout.addWidget(
            button(
                self.tr("Restart now"), "runtime-banner-restart", self.restart_requested.emit, kind="ghost"
            )
        )
        theme_notifier().theme_changed.connect(self._redress)
        self._redress()
        self.hide()

    def say(self, text: str) -> None:
        self._text.setText(text)
        self.show()

    def _redress(self) -> None:
        size = QSize(scaled(18), scaled(18))
        self._mark.setPixmap(icon("alert", "warning").pixmap(size, self.devicePixelRatioF()))
