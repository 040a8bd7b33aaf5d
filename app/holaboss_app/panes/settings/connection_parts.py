"""The small widgets of a connection: a dot for its state, and text that is read and copied but never written."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from holaboss_app.theme import tokens as t
from holaboss_app.theme.style import current_tokens, mono_font, scaled, theme_notifier
from holaboss_client.mcp import McpTool


class StateDot(QWidget):
    """A dot in a colour of the theme; the words beside it say the same."""

    def __init__(self) -> None:
        super().__init__()
        self._token = "text_muted"
        theme_notifier().theme_changed.connect(self._resize)
        self._resize()

    def show_token(self, token: str) -> None:
        self._token = token
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(scaled(10), scaled(10))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(str(getattr(current_tokens(), self._token))))
        painter.drawEllipse(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def _resize(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()


class ReadText(QPlainTextEdit):
    """As high as its text up to `lines` lines, then it scrolls. Whatever is in it is shown: long words are broken.

    The keyboard reaches it and leaves it with Tab.
    """

    def __init__(self, name: str, title: str, *, lines: int) -> None:
        super().__init__()
        self._lines = lines
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setProperty("surface", "sunken")
        self.setReadOnly(True)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._grow)
        theme_notifier().theme_changed.connect(self._restyle)
        self._restyle()

    def show_text(self, text: str) -> None:
        if text != self.toPlainText():
            self.setPlainText(text)
            self._grow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._grow()

    def _restyle(self) -> None:
        self.setFont(mono_font(t.SMALL_POINTS))
        self._grow()

    def _grow(self) -> None:
        wanted = max(1, min(self._lines, round(self.document().size().height())))
        around = self.contentsMargins()
        line = ceil(QFontMetricsF(self.font()).lineSpacing())
        # The style sheet pads by five pixels and a border on either side; one has to stay empty below the last line.
        self.setFixedHeight(wanted * line + max(12, around.top() + around.bottom()) + 1)


class ToolList(ReadText):
    """Names of tools, each with what it says of itself, which is text from outside and never more than that."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__(name, title, lines=14)
        self._tools: list[McpTool] = []

    def show_tools(self, tools: list[McpTool]) -> None:
        if tools == self._tools:
            return
        self._tools = tools
        self.clear()
        plain, strong = QTextCharFormat(), QTextCharFormat()
        strong.setFontWeight(QFont.Weight.Bold)
        cursor = QTextCursor(self.document())
        for number, tool in enumerate(tools):
            cursor.insertText(f"\n{tool.name}" if number else tool.name, strong)
            words = " ".join(tool.description.split())
            cursor.insertText(f"  {words}" if words else "", plain)
        self._grow()
