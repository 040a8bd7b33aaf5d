"""One open text file: the text, whether it is saved, and the questions that come up about it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.panes.files.cards import Card, CardShelf
from holaboss_app.panes.files.document import Document
from holaboss_app.theme.style import mono_font, theme_notifier


class TextArea(QPlainTextEdit):
    """Plain text in a fixed-width font. Ctrl+S asks to save, Escape to leave."""

    save_pressed = Signal()
    escape_pressed = Signal()

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setProperty("bare", "true")
        # What is asked above the text goes before the text, which scrolls anyway.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        theme_notifier().theme_changed.connect(self._dress)
        self._dress()

    def keyPressEvent(self, e: QKeyEvent) -> None:
        if e.matches(QKeySequence.StandardKey.Save):
            self.save_pressed.emit()
        elif e.key() == Qt.Key.Key_Escape:
            self.escape_pressed.emit()
        else:
            super().keyPressEvent(e)

    def raw_text(self) -> str:
        """The text with every character as it was given; `toPlainText` would turn fixed spaces into plain ones."""
        return self.document().toRawText().replace("\u2029", "\n")

    def replace_text(self, text: str) -> None:
        """Show another text, with the caret where it was as far as possible."""
        line = self.textCursor().blockNumber()
        column = self.textCursor().positionInBlock()
        scroll = self.verticalScrollBar().value()
        self.setPlainText(text)
        cursor = self.textCursor()
        block = self.document().findBlockByNumber(min(line, self.blockCount() - 1))
        cursor.setPosition(block.position() + min(column, block.length() - 1))
        self.setTextCursor(cursor)
        self.verticalScrollBar().setValue(scroll)

    def _dress(self) -> None:
        self.setFont(mono_font())
        self.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))


class FileEditor(QWidget):
    """Holds a `Document` and what became of its text. It asks through signals and never saves by itself."""

    dirty_changed = Signal()
    save_requested = Signal()
    overwrite_requested = Signal()
    """Keep mine: save over the version that `theirs_sha256` names."""
    close_confirmed = Signal()
    save_and_close_requested = Signal()
    left = Signal()

    def __init__(self, document: Document, text: str | None = None) -> None:
        super().__init__()
        self._document = document
        self._theirs: Document | None = None
        self.theirs_sha256 = ""
        self.area = TextArea("editor", self.tr("Text of {path}").format(path=document.path))
        self.other = TextArea("editor-theirs", self.tr("The version on disk"))
        self.other.setReadOnly(True)
        self._build_cards()
        self._other_title = QLabel(self.tr("On disk"))
        self._other_title.setProperty("role", "small")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(6)
        layout.addLayout(self._build_head())
        layout.addWidget(CardShelf("file-cards", (self.read_only, self.conflict, self.closing, self.problem)))
        layout.addWidget(self.area, 1)
        layout.addWidget(self._other_title)
        layout.addWidget(self.other, 1)
        self._show_theirs(None)
        self.area.save_pressed.connect(self._save_pressed)
        self.area.escape_pressed.connect(self.left)
        self.load(document)
        if text is not None:
            self.area.setPlainText(text)
            self._set_dirty(text != document.text)
        self.area.document().contentsChanged.connect(self._changed)
        self._changed()

    def _build_head(self) -> QHBoxLayout:
        self.state = QLabel()
        self.state.setObjectName("file-state")
        self.state.setProperty("role", "small")
        self.save = QPushButton(self.tr("Save"))
        self.save.setObjectName("save-file")
        self.save.setToolTip(QKeySequence(QKeySequence.StandardKey.Save).toString())
        self.save.clicked.connect(self.save_requested)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(self.state, 1)
        head.addWidget(self.save)
        return head

    def _build_cards(self) -> None:
        self.read_only = Card("read-only-card", "sunken")
        self.problem = Card("file-problem", "danger")
        self.conflict = Card("conflict-card")
        self.keep_mine = self.conflict.add_button(
            self.tr("Keep mine"), "keep-mine", self.overwrite_requested.emit
        )
        self.load_theirs = self.conflict.add_button(self.tr("Load theirs"), "load-theirs", self._take_theirs)
        self.show_both = self.conflict.add_button(self.tr("Show both"), "show-both", self._compare)
        self.closing = Card("closing-card")
        self.closing.add_button(self.tr("Save"), "save-and-close", self.save_and_close_requested.emit)
        self.closing.add_button(self.tr("Discard"), "discard", self.close_confirmed.emit, "danger")
        self.closing.add_button(self.tr("Cancel"), "keep-open", lambda: self.closing.say(""), "ghost")

    # What it holds

    @property
    def document(self) -> Document:
        return self._document

    @property
    def text(self) -> str:
        return self.area.raw_text()

    @property
    def dirty(self) -> bool:
        """Something typed is not on disk."""
        return self.area.document().isModified()

    @property
    def in_conflict(self) -> bool:
        return not self.conflict.isHidden()

    # What the presenter tells

    def load(self, document: Document) -> None:
        """Show what is on disk. What was typed is gone."""
        self._document = document
        self.settle()
        if self.text != document.text:
            self.area.replace_text(document.text)
        reason = document.read_only_reason
        if not reason and self.text != document.text:
            reason = self.tr("This file holds characters that an editor would change: read-only here.")
        self.read_only.say(reason)
        self.area.setReadOnly(bool(reason))
        self._set_dirty(False)
        self._changed()

    def saving(self) -> None:
        self.problem.say("")
        self.save.setEnabled(False)
        self.state.setText(self.tr("Saving…"))

    def saved(self, document: Document) -> None:
        """`document` is on disk. What was typed meanwhile is still unsaved."""
        self._document = document
        self.settle()
        self._set_dirty(self.text != document.text)
        self._changed()
        if not self.dirty:
            self.state.setText(self.tr("Saved"))

    def failed(self, sentence: str) -> None:
        self.problem.say(sentence)
        self._changed()

    def gone(self) -> None:
        """The file was removed; saving makes it again."""
        self._document = Document(self._document.path, "", self._document.newline, "")
        self.problem.say(self.tr("This file was removed. Saving makes it again."))
        self._set_dirty(True)
        self._changed()

    def meet(self, theirs: Document | None, sha256: str) -> None:
        """Somebody else changed the file. Without `theirs` it is no text any more."""
        self._theirs = theirs
        self.theirs_sha256 = sha256
        self.load_theirs.setVisible(theirs is not None)
        self.show_both.setVisible(theirs is not None)
        self.conflict.say(self.tr("Somebody changed this file while you edited it. Nothing was overwritten."))
        if not self.other.isHidden():
            self._compare()
        self._changed()

    def ask_to_close(self) -> None:
        self.closing.say(self.tr("This file has changes that are not saved."))

    def settle(self) -> None:
        """No question is open any more."""
        for card in (self.conflict, self.closing, self.problem):
            card.say("")
        self._show_theirs(None)

    # Inside

    def _take_theirs(self) -> None:
        if self._theirs is not None:
            self.load(self._theirs)

    def _compare(self) -> None:
        self._show_theirs(self._theirs)

    def _show_theirs(self, theirs: Document | None) -> None:
        self.other.setPlainText("" if theirs is None else theirs.text)
        self.other.setVisible(theirs is not None)
        self._other_title.setVisible(theirs is not None)

    def _save_pressed(self) -> None:
        if self.save.isEnabled():
            self.save_requested.emit()

    def _changed(self) -> None:
        self.save.setEnabled(self.dirty and not self.in_conflict)
        self.state.setText(self.tr("Not saved") if self.dirty else "")
        self.dirty_changed.emit()

    def _set_dirty(self, dirty: bool) -> None:
        self.area.document().setModified(dirty)
