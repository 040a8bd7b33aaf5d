"""A quiet line of a turn: something the person should know of the run, with the way to where it is cured."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from holaboss_app.core.reducer import RunNotice
from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import scaled

CONNECTIONS = "connections"
_QUIET = frozenset({"idle", "starting", "stopped"})
"""States that pass by themselves."""


class NoticeLine(QWidget):
    """`settings_requested` carries the section of the settings."""

    settings_requested = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("run-notice")
        self._drawing, self._token = "info", "text_muted"
        self._icon = QLabel(self)
        self._text = QLabel(self)
        self._text.setProperty("role", "small")
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.link = QPushButton(self.tr("Open connections"), self)
        self.link.setObjectName("open-connections")
        self.link.setProperty("kind", "link")
        self.link.setAutoDefault(False)
        self.link.setCursor(Qt.CursorShape.PointingHandCursor)
        self.link.clicked.connect(lambda: self.settings_requested.emit(CONNECTIONS))

    def describe(self, notice: RunNotice) -> None:
        of_server = notice.server != ""
        alert = of_server and notice.state not in _QUIET
        self._drawing, self._token = ("alert", "warning") if alert else ("info", "text_muted")
        self._text.setText(notice.message)
        self._text.setAccessibleName(notice.message)
        self.setAccessibleName(notice.message)
        self.link.setVisible(of_server)
        self.link.setAccessibleDescription(notice.message if of_server else "")

    def fit(self, width: int) -> int:
        """Lay it out for `width`; the height in pixels."""
        side, top = scaled(15), scaled(4)
        self._icon.setPixmap(
            icon_pixmap(self._drawing, side, token=self._token, ratio=self.devicePixelRatioF())
        )
        left = side + scaled(9)
        inner = max(1, width - left)
        height = self._text.heightForWidth(inner)
        line = self._text.fontMetrics().height()
        self._icon.setGeometry(0, top + max(0, (line - side) // 2), side, side)
        self._text.setGeometry(left, top, inner, height)
        bottom = top + height
        if self.link.isVisibleTo(self):
            size = self.link.sizeHint()
            # Its frame, which is there for the focus only, stands a little outside the text.
            self.link.setGeometry(left - 4, bottom + 1, min(size.width(), inner + 4), size.height())
            bottom += 1 + size.height()
        return bottom + scaled(4)
