"""One turn on screen: what the person said, and a column of everything the answer consists of.

It draws a `TurnState` and holds no truth of its own. `refresh` brings it up to date with what is new,
`arrange` puts its parts below each other for a width and answers the height. Turn widgets are reused:
binding one to another turn keeps its widgets and replaces their contents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QPoint, QRect, Qt, QUrl, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QPushButton, QWidget

from holaboss_app.core.attachments import outputs_of
from holaboss_app.core.reducer import TextSegment, ToolSegment, TurnState
from holaboss_app.panes.chat.file_chips import ChipFlow, face_of
from holaboss_app.panes.chat.folded import FoldedPart
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.notice_line import NoticeLine
from holaboss_app.panes.chat.outcome import ActivityLine, ErrorCard, Footer, activity
from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.panes.chat.spacing import distance
from holaboss_app.panes.chat.text_column import Piece, Shelf, TextColumn
from holaboss_app.panes.chat.trace import BLEED, TraceHeader
from holaboss_app.theme import tokens as t
from holaboss_app.theme.style import current_tokens, scaled
from holaboss_client.attachments import MessageAttachment
from holaboss_client.undo import TurnChanges

TOP, BOTTOM, GAP = 12, 12, 8
_PAD_X, _PAD_Y = 14, 9
_FOLDED_HEIGHT = 220
_MESSAGE = "message"
"""The name under which an unfolded long message is remembered."""

_Placed: TypeAlias = Piece | TraceHeader | NoticeLine | ActivityLine | ErrorCard | Footer | ChipFlow
Part: TypeAlias = TextColumn | FoldedPart
Key: TypeAlias = tuple[int, str]


class TurnWidget(QWidget):
    """`changed` asks for a new layout after something was folded or unfolded."""

    changed = Signal()
    selecting = Signal()
    retry_requested = Signal(str)
    continue_requested = Signal()
    settings_requested = Signal(str)
    link_activated = Signal(QUrl)
    move_requested = Signal(str, bool)
    """Take back (False) or put back (True) what a turn did to files."""
    file_requested = Signal(str)
    """A file of the workspace is to be shown, by its path."""
    thumbnail_wanted = Signal(str)

    def __init__(self, parent: QWidget, lexing: Lexing) -> None:
        super().__init__(parent)
        # What Qt knows to be whole it can shift, instead of drawing everything again.
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._state: TurnState | None = None
        self._unfolded: set[str] = set()
        self._shelf = Shelf(self, lexing, self._adopt)
        self._parts: dict[Key, Part] = {}
        self._headers: list[TraceHeader] = []
        self._notices: list[NoticeLine] = []
        self._bubble = QRect()
        self._places: list[tuple[QWidget, QRect]] = []
        self._dirty = True
        self._arranged = (-1, 0)
        self._message = ProseView(self)
        self._adopt(self._message)
        self._attached = self._flow(self.tr("Files of your message"))
        self._outputs = self._flow(self.tr("What the turn made"))
        self._more = QPushButton(self)
        self._more.setProperty("kind", "link")
        self._more.clicked.connect(partial(self._toggle, _MESSAGE))
        self._activity = ActivityLine(self)
        self._error = ErrorCard(self)
        self._error.retry_requested.connect(self._retry)
        self._error.continue_requested.connect(self.continue_requested)
        self._error.settings_requested.connect(self.settings_requested)
        self._footer = Footer(self)
        self._footer.copy_requested.connect(self._copy_answer)
        self._footer.moved.connect(self._move)
        self._footer.file_requested.connect(self.file_requested)
        self._changes: Mapping[str, TurnChanges] = {}
        self._provider_names: Mapping[str, str] = {}

    def bind(self, state: TurnState, unfolded: set[str]) -> None:
        """Show another turn. `unfolded` is kept by the caller and remembers what a person opened."""
        self._state, self._unfolded = state, unfolded
        self._message.setAccessibleName(self.tr("Your message"))
        self.setAccessibleName(self.tr("Conversation turn"))
        self._message.set_plain(state.text.strip("\n"))
        self.refresh()

    def show_thumbnail(self, path: str, picture: QPixmap) -> None:
        """What a file of the workspace looks like."""
        for flow in (self._attached, self._outputs):
            flow.show_picture(path, picture)

    def name_providers(self, names: Mapping[str, str]) -> None:
        """What providers are called, by id."""
        if names != self._provider_names:
            self._provider_names = names
            self.refresh()

    def show_changes(self, changes: Mapping[str, TurnChanges]) -> None:
        """What turns did to files, by input id."""
        self._changes = changes
        self.refresh()

    def unbind(self) -> None:
        self.hide()
        for key in list(self._parts):
            self._drop(key)
        self._activity.hide()
        for flow in (self._attached, self._outputs):
            flow.show_faces([], {})
        for line in self._notices:
            line.hide()
        self._places.clear()
        self._state = None

    def restyle(self) -> None:
        """The theme or the text scale changed."""
        for piece in [self._message, *self._pieces()]:
            piece.restyle()
        for part in self._parts.values():
            if isinstance(part, TextColumn):
                part.settled = 0
        self._dirty = True

    def refresh(self) -> None:
        """Bring everything up to date with the state."""
        state = self._state
        if state is None:
            return
        self._dirty = True
        if self._message.text != (text := state.text.strip("\n")):
            self._message.set_plain(text)
        self._show_files(self._attached, state.attachments)
        wanted: set[Key] = set()
        segments = state.segments
        for segment in segments:
            key = _key(segment)
            wanted.add(key)
            running = not state.is_final and segment is segments[-1]
            self._show_segment(key, segment, running=running, final=state.is_final or not running)
        for key in self._parts.keys() - wanted:
            self._drop(key)
        self._show_notices(state)
        self._show_outcome(state)

    def arrange(self, width: int) -> int:
        """Lay everything out for `width`; the height in pixels."""
        height = self.measure(width)
        self.settle()
        return height

    def measure(self, width: int) -> int:
        """The height for `width`, in pixels; nothing moves before `settle`. Costs nothing when nothing changed."""
        if not self._dirty and self._arranged[0] == width:
            return self._arranged[1]
        self._places.clear()
        y = self._arrange_message(scaled(TOP), width)
        said = [line for line in self._notices if line.isVisibleTo(self)]
        for line in said:
            y = self._put(line, BLEED, y, width) + scaled(2)
        y += scaled(GAP) if said else 0
        after_row = False
        for key in sorted(self._parts):
            part = self._parts[key]
            if isinstance(part, FoldedPart):
                y = self._arrange_folded(part, y, width)
            else:
                y = self._arrange_text(part, y + (scaled(GAP) if after_row else 0), width) + scaled(GAP)
            after_row = isinstance(part, FoldedPart)
        if self._outputs.isVisibleTo(self):
            y = self._put(self._outputs, BLEED, y + scaled(GAP), width) + scaled(GAP)
        for widget in (self._error, self._activity, self._footer):
            if widget.isVisibleTo(self):
                y = self._put(widget, BLEED, y + scaled(2), width) + scaled(2)
        self._dirty = False
        self._arranged = (width, y + scaled(BOTTOM))
        return self._arranged[1]

    def settle(self) -> None:
        """Move the parts to where `measure` has put them. Apart from it, because a turn that is moved first and
        changed then is shifted as it stands, and otherwise drawn anew."""
        for widget, place in self._places:
            if widget.geometry() != place:
                widget.setGeometry(place)
        self._places.clear()

    def stops(self) -> list[QWidget]:
        """What the keyboard can reach here, from the first line to the last."""
        found = [
            child
            for child in self.findChildren(QWidget)
            if child.focusPolicy() & Qt.FocusPolicy.TabFocus and child.isVisibleTo(self) and child.isEnabled()
        ]
        places = {child: child.mapTo(self, QPoint(0, 0)) for child in found}
        return sorted(found, key=lambda child: (places[child].y() // scaled(8), places[child].x()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), QColor(current_tokens().pane))
        if self._bubble.isEmpty() or not event.rect().intersects(self._bubble):
            painter.end()
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(0, 0, 0, 0))
        painter.setBrush(QColor(current_tokens().bubble))
        painter.drawRoundedRect(self._bubble, t.RADIUS_BUBBLE, t.RADIUS_BUBBLE)
        painter.end()

    def _show_segment(
        self, key: Key, segment: TextSegment | ToolSegment, *, running: bool, final: bool
    ) -> None:
        part = self._parts.get(key)
        if isinstance(segment, TextSegment) and not segment.thinking:
            if not isinstance(part, TextColumn):
                part = self._parts[key] = TextColumn(self._shelf)
            part.show(segment.text, final=final)
            return
        if not isinstance(part, FoldedPart):
            part = self._parts[key] = FoldedPart(self._take_header(key), self._shelf)
        unfolded = _name(key) in self._unfolded
        if isinstance(segment, ToolSegment):
            part.show_tool(segment, unfolded=unfolded)
        else:
            part.show_thought(segment, running=running, unfolded=unfolded)

    def _show_notices(self, state: TurnState) -> None:
        notices = state.notices
        while len(self._notices) < len(notices):
            line = NoticeLine(self)
            line.settings_requested.connect(self.settings_requested)
            self._notices.append(line)
        for number, line in enumerate(self._notices):
            line.setVisible(number < len(notices))
            if number < len(notices):
                line.describe(notices[number])

    def _show_files(self, flow: ChipFlow, files: Sequence[MessageAttachment]) -> None:
        if flow.show_faces([face_of(file) for file in files], {}):
            for file in files:
                if file.kind == "image":
                    self.thumbnail_wanted.emit(file.workspace_path)

    def _show_outcome(self, state: TurnState) -> None:
        self._show_files(self._outputs, outputs_of(state.tools) if state.is_final else ())
        self._activity.setVisible(not state.is_final)
        self._activity.describe(activity(state))
        self._error.setVisible(state.error is not None)
        if state.error is not None:
            self._error.describe(state.error, self._provider_names)
        changes = self._changes.get(state.input_id)
        # A failed turn may have said and done something all the same: that is still there to be copied and undone.
        worked = state.error is None or changes is not None or bool(state.answer_length)
        self._footer.setVisible(state.is_final and worked)
        if state.is_final:
            self._footer.describe(state, changes)

    def _arrange_text(self, column: TextColumn, y: int, width: int) -> int:
        """Put the pieces below each other; those that are settled and stand where they should are left alone."""
        pieces, bottoms = column.pieces, column.bottoms
        if column.arranged != (y, width):
            column.arranged, column.settled = (y, width), 0
        del bottoms[column.settled :]
        for piece in pieces[column.settled :]:
            top = y
            if bottoms:
                top = bottoms[-1] + distance(pieces[len(bottoms) - 1], piece)
            bottoms.append(self._put(piece, BLEED, top, width))
        column.settled = len(pieces)
        return bottoms[-1] if bottoms else y

    def _arrange_folded(self, part: FoldedPart, y: int, width: int) -> int:
        y = self._put(part.header, 0, y, width + 2 * BLEED) + scaled(2)
        indent = scaled(24)
        for piece in part.pieces:
            y = self._put(piece, BLEED + indent, y + scaled(2), width - indent) + scaled(6)
        return y

    def _arrange_message(self, y: int, width: int) -> int:
        """The bubble on the right: text, of which a long one is folded, and files below it."""
        with_text, with_files = bool(self._message.text), self._attached.isVisibleTo(self)
        self._message.setVisible(with_text)
        if not with_text:
            self._more.hide()
        if not with_text and not with_files:
            self._bubble = QRect()
            return y
        pad_x, pad_y = scaled(_PAD_X), scaled(_PAD_Y)
        widest = min(round(width * 0.82), scaled(600)) - 2 * pad_x
        inner = self._message.natural_width(widest) if with_text else 0
        if with_files:
            inner = max(inner, self._attached.natural_width(widest))
        left, end = BLEED + width - inner - 2 * pad_x, y + pad_y
        if with_text:
            end = self._arrange_words(left + pad_x, end, inner)
        if with_files:
            end += scaled(GAP) if with_text else 0
            height = self._attached.fit(inner)
            self._attached.setGeometry(left + pad_x, end, inner, height)
            end += height
        bubble = QRect(left, y, inner + 2 * pad_x, end + pad_y - y)
        if bubble != self._bubble:
            self._bubble = bubble
            self.update()
        return self._bubble.bottom() + 1 + scaled(14)

    def _arrange_words(self, left: int, top: int, inner: int) -> int:
        """Put the text of the message there; the bottom of what is written."""
        full = self._message.fit(inner)
        limit = scaled(_FOLDED_HEIGHT)
        long = full > limit * 1.25
        shown = full if not long or _MESSAGE in self._unfolded else self._message.whole_lines(limit)
        self._more.setVisible(long)
        more = self._more.sizeHint().height() if long else 0
        # Qt puts the air of a line below its text; the bubble gives it back above.
        air = round(self._message.fontMetrics().lineSpacing() * 0.1)
        self._message.setGeometry(left, top + air, inner, shown)
        if long:
            text = self.tr("Show less") if _MESSAGE in self._unfolded else self.tr("Show all")
            self._more.setText(text)
            self._more.setGeometry(left - 3, top + shown + 2, self._more.sizeHint().width(), more)
        return top + shown + more - air

    def _put(self, widget: _Placed, x: int, y: int, width: int) -> int:
        """Find a place for `widget`; answers its bottom."""
        height = widget.fit(width)
        self._places.append((widget, QRect(x, y, width, height)))
        return y + height

    def _pieces(self) -> list[Piece]:
        return [piece for part in self._parts.values() for piece in part.pieces]

    def _adopt(self, piece: Piece) -> None:
        piece.selecting.connect(self.selecting)
        if isinstance(piece, ProseView):
            piece.link_activated.connect(self.link_activated)

    def _flow(self, name: str) -> ChipFlow:
        flow = ChipFlow(self)
        flow.setAccessibleName(name)
        flow.opened.connect(self.file_requested)
        return flow

    def _take_header(self, key: Key) -> TraceHeader:
        header = self._headers.pop() if self._headers else self._new_header()
        header.setProperty("fold", _name(key))
        header.clicked.connect(self._header_clicked)
        header.show()
        return header

    def _new_header(self) -> TraceHeader:
        header = TraceHeader(self)
        header.file_requested.connect(self.file_requested)
        return header

    def _drop(self, key: Key) -> None:
        part = self._parts.pop(key)
        part.clear()
        if isinstance(part, FoldedPart):
            part.header.hide()
            part.header.clicked.disconnect(self._header_clicked)
            self._headers.append(part.header)

    def _header_clicked(self) -> None:
        header = self.sender()
        if isinstance(header, TraceHeader):
            self._toggle(str(header.property("fold")))

    def _toggle(self, name: str) -> None:
        self._unfolded ^= {name}
        self.refresh()
        self.changed.emit()

    def _retry(self) -> None:
        if self._state is not None:
            self.retry_requested.emit(self._state.input_id)

    def _move(self, forward: bool) -> None:
        if self._state is not None:
            self.move_requested.emit(self._state.input_id, forward)

    def _copy_answer(self) -> None:
        if self._state is not None:
            QGuiApplication.clipboard().setText(self._state.answer)


def _key(segment: TextSegment | ToolSegment) -> Key:
    if isinstance(segment, ToolSegment):
        return segment.content_index, f"tool {segment.call_id}"
    return segment.content_index, "thinking" if segment.thinking else "text"


def _name(key: Key) -> str:
    return f"{key[0]} {key[1]}"
