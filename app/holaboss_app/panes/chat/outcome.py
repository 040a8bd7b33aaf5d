"""How a turn ended, or what it is doing: the line under an answer, and the card of a failure."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication, QLocale, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QHideEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QToolButton, QWidget

from holaboss_app.core.models import DEMO_PROVIDER
from holaboss_app.core.reducer import Retry, Status, TextSegment, ToolSegment, TurnError, TurnState
from holaboss_app.panes.chat import trace_words
from holaboss_app.panes.chat.changes_button import ChangesButton
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon, icon_pixmap
from holaboss_app.theme.style import current_tokens, scaled, ui_font
from holaboss_client.undo import TurnChanges

SETTINGS_CODES = frozenset(
    {
        "model_not_configured",
        "provider_key_missing",
        "provider_not_connected",
        "bad_key",
        "authentication",
        "unauthorized",
        "no_such_model",
    }
)
"""Failures that are cured in the settings."""
_PULSE_MS = 420
_WRAPPED = Qt.TextFlag.TextWordWrap

CUT_OFF = frozenset({"interrupted", "host_lost"})
"""Failures that are ours and not the model's: what was said stands, and the run can go on."""


class ActivityLine(QWidget):
    """Three dots and a word while a turn runs. It owns the only timer of the transcript, and only while
    visible."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._text, self._step = "", 0
        self._timer = QTimer(self)
        self._timer.setInterval(_PULSE_MS)
        self._timer.timeout.connect(self._pulse)

    def describe(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.update()

    def fit(self, width: int) -> int:
        # The reason of another attempt may need more than one line.
        metrics = QFontMetrics(self._font())
        text = metrics.boundingRect(0, 0, width - self._text_left(), 10_000, _WRAPPED, self._text)
        return max(scaled(26), text.height() + scaled(8))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        dot, gap = scaled(6), scaled(4)
        for index in range(3):
            painter.setBrush(QColor(tokens.accent if index == self._step else tokens.border_strong))
            painter.drawEllipse(index * (dot + gap), (scaled(26) - dot) // 2, dot, dot)
        painter.setFont(self._font())
        painter.setPen(QColor(tokens.text_muted))
        top = (scaled(26) - painter.fontMetrics().height()) // 2
        painter.drawText(self.rect().adjusted(self._text_left(), top, 0, 0), _WRAPPED, self._text)
        painter.end()

    def _font(self) -> QFont:
        return ui_font(t.UI_POINTS - 0.25)

    def _text_left(self) -> int:
        return 3 * (scaled(6) + scaled(4)) + scaled(6)

    def _pulse(self) -> None:
        self._step = (self._step + 1) % 3
        self.update()


class Footer(QWidget):
    """Under a finished answer: how it ended when that is not obvious, model, time, tokens, and a copy
    button."""

    copy_requested = Signal()
    moved = Signal(bool)
    file_requested = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._changes = ChangesButton(self)
        self._changes.moved.connect(self.moved)
        self._changes.file_requested.connect(self.file_requested)
        self._copy = QToolButton(self)
        self._copy.setIcon(icon("copy", "text_muted"))
        self._copy.setToolTip(self.tr("Copy the answer"))
        self._copy.setAccessibleName(self.tr("Copy the answer"))
        self._copy.clicked.connect(self.copy_requested)
        self._label = QLabel(self)
        self._label.setProperty("role", "small")
        self._label.setTextFormat(Qt.TextFormat.PlainText)

    def describe(self, state: TurnState, changes: TurnChanges | None = None) -> None:
        self._changes.show_changes(changes)
        model = self.tr("demo") if state.provider_id == DEMO_PROVIDER else state.model_id or ""
        parts = [self._ending(state), model, self._duration(state), self._tokens(state)]
        self._label.setText("  ·  ".join(part for part in parts if part))
        self._label.setToolTip(self._usage(state))
        self._copy.setVisible(bool(state.answer))
        self._arrange()

    def fit(self, width: int) -> int:
        return scaled(26)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        side = self.height()
        self._copy.setIconSize(QSize(scaled(14), scaled(14)))
        # The glyph, not its invisible frame, stands on the left edge of the text.
        self._copy.setGeometry(-scaled(5), 0, side, side)
        left = side if self._copy.isVisibleTo(self) else 0
        if self._changes.isVisibleTo(self):
            wide = self._changes.sizeHint().width()
            self._changes.setGeometry(self.width() - wide, -scaled(2), wide, side + scaled(4))
            self._label.setGeometry(left, 0, self.width() - wide - left, side)
        else:
            self._label.setGeometry(left, 0, self.width() - left, side)

    def _ending(self, state: TurnState) -> str:
        if state.status is Status.PAUSED:
            return self.tr("Stopped")
        return self.tr("Waiting for you") if any(tool.state == "waiting" for tool in state.tools) else ""

    def _duration(self, state: TurnState) -> str:
        seconds = state.duration_s
        if seconds is None or seconds < 1:
            return ""
        if seconds < 60:
            return self.tr("%1 s").replace("%1", str(round(seconds)))
        return (
            self.tr("%1 min %2 s")
            .replace("%1", str(int(seconds // 60)))
            .replace("%2", str(int(seconds % 60)))
        )

    def _tokens(self, state: TurnState) -> str:
        if state.usage is None or not (state.usage.input_tokens or state.usage.output_tokens):
            return ""
        text = self.tr("%1 in, %2 out").replace("%1", _number(state.usage.input_tokens))
        return text.replace("%2", _number(state.usage.output_tokens))

    def _usage(self, state: TurnState) -> str:
        """The same for those who ask, with what they do not need every day."""
        usage = state.usage
        if usage is None or not (usage.input_tokens or usage.output_tokens):
            return ""
        lines = [
            self.tr("%1 tokens read by the model").replace("%1", _number(usage.input_tokens)),
            self.tr("%1 tokens written by it").replace("%1", _number(usage.output_tokens)),
        ]
        if usage.cached_input_tokens:
            words = self.tr("%1 of those it read were in its cache")
            lines.insert(1, words.replace("%1", _number(usage.cached_input_tokens)))
        if usage.requests > 1:
            lines.append(self.tr("in %1 requests").replace("%1", _number(usage.requests)))
        return "\n".join(lines)


def _number(value: int) -> str:
    return QLocale().toString(value)


class ErrorCard(QFrame):
    """A run failed: what happened, who said so, and the ways out."""

    retry_requested = Signal()
    continue_requested = Signal()
    settings_requested = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._provider = ""
        self.setProperty("surface", "danger")
        self._icon = QLabel(self)
        self._title = QLabel(self)
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._detail = QLabel(self)
        self._detail.setTextFormat(Qt.TextFormat.PlainText)
        self._detail.setWordWrap(True)
        self._detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._source = QLabel(self)
        self._source.setTextFormat(Qt.TextFormat.PlainText)
        self._source.setProperty("role", "small")
        self._continue = QPushButton(self.tr("Continue"), self)
        self._continue.clicked.connect(self.continue_requested)
        self._retry = QPushButton(self.tr("Try again"), self)
        self._retry.clicked.connect(self.retry_requested)
        self._settings = QPushButton(self.tr("Open model settings"), self)
        self._settings.clicked.connect(self._open_settings)

    def describe(self, error: TurnError, names: Mapping[str, str]) -> None:
        """`names` are the names of providers by id."""
        self._provider = error.provider_id or ""
        name = names.get(self._provider, self._provider)
        source = "  ·  ".join(part for part in (name, error.model_id) if part)
        interrupted = error.code in CUT_OFF
        cut = self.tr("The answer was cut off")
        title = cut if interrupted else self.tr("The model could not answer")
        self._title.setText(title)
        self._source.setText(source)
        self._source.setVisible(bool(source))
        self._detail.setText(error.message or self.tr("There is no further information."))
        self._detail.setAccessibleName(self._detail.text())
        self._continue.setVisible(interrupted)
        self._settings.setVisible(error.code in SETTINGS_CODES)
        self.setAccessibleName(f"{title}. {error.message}")

    def fit(self, width: int) -> int:
        pad, gap = scaled(14), scaled(6)
        font = ui_font()
        font.setBold(True)
        self._title.setFont(font)
        side = scaled(18)
        self._icon.setPixmap(icon_pixmap("alert", side, token="danger", ratio=self.devicePixelRatioF()))
        self._icon.setGeometry(pad, pad, side, side)
        left = pad + side + scaled(10)
        inner = width - left - pad
        y = pad
        for label in (self._title, self._detail, self._source):
            if not label.isVisibleTo(self):
                continue
            height = label.heightForWidth(inner) if label.wordWrap() else label.sizeHint().height()
            label.setGeometry(left, y, inner, height)
            y += height + gap
        y += gap
        x = left
        height = self._retry.sizeHint().height()
        for button in (self._continue, self._retry, self._settings):
            if not button.isVisibleTo(self):
                continue
            button.setGeometry(x, y, button.sizeHint().width(), height)
            x += button.width() + scaled(8)
        return y + height + pad

    def _open_settings(self) -> None:
        self.settings_requested.emit(f"models/{self._provider}" if self._provider else "models")


def activity(state: TurnState) -> str:
    """What a running turn is doing, in a few words."""
    translate = QCoreApplication.translate
    if state.status is Status.WAITING:
        return translate("Activity", "Sending…")
    if state.retry is not None:
        return _announcement(state.retry)
    last = state.segments[-1] if state.segments else None
    if last is None:
        return translate("Activity", "Reading the workspace…")
    if isinstance(last, ToolSegment) and last.state == "running":
        return f"{trace_words.title(last)}…"
    writing = isinstance(last, TextSegment) and not last.thinking
    return translate("Activity", "Writing…") if writing else translate("Activity", "Thinking…")


def _announcement(retry: Retry) -> str:
    """When another attempt follows, which one it is, and why."""
    translate = QCoreApplication.translate
    if retry.delay_s < 100:
        text = translate("Activity", "Trying again in %1 s (attempt %2)")
        wait = max(1, round(retry.delay_s))
    else:
        text = translate("Activity", "Trying again in %1 min (attempt %2)")
        wait = round(retry.delay_s / 60)
    number = str(retry.attempt)
    if retry.attempts:
        number = translate("Activity", "%1 of %2").replace("%1", number).replace("%2", str(retry.attempts))
    text = text.replace("%1", str(wait)).replace("%2", number)
    reason = " ".join(retry.message.split())
    return f"{text}: {reason}" if reason else text
