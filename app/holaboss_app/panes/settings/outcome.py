"""What came of trying a provider: one line with a mark, for a stored provider and for one that is not yet."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from holaboss_app.panes.settings.parts import IconLabel, reveal, row, text_label
from holaboss_app.panes.settings.text import ADDRESS, breakable
from holaboss_client.config import ProviderTest


class Outcome(QWidget):
    """Hidden while there is nothing to say. It asks nobody."""

    def __init__(self) -> None:
        super().__init__()
        self._icon = IconLabel("check", "success")
        self.label = text_label(selectable=True)
        self.label.setObjectName("test-outcome")
        line = row()
        self.setLayout(line)
        line.addWidget(self._icon)
        line.addWidget(self.label, 1)
        self.clear()

    def clear(self) -> None:
        self._say("", "check", "success")

    def show_asking(self) -> None:
        self._say(self.tr("Asking the provider…"), "clock", "text_muted")

    def show_result(self, result: ProviderTest) -> None:
        """The outcome in words, with its latency."""
        words = result.detail
        if result.latency_ms is not None:
            words = self.tr("{detail} ({latency} ms)").format(detail=words, latency=result.latency_ms)
        good = result.outcome == "ok"
        self._say(words, "check" if good else "alert", "success" if good else "danger")

    def show_failure(self, sentence: str) -> None:
        """Nobody could be asked."""
        self._say(sentence, "alert", "danger")

    def _say(self, text: str, icon_name: str, token: str) -> None:
        self.label.setText(breakable(text, ADDRESS))
        self._icon.show_icon(icon_name, token)
        self.setVisible(bool(text))
        if text:
            QTimer.singleShot(0, self, lambda: reveal(self))
