"""The conversation as a column of any length, of which only what is visible exists.

The position is an anchor (a turn and a distance into it), never a scroll value: when a guessed height turns
out to be wrong, nothing on screen moves and only the scroll bar is adjusted. "At the end" is a state of its
own, which a growing answer follows until the person scrolls away. It asks for the bodies it needs through
`bodies_wanted` and fetches nothing itself.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping

from PySide6.QtCore import QRectF, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QPushButton, QWidget

from holaboss_app.core.heights import Metrics, RowHeights
from holaboss_app.core.transcript import Transcript
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.tab_walk import TabWalk, Walked
from holaboss_app.panes.chat.trace import BLEED
from holaboss_app.panes.chat.turn_widget import BOTTOM, TOP, TurnWidget
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import current_tokens, scaled, theme_notifier, ui_font
from holaboss_client.undo import TurnChanges

OVERSCAN = 400
"""Pixels above and below the window that are kept ready."""
FLUSH_S = 0.033
"""Shortest time between two updates of a growing answer; the next one waits at least four times what it
cost."""
SPARES = 8
_ROOM_TO_GROW = 1_000
_MARGIN = 24


class TranscriptView(QAbstractScrollArea):
    bodies_wanted = Signal(int, int)
    """First and last row in sight, some of whose bodies are missing."""
    retry_requested = Signal(str)
    continue_requested = Signal()
    settings_requested = Signal(str)
    link_activated = Signal(QUrl)
    move_requested = Signal(str, bool)
    file_requested = Signal(str)
    """A file of the workspace is to be shown, by its path."""
    thumbnail_wanted = Signal(str)
    """A picture of the workspace, by its path, has come into sight."""
    left = Signal()
    """Tab has gone beyond the last thing here."""
    flushed = Signal()
    """What has changed is on screen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._transcript = Transcript()
        self._heights = RowHeights()
        self._left, self._width = 0, 0
        self._anchor = (0, 0)
        self._at_end = True
        self._placing = False
        self._has_bars = False
        self._spans: list[tuple[int, int]] = []
        self._live: dict[str, TurnWidget] = {}
        self._spare: list[TurnWidget] = []
        self._unfolded: defaultdict[str, set[str]] = defaultdict(set)
        self._lexing = Lexing(self)
        self._walk_by_tab = TabWalk(self, self._live.values)
        self._stale: set[str] = set()
        self._provider_names: Mapping[str, str] = {}
        self._changes: Mapping[str, TurnChanges] = {}
        self._next_flush = 0.0
        self._flush_timer = QTimer(self)
        self._flush_timer.setSingleShot(True)
        self._flush_timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._flush_timer.timeout.connect(self.flush)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Conversation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._latest = QPushButton(icon("arrow-down"), " " + self.tr("Jump to latest"), self)
        self._latest.setObjectName("jump-to-latest")
        self._latest.clicked.connect(self.scroll_to_end)
        self._latest.hide()
        theme_notifier().theme_changed.connect(self._restyle)
        self._paint_background()

    # What is shown

    def set_transcript(self, transcript: Transcript, place: tuple[str, int] | None = None) -> None:
        """Show another conversation: at its end, or at a remembered `place`."""
        self._transcript = transcript
        self._unfolded.clear()
        self._stale.clear()
        for input_id in list(self._live):
            self._release(input_id)
        row = transcript.position(place[0]) if place else None
        self._at_end = row is None
        self._anchor = (row, place[1]) if place and row is not None else (0, 0)
        self._estimate()
        self._place()

    def place(self) -> tuple[str, int] | None:
        """Where the person is reading, a turn and the pixels scrolled into it; null at the end."""
        if self._at_end or not len(self._transcript):
            return None
        row, offset = self._anchor
        return self._transcript.rows[row].input_id, offset

    def rows_changed(self, place: tuple[str, int] | None) -> None:
        """Rows were added, removed or replaced; `place` is what `place()` said before."""
        for input_id in [name for name in self._live if self._transcript.position(name) is None]:
            self._release(input_id)
        if place is not None:
            row = self._transcript.position(place[0])
            self._at_end = row is None
            self._anchor = (row or 0, place[1])
        self._estimate()
        self._place()

    def row_appended(self) -> None:
        """One row was added at the end."""
        self._heights.append(self._transcript.rows[-1].estimated_height(self._metrics()))
        self._place()

    def turn_renamed(self, input_id: str, new_id: str) -> None:
        """The same turn has another id now."""
        if (widget := self._live.pop(input_id, None)) is not None:
            self._live[new_id] = widget
        if input_id in self._unfolded:
            self._unfolded[new_id] = self._unfolded.pop(input_id)

    def bodies_arrived(self) -> None:
        """Some missing bodies are here."""
        self._stale.update(self._live)
        self.flush()

    def turn_changed(self, input_id: str) -> None:
        """A live turn has grown; it is brought up to date soon, and not more often than it can be drawn."""
        self._stale.add(input_id)
        if not self._flush_timer.isActive():
            self._flush_timer.start(max(0, round((self._next_flush - time.perf_counter()) * 1000)))

    def flush(self) -> None:
        """Bring what has changed up to date now."""
        started = time.perf_counter()
        stale, self._stale = self._stale, set()
        for input_id in stale:
            if (widget := self._live.get(input_id)) is not None:
                widget.refresh()
            elif (row := self._transcript.grown(input_id)) is not None:
                self._heights[row] = self._transcript.rows[row].estimated_height(self._metrics())
        self._place()
        ended = time.perf_counter()
        self._next_flush = ended + max(FLUSH_S, 4 * (ended - started))
        self.flushed.emit()

    def show_changes(self, changes: Mapping[str, TurnChanges]) -> None:
        """What turns did to files, by input id."""
        self._changes = changes
        for widget in (*self._live.values(), *self._spare):
            widget.show_changes(changes)
        self._place()

    def name_providers(self, names: Mapping[str, str]) -> None:
        """What providers are called, by id."""
        self._provider_names = names
        for widget in self._live.values():
            widget.name_providers(names)
        self._place()

    def show_thumbnail(self, path: str, picture: QPixmap) -> None:
        """What a picture of the workspace looks like."""
        for widget in self._live.values():
            widget.show_thumbnail(path, picture)

    def announce(self, text: str) -> None:
        """Have a screen reader say `text` when it has time."""
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def scroll_to_end(self) -> None:
        self._at_end = True
        self._place()

    def scroll_by(self, pixels: int) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + pixels)

    @property
    def at_end(self) -> bool:
        return self._at_end

    @property
    def live_widgets(self) -> int:
        """Turn widgets that are on screen or close to it."""
        return len(self._live)

    # Where it goes

    def _metrics(self) -> Metrics:
        font = QFontMetricsF(ui_font(t.PROSE_POINTS))
        padding = scaled(TOP + BOTTOM + 60)
        width = font.averageCharWidth() * 1.05
        return Metrics(self._width, font.lineSpacing() * 1.4, width, padding, scaled(t.CONTROL_HEIGHT + 2))

    def _set_column(self) -> None:
        side = scaled(_MARGIN)
        room = self.width() - 2 * side
        self._width = max(120, min(room, scaled(t.MEASURE)))
        self._left = side + max(0, (room - self._width) // 2)

    def _estimate(self) -> None:
        """Guess the heights of all rows again."""
        metrics = self._metrics()
        self._heights = RowHeights(row.estimated_height(metrics) for row in self._transcript.rows)

    def _place(self) -> None:
        """Put the widgets of all rows in sight where they belong, starting from the anchor."""
        if self._placing:
            return
        self._placing = True
        try:
            self._spans = self._walk() if len(self._transcript) else []
            shown = {self._transcript.rows[row].input_id for row, _ in self._spans}
            for input_id in [name for name in self._live if name not in shown]:
                self._release(input_id)
            for row, top in self._spans:
                widget = self._live.get(self._transcript.rows[row].input_id)
                if widget is not None:
                    height = self._with_room(row)
                    widget.setGeometry(self._left - BLEED, top, self._width + 2 * BLEED, height)
                    widget.settle()
            self._remember_anchor()
            self._adjust_scroll_bar()
        finally:
            self._placing = False
        self._show_latest_button()
        self._ask_for_bodies()

    def _with_room(self, row: int) -> int:
        """The height of a widget. The last one, while it grows, has room below what it shows: so it only moves with
        each update, and what was drawn is shifted instead of drawn again."""
        height, state = self._heights[row], self._transcript.state(row)
        if row < len(self._transcript) - 1 or state is None or state.is_final:
            return height
        return (height // _ROOM_TO_GROW + 1) * _ROOM_TO_GROW

    def _walk(self) -> list[tuple[int, int]]:
        """Rows in sight with their tops, measured on the way."""
        height, count = self.viewport().height(), len(self._transcript)
        if not self._at_end:
            row = min(self._anchor[0], count - 1)
            spans = [*self._walk_up(row - 1, -self._anchor[1]), *self._walk_down(row, -self._anchor[1])]
            last, top = spans[-1]
            if last < count - 1 or top + self._heights[last] >= height:
                return self._not_below_start(spans)
            self._at_end = True
        return self._not_below_start(self._walk_up(count - 1, height))

    def _walk_up(self, row: int, bottom: int) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        while row >= 0 and bottom > -OVERSCAN:
            bottom -= self._measure(row)
            spans.append((row, bottom))
            row -= 1
        return spans[::-1]

    def _walk_down(self, row: int, top: int) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        while row < len(self._transcript) and top < self.viewport().height() + OVERSCAN:
            spans.append((row, top))
            top += self._measure(row)
            row += 1
        return spans

    def _not_below_start(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The first row never hangs below the top edge."""
        row, top = spans[0]
        if row > 0 or top <= 0:
            return spans
        return self._walk_down(0, 0)

    def _measure(self, row: int) -> int:
        """The height of a row: exact when its body is here, else the guess."""
        state = self._transcript.state(row)
        if state is None:
            return self._heights[row]
        widget = self._live.get(state.input_id)
        if widget is None:
            widget = self._take_widget()
            widget.name_providers(self._provider_names)
            self._live[state.input_id] = widget
            widget.bind(state, self._unfolded[state.input_id])
            widget.show()
        height = widget.measure(self._width)
        self._heights[row] = height
        return height

    def _remember_anchor(self) -> None:
        row, offset = self._anchor
        if (row, -offset) in self._spans and self._transcript.state(row) is None:
            # Its height is a guess: the place is kept as it is meant until the body says where that is.
            return
        for row, top in self._spans:
            if top + self._heights[row] > 0:
                self._anchor = (row, -top)
                return

    def _adjust_scroll_bar(self) -> None:
        bar, height = self.verticalScrollBar(), self.viewport().height()
        furthest = max(0, self._heights.total() - height)
        bar.setPageStep(height)
        bar.setSingleStep(scaled(40))
        bar.setRange(0, furthest)
        row, offset = self._anchor
        bar.setValue(furthest if self._at_end else self._heights.top(row) + offset)

    def _ask_for_bodies(self) -> None:
        """Where a body is missing the view draws bars; everything else is drawn by widgets, which know what changed."""
        missing = any(self._transcript.state(row) is None for row, _ in self._spans)
        if missing or self._has_bars:
            self.viewport().update()
        self._has_bars = missing
        if missing:
            self.bodies_wanted.emit(self._spans[0][0], self._spans[-1][0])

    def _show_latest_button(self) -> None:
        bar = self.verticalScrollBar()
        away = not self._at_end and bar.value() < bar.maximum() - scaled(40)
        self._latest.setVisible(away)
        if away:
            size = self._latest.sizeHint()
            area = self.viewport().geometry()
            self._latest.setGeometry(
                area.center().x() - size.width() // 2,
                area.bottom() - size.height() - scaled(12),
                size.width(),
                size.height(),
            )
            self._latest.raise_()

    # Widgets

    def _take_widget(self) -> TurnWidget:
        if self._spare:
            return self._spare.pop()
        widget = TurnWidget(self.viewport(), self._lexing)
        widget.changed.connect(self._unpin)
        widget.selecting.connect(self._stop_following)
        widget.retry_requested.connect(self.retry_requested)
        widget.continue_requested.connect(self.continue_requested)
        widget.settings_requested.connect(self.settings_requested)
        widget.link_activated.connect(self.link_activated)
        widget.move_requested.connect(self.move_requested)
        widget.file_requested.connect(self.file_requested)
        widget.thumbnail_wanted.connect(self.thumbnail_wanted)
        widget.show_changes(self._changes)
        return widget

    def _release(self, input_id: str) -> None:
        widget = self._live.pop(input_id)
        widget.unbind()
        if len(self._spare) < SPARES:
            self._spare.append(widget)
        else:
            widget.deleteLater()

    def _unpin(self) -> None:
        """Something was unfolded: what the person looked at stays where it is."""
        self._at_end = False
        self._place()

    def _stop_following(self) -> None:
        """A growing answer must not move away under a selection."""
        if self._at_end and self.verticalScrollBar().maximum():
            self._at_end = False
            self._show_latest_button()

    def _restyle(self) -> None:
        for widget in (*self._spare, *self._live.values()):
            widget.hide()
            widget.deleteLater()
        self._spare.clear()
        self._live.clear()
        self._paint_background()
        self._set_column()
        self._estimate()
        self._place()

    def _paint_background(self) -> None:
        palette = self.palette()
        for role in (palette.ColorRole.Base, palette.ColorRole.Window):
            palette.setColor(role, QColor(current_tokens().pane))
        self.setPalette(palette)

    def enter(self, *, forward: bool) -> None:
        """Tab has come into the conversation from outside."""
        self._walk_by_tab.enter(forward=forward)

    # Qt

    def focusNextPrevChild(self, forward: bool) -> bool:
        went = self._walk_by_tab.step(self.focusWidget(), forward=forward)
        if went is Walked.BEYOND:
            self.left.emit()
        elif went is Walked.BEFORE:
            self.setFocus(Qt.FocusReason.BacktabFocusReason)
        return went is not Walked.NOWHERE or super().focusNextPrevChild(forward)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if self._placing or not len(self._transcript):
            return
        bar = self.verticalScrollBar()
        self._at_end = bar.value() >= bar.maximum()
        self._anchor = self._heights.row_at(bar.value())
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        before = self._width
        self._set_column()
        if before != self._width:
            # Showing the scroll bar must not come here: it would throw away every height that is known.
            self._anchor = (self._anchor[0], self._anchor[1] * before // max(1, self._width))
            self._estimate()
        self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = self.viewport().height() - scaled(60)
        steps = {
            Qt.Key.Key_PageDown: page,
            Qt.Key.Key_Space: page,
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_Down: scaled(40),
            Qt.Key.Key_Up: -scaled(40),
        }
        if (step := steps.get(Qt.Key(event.key()))) is not None:
            self.scroll_by(step)
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        elif event.key() == Qt.Key.Key_Home:
            self.verticalScrollBar().setValue(0)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Grey bars where a body is still on its way."""
        missing = [(row, top) for row, top in self._spans if self._transcript.state(row) is None]
        if not missing:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(current_tokens().hover))
        for row, top in missing:
            self._paint_bars(painter, top, self._heights[row])
        painter.end()

    def _paint_bars(self, painter: QPainter, top: int, height: int) -> None:
        bar, gap = scaled(12), scaled(14)
        widths = (0.9, 0.97, 0.82, 0.6)
        for index in range(max(1, min(40, (height - scaled(TOP + BOTTOM)) // (bar + gap)))):
            y = top + scaled(TOP) + index * (bar + gap)
            if -bar < y < self.viewport().height():
                length = self._width * widths[index % len(widths)]
                painter.drawRoundedRect(QRectF(self._left, y, length, bar), bar / 2, bar / 2)
