"""A block of code: its language, a copy button, and the text, which scrolls sideways and never wraps.

Appending costs what is appended: a plain-text layout does not lay out lines that nobody sees.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent, QTextCursor, QWheelEvent
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QToolButton, QWidget

from holaboss_app.panes.chat.highlight import CodeColours, Lexing, Spans
from holaboss_app.panes.chat.pass_on import keeps_key, keeps_wheel
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import mono_font, scaled

_PAD = 12


class CodeText(QPlainTextEdit):
    """The text itself: no wrapping, no own vertical scrolling."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("bare", True)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.document().setDocumentMargin(0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event) if keeps_wheel(self, event) else event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event) if keeps_key(event) else event.ignore()


class CodeBlock(QFrame):
    """`fit` gives the height in pixels for a width. `open`, `append` and `close_block` follow a growing
    answer."""

    selecting = Signal()

    def __init__(self, parent: QWidget, lexing: Lexing) -> None:
        super().__init__(parent)
        self._lexing = lexing
        self._language = ""
        self._lines = 0
        self.setProperty("surface", "sunken")
        self._label = QLabel(self)
        self._label.setProperty("role", "small")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._copy = QToolButton(self)
        self._copy.setIcon(icon("copy", "text_muted"))
        self._copy.setToolTip(self.tr("Copy the code"))
        self._copy.setAccessibleName(self.tr("Copy the code"))
        self._copy.setAutoRaise(True)
        self._copy.clicked.connect(self._copy_text)
        self._text = CodeText(self)
        self._text.selectionChanged.connect(self._selection_changed)
        self._colours = CodeColours(self._text.document())
        self.restyle()

    @property
    def text(self) -> str:
        return self._text.toPlainText()

    @property
    def has_selection(self) -> bool:
        return self._text.textCursor().hasSelection()

    def restyle(self) -> None:
        self._text.setFont(mono_font(t.PROSE_POINTS - 0.75))
        self._copy.setIconSize(QSize(scaled(14), scaled(14)))
        self._colours.repaint()

    def open(self, language: str, *, title: str = "") -> None:
        """Begin an empty block. `title` replaces the language in the header."""
        self._language = language
        self._label.setText(title or language or self.tr("text"))
        name = self.tr("Code, %s").replace("%s", language) if language else self.tr("Code")
        self._text.setAccessibleName(title or name)
        self._colours.show([])
        self._text.clear()
        self._lines = 0

    def append(self, lines: str) -> None:
        """Add complete lines; the newline of the last one is not shown."""
        cursor = QTextCursor(self._text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(("\n" if self._lines else "") + lines.removesuffix("\n"))
        self._lines = self._text.blockCount()

    def close_block(self) -> None:
        """The text is complete; colours may come."""
        if (known := self._lexing.known(self._language, self.text)) is not None:
            self._colours.show(known)
        else:
            self._lexing.ask(self._language, self.text, self._colour)

    def release(self) -> None:
        """It goes back to the shelf."""
        self._lexing.withdraw(self._colour)

    def fit(self, width: int) -> int:
        line = self._text.fontMetrics().lineSpacing()
        return self._header_height() + max(1, self._lines) * line + 2 * _PAD

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        header, width = self._header_height(), self.width()
        self._label.setGeometry(_PAD, 0, width - 4 * _PAD, header)
        size = scaled(24)
        self._copy.setGeometry(width - size - 4, (header - size) // 2 + 1, size, size)
        # The bottom padding is where the horizontal scroll bar appears when lines are long.
        self._text.setGeometry(_PAD, header + 2, width - _PAD - 2, self.height() - header - 4)

    def _header_height(self) -> int:
        return scaled(30)

    def _colour(self, spans: Spans) -> None:
        self._colours.show(spans)

    def _copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self.text + "\n")

    def _selection_changed(self) -> None:
        if self.has_selection:
            self.selecting.emit()
