"""The top of the chat pane: which session this is, the others, and a new one."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.popup import corner, room_around
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon, icon_pixmap
from holaboss_app.theme.style import current_tokens, scaled, theme_notifier, ui_font

_COLOURS = {
    "BUSY": "accent",
    "QUEUED": "info",
    "WAITING_USER": "warning",
    "PAUSED": "warning",
    "ERROR": "danger",
}

_PAD = 6


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One row of the list. `state` is a status word of the wire (`IDLE`, `BUSY`, …)."""

    session_id: str
    title: str
    state: str
    current: bool


class SessionRow(QAbstractButton):
    """Title, a coloured dot, and the state in words."""

    def __init__(self, parent: QWidget, entry: SessionEntry, words: str) -> None:
        super().__init__(parent)
        self._entry, self._words = entry, words
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        spoken = (entry.title, words, self.tr("shown now") if entry.current else "")
        self.setAccessibleName(", ".join(part for part in spoken if part))
        self.setFixedHeight(scaled(t.CONTROL_HEIGHT_LARGE))

    def sizeHint(self) -> QSize:
        return QSize(scaled(300), scaled(t.CONTROL_HEIGHT_LARGE))

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, side = current_tokens(), scaled(15)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if self.underMouse() or self.hasFocus():
            painter.setBrush(QColor(tokens.hover))
            painter.drawRoundedRect(self.rect(), t.RADIUS, t.RADIUS)
        x, end = scaled(10), self.width() - scaled(10)
        if self._entry.current:
            tick = icon_pixmap("check", side, token="accent", ratio=self.devicePixelRatioF())
            painter.drawPixmap(x, (self.height() - side) // 2, tick)
        x += side + scaled(8)
        if self._words:
            end = self._paint_state(painter, end)
        painter.setFont(ui_font())
        painter.setPen(QColor(tokens.text))
        title = painter.fontMetrics().elidedText(self._entry.title, Qt.TextElideMode.ElideRight, end - x)
        painter.drawText(QRect(x, 0, end - x, self.height()), Qt.AlignmentFlag.AlignVCenter, title)
        painter.end()

    def _paint_state(self, painter: QPainter, end: int) -> int:
        """A dot and the state in words, right-aligned at `end`; answers where they begin."""
        tokens, dot = current_tokens(), scaled(7)
        painter.setFont(ui_font(t.SMALL_POINTS))
        width = painter.fontMetrics().horizontalAdvance(self._words)
        painter.setPen(QColor(tokens.text_muted))
        area = QRect(end - width, 0, width + 2, self.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self._words)
        end -= width + dot + scaled(6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(str(getattr(tokens, _COLOURS.get(self._entry.state, "border_strong")))))
        painter.drawEllipse(end, (self.height() - dot) // 2, dot, dot)
        return end - scaled(10)


class SessionPopup(QFrame):
    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("session-popup")
        self.setProperty("surface", "card")
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(_PAD, _PAD, _PAD, _PAD)
        column.addWidget(self._area)

    def open_at(self, anchor: QWidget, entries: list[SessionEntry]) -> None:
        """List `entries` below `anchor`."""
        content = QWidget()
        content.setProperty("clear", True)
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for entry in entries:
            row = SessionRow(content, entry, self._words(entry.state))
            row.clicked.connect(lambda _=False, chosen=entry.session_id: self._choose(chosen))
            column.addWidget(row)
        column.addStretch()
        self._area.setWidget(content)
        self._fit(anchor, len(entries))
        self.show()
        if entries and (first := content.findChild(SessionRow)) is not None:
            first.setFocus()

    def _fit(self, anchor: QWidget, rows: int) -> None:
        """As high as its rows, as far as there is room in the window."""
        room, row_height = room_around(anchor).size(), scaled(t.CONTROL_HEIGHT_LARGE)
        # The frame of a style sheet is not part of the contents.
        frame = 2 * (_PAD + 1)
        shown = max(1, min(10, rows, (room.height() - frame) // row_height))
        self._area.setFixedHeight(shown * row_height)
        self.setFixedSize(min(scaled(340), room.width()), shown * row_height + frame)
        self.move(corner(anchor, self.size()))

    def _choose(self, session_id: str) -> None:
        self.close()
        self.chosen.emit(session_id)

    def _words(self, state: str) -> str:
        return {
            "BUSY": self.tr("working"),
            "QUEUED": self.tr("queued"),
            "WAITING_USER": self.tr("waits for you"),
            "PAUSED": self.tr("paused"),
            "ERROR": self.tr("failed"),
        }.get(state, "")


class SessionHeader(QWidget):
    new_requested = Signal()
    list_requested = Signal()
    session_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(self)
        self._title.setObjectName("session-title")
        self._title.setProperty("role", "heading")
        self._popup = SessionPopup(self)
        self._popup.chosen.connect(self.session_chosen)
        self._list = self._button("sessions", "chevron-down", self.tr("Sessions"))
        self._list.clicked.connect(self.list_requested)
        self._new = self._button("new-session", "plus", self.tr("New session"))
        self._new.clicked.connect(self.new_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(24, 8, 16, 8)
        row.setSpacing(4)
        row.addWidget(self._title)
        row.addWidget(self._list)
        row.addStretch(1)
        row.addWidget(self._new)
        theme_notifier().theme_changed.connect(self._size_icons)
        self._size_icons()

    def describe(self, title: str, *, usable: bool) -> None:
        """`usable` is false while there is no session to leave or to add to."""
        self._title.set_text(title)
        self._list.setEnabled(usable)
        self._new.setEnabled(usable)

    def open_list(self, entries: list[SessionEntry]) -> None:
        self._popup.open_at(self._list, entries)

    def _button(self, name: str, drawing: str, title: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setIcon(icon(drawing, "text_muted"))
        button.setAccessibleName(title)
        button.setToolTip(title)
        return button

    def _size_icons(self) -> None:
        for button in (self._list, self._new):
            button.setIconSize(QSize(scaled(16), scaled(16)))
