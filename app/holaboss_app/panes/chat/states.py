"""What the chat pane shows instead of a conversation: nothing yet, on its way, or not to be had."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.core.models import is_demo
from holaboss_app.theme import tokens as t
from holaboss_app.theme.elided_button import ElidedButton
from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import current_tokens, scaled, theme_notifier

_SIDE = 24


class Emblem(QWidget):
    """An icon in a soft circle."""

    def __init__(self, parent: QWidget, name: str) -> None:
        super().__init__(parent)
        self._name = name
        self.restyle()

    def restyle(self) -> None:
        self.setFixedSize(scaled(56), scaled(56))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(current_tokens().bubble))
        painter.drawEllipse(self.rect())
        side = scaled(26)
        place = (self.width() - side) // 2
        painter.drawPixmap(
            place, place, icon_pixmap(self._name, side, token="accent", ratio=self.devicePixelRatioF())
        )
        painter.end()


class EmptyState(QScrollArea):
    """An invitation, and a few things to begin with; it scrolls where there is no room for them."""

    starter_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("empty-state")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside = QWidget(self)
        inside.setProperty("clear", True)
        self._emblem = Emblem(inside, "sparkle")
        self._title = QLabel(inside)
        self._title.setProperty("role", "title")
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._title.setWordWrap(True)
        hint = QLabel(
            self.tr("It reads and changes the files of this workspace, and shows every step."), inside
        )
        hint.setProperty("role", "muted")
        hint.setWordWrap(True)
        column = QVBoxLayout(inside)
        column.setContentsMargins(_SIDE, _SIDE, _SIDE, _SIDE)
        column.setSpacing(10)
        column.addStretch(3)
        column.addWidget(self._emblem, 0, Qt.AlignmentFlag.AlignHCenter)
        for label in (self._title, hint):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
            column.addWidget(label)
        column.addSpacing(10)
        self._show_markdown = self._starter(self.tr("Show me what Markdown looks like here"))
        self._show_markdown.hide()
        self._starters = [*(self._starter(text) for text in self._suggestions()), self._show_markdown]
        for button in self._starters:
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(4)
        self.setWidget(inside)
        theme_notifier().theme_changed.connect(self._restyle)
        self._restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def describe(self, workspace: str) -> None:
        self._title.setText(self.tr("What should happen in %s?").replace("%s", workspace))

    def set_model(self, model: str) -> None:
        """Which model would answer, `provider/model`: only the scripted one is asked to show itself."""
        self._show_markdown.setVisible(is_demo(model))

    def _suggestions(self) -> list[str]:
        return [
            self.tr("What is in this workspace?"),
            self.tr("List the files and say what each is for"),
            self.tr("Write a short note about your role into NOTES.md"),
        ]

    def _starter(self, text: str) -> ElidedButton:
        button = ElidedButton(self)
        button.set_label(text)
        button.setAccessibleName(self.tr("Begin with: %s").replace("%s", text))
        button.clicked.connect(lambda: self.starter_chosen.emit(text))
        return button

    def _restyle(self) -> None:
        self._emblem.restyle()
        self._fit()

    def _fit(self) -> None:
        """The starters are as wide as the widest of them, or as the pane."""
        widest = max(scaled(360), *(button.sizeHint().width() for button in self._starters))
        for button in self._starters:
            button.setFixedWidth(max(1, min(widest, self.viewport().width() - 2 * _SIDE)))


class Skeleton(QWidget):
    """The shape of a conversation that is on its way."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Loading the conversation"))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(current_tokens().hover))
        width = min(self.width() - 2 * scaled(24), scaled(t.MEASURE))
        left = (self.width() - width) // 2
        bubble, bar, y = scaled(40), scaled(12), scaled(14)
        while y < self.height():
            painter.drawRoundedRect(QRectF(left + width * 0.6, y, width * 0.4, bubble), 16, 16)
            y += bubble + scaled(24)
            for part in (0.94, 1.0, 0.88, 0.55):
                painter.drawRoundedRect(QRectF(left, y, width * part, bar), bar / 2, bar / 2)
                y += bar + scaled(13)
            y += scaled(28)
        painter.end()


class Trouble(QWidget):
    """The conversation cannot be shown: why, and another try."""

    retry_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chat-trouble")
        self._text = QLabel(self)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        title = QLabel(self.tr("The conversation cannot be shown"), self)
        title.setProperty("role", "heading")
        title.setWordWrap(True)
        title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        retry = QPushButton(self.tr("Try again"), self)
        retry.clicked.connect(self.retry_requested)
        line = QHBoxLayout()
        line.addStretch()
        line.addWidget(retry)
        line.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(32, 24, 32, 24)
        column.setSpacing(8)
        column.addStretch(3)
        column.addWidget(Emblem(self, "alert"), 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(title)
        column.addWidget(self._text)
        column.addSpacing(6)
        column.addLayout(line)
        column.addStretch(4)

    def describe(self, reason: str) -> None:
        self._text.setText(reason)


class NoWorkspace(QWidget):
    """There is no workspace to talk in."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        text = QLabel(self.tr("Choose or create a workspace to begin."), self)
        text.setProperty("role", "muted")
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        text.setWordWrap(True)
        column = QVBoxLayout(self)
        column.addWidget(text)
