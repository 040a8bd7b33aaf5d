"""The field a message is written in: it grows with its text, and files and pictures can be pasted into it.

It sends nothing and reads no file: it says that somebody wants to.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragMoveEvent,
    QFocusEvent,
    QImage,
    QInputMethodEvent,
    QKeyEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from holaboss_app.core.attachments import PATHS_MIME
from holaboss_app.theme import tokens as t
from holaboss_app.theme.style import scaled, ui_font

TALLEST = 220
_TWICE_S = 1.5
_NONE = Qt.KeyboardModifier.NoModifier


def local_files(source: QMimeData) -> list[str]:
    """The files of this computer that somebody drags or has copied."""
    return [url.toLocalFile() for url in source.urls() if url.isLocalFile()] if source.hasUrls() else []


def workspace_paths(source: QMimeData) -> list[str]:
    """Files of the workspace that are dragged from the file tree, as `PATHS_MIME` has them."""
    if not source.hasFormat(PATHS_MIME):
        return []
    text = bytes(source.data(PATHS_MIME).data()).decode("utf-8", "replace")
    return [line for line in text.split("\n") if line]


def brings_files(source: QMimeData) -> bool:
    return bool(source.hasFormat(PATHS_MIME) or local_files(source))


class MessageField(QPlainTextEdit):
    """Enter sends, Shift+Enter breaks the line; neither while an input method composes a character."""

    submitted = Signal()
    stop_requested = Signal()
    recall_requested = Signal()
    escape_pressed_once = Signal()
    focus_changed = Signal()
    files_pasted = Signal(list)
    """Names of files of this computer, as text."""
    picture_pasted = Signal(QImage)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._composing = False
        self._escaped_at = 0.0
        self.setObjectName("composer")
        self.setProperty("bare", True)
        self.setAccessibleName(self.tr("Message"))
        self.setPlaceholderText(self.tr("Write a message"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._grow)
        self.restyle()

    def restyle(self) -> None:
        self.setFont(ui_font(t.PROSE_POINTS))
        # The placeholder is drawn with the font of the viewport, which keeps the one it began with.
        self.viewport().setFont(self.font())
        self._grow()

    def replace(self, text: str) -> None:
        """Other text, with the caret behind it."""
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return brings_files(source) or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Files and pictures are attached. What also has words (cells of a table, a piece of a page) is text."""
        if files := local_files(source):
            self.files_pasted.emit(files)
        elif source.hasImage() and not source.hasText():
            picture = source.imageData()
            if isinstance(picture, QImage) and not picture.isNull():
                self.picture_pasted.emit(picture)
        else:
            super().insertFromMimeData(source)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        # Files go to the whole pane, which says where they land.
        event.ignore() if brings_files(event.mimeData()) else super().dragEnterEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.ignore() if brings_files(event.mimeData()) else super().dragMoveEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._composing = False
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, plain = event.key(), event.modifiers() in (_NONE, Qt.KeyboardModifier.KeypadModifier)
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            if not self._composing:
                self.submitted.emit()
        elif key == Qt.Key.Key_Escape:
            self._escape()
        elif key == Qt.Key.Key_Up and plain and not self.toPlainText():
            self.recall_requested.emit()
        else:
            super().keyPressEvent(event)

    def _escape(self) -> None:
        now = time.monotonic()
        if now - self._escaped_at < _TWICE_S:
            self._escaped_at = 0.0
            self.stop_requested.emit()
        else:
            self._escaped_at = now
            self.escape_pressed_once.emit()

    def _grow(self) -> None:
        line = self.fontMetrics().lineSpacing()
        # A plain-text layout measures its height in lines.
        lines = max(1, round(self.document().size().height()))
        tallest = scaled(TALLEST)
        self.setFixedHeight(min(lines * line, tallest) + 4)
        wanted = lines * line > tallest
        policies = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policies.ScrollBarAsNeeded if wanted else policies.ScrollBarAlwaysOff)
