"""What happened between question and answer: one quiet row per tool call and per thought, opened on demand."""

from __future__ import annotations

import json

from PySide6.QtCore import QCoreApplication, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QToolButton, QWidget

from holaboss_app.core.attachments import file_of
from holaboss_app.core.reducer import ToolSegment
from holaboss_app.panes.chat import trace_words as words
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon as icon_of
from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import current_tokens, scaled, ui_font

BLEED = 8
"""A row is wider than the column of text by this much on either side, for the frame under the pointer."""
SHOWN_LINES = 60
"""Lines of a result that are shown."""


class TraceHeader(QAbstractButton):
    """A row that folds and unfolds: icon, title, one muted line, state; and a way to the file that was written."""

    file_requested = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._icon, self._title, self._summary, self._mark = "sparkle", "", "", ""
        self._file = ""
        self._open = QToolButton(self)
        self._open.setObjectName("open-file")
        self._open.setIcon(icon_of("external", "text_muted"))
        self._open.clicked.connect(self._open_file)
        self._open.hide()
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def describe(self, icon: str, title: str, summary: str, mark: str, state: str) -> None:
        """`mark` is `done`, `failed`, `running`, `waiting` or empty; `state` says it in words, for screen readers."""
        self._icon, self._title, self._summary, self._mark = icon, title, summary, mark
        self.setAccessibleName(", ".join(part for part in (title, summary, state) if part))
        self.setToolTip(summary if len(summary) > 40 else "")
        self.update()

    def lead_to(self, path: str) -> None:
        """Offer to show this file of the workspace; an empty path offers nothing."""
        self._file = path
        self._open.setVisible(bool(path))
        name = self.tr("Open %s").replace("%s", path)
        self._open.setAccessibleName(name)
        self._open.setToolTip(name)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = scaled(t.CONTROL_HEIGHT - 4)
        self._open.setIconSize(QSize(scaled(13), scaled(13)))
        left = self.width() - BLEED - 2 * scaled(15) - scaled(16) - side
        self._open.setGeometry(left, (self.height() - side) // 2, side, side)

    def fit(self, width: int) -> int:
        return scaled(t.CONTROL_HEIGHT)

    def sizeHint(self) -> QSize:
        return QSize(scaled(320), scaled(t.CONTROL_HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.hasFocus():
            painter.setPen(QPen(QColor(tokens.accent), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.hover))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), t.RADIUS, t.RADIUS)
        side, x = scaled(15), BLEED
        failed = self._mark == "failed"
        self._draw_icon(painter, self._icon, x, side, "danger" if failed else "text_muted")
        x += side + scaled(9)
        end = self.width() - BLEED - side
        self._draw_icon(
            painter, "chevron-down" if self.isChecked() else "chevron-right", end, side, "text_muted"
        )
        end = self._draw_mark(painter, end - scaled(8), side)
        if self._file:
            end = min(end, self._open.x() - scaled(4))
        x = self._draw_text(
            painter, x, end, self._title, QFont.Weight.Medium, tokens.danger if failed else tokens.text
        )
        self._draw_text(painter, x + scaled(8), end, self._summary, QFont.Weight.Normal, tokens.text_muted)
        painter.end()

    def _draw_icon(self, painter: QPainter, name: str, x: int, side: int, token: str) -> None:
        top = (self.height() - side) // 2
        painter.drawPixmap(x, top, icon_pixmap(name, side, token=token, ratio=self.devicePixelRatioF()))

    def _draw_mark(self, painter: QPainter, end: int, side: int) -> int:
        """The state, right-aligned at `end`; answers where it begins."""
        if self._mark in ("running", "waiting"):
            tokens = current_tokens()
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent if self._mark == "running" else tokens.warning))
            dot = scaled(7)
            painter.drawEllipse(end - dot - scaled(4), (self.height() - dot) // 2, dot, dot)
        elif self._mark:
            failed = self._mark == "failed"
            self._draw_icon(
                painter, "alert" if failed else "check", end - side, side, "danger" if failed else "success"
            )
        return end - side - scaled(8)

    def _draw_text(
        self, painter: QPainter, x: int, end: int, text: str, weight: QFont.Weight, colour: str
    ) -> int:
        font = ui_font(t.UI_POINTS - 0.25)
        font.setWeight(weight)
        painter.setFont(font)
        painter.setPen(QColor(colour))
        metrics = painter.fontMetrics()
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0, end - x))
        painter.drawText(QRect(x, 0, max(0, end - x), self.height()), Qt.AlignmentFlag.AlignVCenter, shown)
        return min(end, x + metrics.horizontalAdvance(shown))

    def _open_file(self) -> None:
        self.file_requested.emit(self._file)


def show_tool(header: TraceHeader, tool: ToolSegment) -> None:
    """Describe one tool call on its row."""
    marks = {"running": "running", "waiting": "waiting", "asked": "", "done": "done"}
    header.describe(
        words.drawing(tool),
        words.title(tool),
        words.subject(tool),
        marks.get(tool.state, "failed"),
        words.state_words(tool),
    )
    header.lead_to(file_of(tool))


def show_thought(header: TraceHeader, text: str, *, running: bool) -> None:
    translate = QCoreApplication.translate
    title = translate("Trace", "Thinking") if running else translate("Trace", "Thought")
    first = next((line.strip(" *#") for line in text.split("\n") if line.strip()), "")
    header.describe("sparkle", title, first, "running" if running else "", "")
    header.lead_to("")


def details(tool: ToolSegment) -> list[tuple[str, str, str]]:
    """`(title, language, text)` of what an opened row shows: what it was asked, why it waited, and what came back."""
    translate = QCoreApplication.translate
    shown = [_asked(tool)]
    if tool.reason:
        shown.append((translate("Trace", "Why"), "", tool.reason))
    if tool.state in ("running", "waiting", "asked"):
        return shown
    if isinstance(diff := tool.details.get("diff"), str) and diff:
        return [*shown[1:], (translate("Trace", "Changes"), "diff", shortened(diff))]
    empty = translate("Trace", "(nothing)")
    return [*shown, (translate("Trace", "Result"), "", shortened(tool.result) or empty)]


def _asked(tool: ToolSegment) -> tuple[str, str, str]:
    translate = QCoreApplication.translate
    if tool.name == "bash" and isinstance(command := tool.arguments.get("command"), str):
        held = words.containment_words(tool.containment)
        return ("  ·  ".join(part for part in (translate("Trace", "Command"), held) if part), "bash", command)
    text = json.dumps(dict(tool.arguments), indent=2, ensure_ascii=False)
    return translate("Trace", "Arguments"), "json", text


def shortened(text: str) -> str:
    """At most `SHOWN_LINES` lines, with a line that says how many more there are."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) <= SHOWN_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[:SHOWN_LINES], _more(len(lines) - SHOWN_LINES)])


def _more(lines: int) -> str:
    translate = QCoreApplication.translate
    if lines == 1:
        return translate("Trace", "… 1 more line")
    return translate("Trace", "… %1 more lines").replace("%1", str(lines))
