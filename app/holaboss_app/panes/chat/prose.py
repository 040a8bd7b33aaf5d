"""One piece of Markdown or plain text on screen.

What a model writes is not trusted: raw HTML is shown as text, no image or style sheet is ever loaded, and a
link only says where it wants to go. Selecting and copying are Qt's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QWidget

from holaboss_app.panes.chat.pass_on import keeps_key, keeps_wheel
from holaboss_app.theme import tokens as t
from holaboss_app.theme.style import current_tokens, mono_font, scale, scaled, ui_font

LINKS = ("http", "https", "mailto")
BETWEEN_BLOCKS, ABOVE_HEADING = 7, 16
"""Space above a block, in pixels at 100 %. A heading is nearer to what it is the heading of."""
_MARKDOWN = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_NOTHING = QImage(1, 1, QImage.Format.Format_ARGB32)
_NOTHING.fill(Qt.GlobalColor.transparent)
_LINE_HEIGHT, _HEADING_LINE_HEIGHT, _TABLE_LINE_HEIGHT = 140.0, 120.0, 105.0
_HEADING_POINTS = {1: 15.0, 2: 13.0, 3: 11.5}
_NARROWEST_COLUMN = 84
_PERCENT = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value


class ProseView(QTextBrowser):
    """A column of text as high as it needs to be: `fit` lays it out for a width and gives the height in
    pixels."""

    link_activated = Signal(QUrl)
    selecting = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ""
        self._muted = False
        self._plain = False
        self._columns = 0
        """Of a table that is all there is here; 0 for anything else."""
        self._laid_out: tuple[int, int] = (-1, 0)
        self._natural: tuple[int, int] = (-1, 0)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Otherwise Qt lays the text out for the width of the widget whenever it likes, and a widget that is
        # hidden, or new, does not have its width yet.
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName(self.tr("Text"))
        self.document().setDocumentMargin(0)
        self.anchorClicked.connect(self._follow)
        self.selectionChanged.connect(self._selection_changed)
        self.restyle()

    def restyle(self) -> None:
        """Take font and colours from the theme again."""
        self.setFont(ui_font(t.PROSE_POINTS))
        self.document().setDefaultFont(self.font())
        self.document().setIndentWidth(scaled(22))
        self._show()

    def set_markdown(self, source: str, *, muted: bool = False) -> None:
        self._set(source, plain=False, muted=muted)

    def set_plain(self, text: str) -> None:
        self._set(text, plain=True, muted=False)

    def fit(self, width: int) -> int:
        """Lay out for `width` and answer the height. A table of many columns keeps them readable and scrolls
        sideways."""
        if self._laid_out[0] != width:
            wide = self._columns * scaled(_NARROWEST_COLUMN)
            self._lay_out(max(width, wide))
            if wide > width:
                wide = ceil(self.document().idealWidth())
                self._lay_out(max(width, wide))
            policies = Qt.ScrollBarPolicy
            policy = policies.ScrollBarAlwaysOn if wide > width else policies.ScrollBarAlwaysOff
            self.setHorizontalScrollBarPolicy(policy)
            if wide > width and not self.has_selection:
                # Where the caret is Qt scrolls to, and after a new text that is its end.
                self.moveCursor(QTextCursor.MoveOperation.Start)
            self.horizontalScrollBar().setValue(0)
            bar = self.horizontalScrollBar().sizeHint().height() if wide > width else 0
            self._laid_out = (width, round(self.document().size().height() + 0.49) + bar)
        return self._laid_out[1]

    def _lay_out(self, width: int) -> None:
        if self.lineWrapColumnOrWidth() != width:  # saying the same again would lay everything out again
            self.setLineWrapColumnOrWidth(width)

    def whole_lines(self, height: int) -> int:
        """Where the last line ends that is whole within `height` of the laid-out text; at least the first."""
        bottom = 0.0
        layout, block = self.document().documentLayout(), self.document().begin()
        while block.isValid():
            top = layout.blockBoundingRect(block).top()
            for number in range(block.layout().lineCount()):
                line = block.layout().lineAt(number)
                end = top + line.y() + line.height()
                if bottom and end > height:
                    return ceil(bottom)
                bottom = end
            block = block.next()
        return ceil(bottom)

    def natural_width(self, widest: int) -> int:
        """The width the text would like, up to `widest`."""
        if self._natural[0] != widest:
            self.fit(widest)
            self._natural = (widest, min(widest, round(self.document().idealWidth() + 1.5)))
        return self._natural[1]

    @property
    def begins_with_heading(self) -> bool:
        return not self._plain and self.document().begin().blockFormat().headingLevel() > 0

    @property
    def ends_with_heading(self) -> bool:
        return not self._plain and self.document().lastBlock().blockFormat().headingLevel() > 0

    @property
    def begins_with_table(self) -> bool:
        # Before a table there is always a block, an empty one if nothing else.
        return any(frame.firstPosition() == 1 for frame in self.document().rootFrame().childFrames())

    @property
    def has_selection(self) -> bool:
        return self.textCursor().hasSelection()

    def loadResource(self, kind: int, url: QUrl | str) -> QImage:
        # Answering with nothing at all would let Qt fall back to reading the file itself.
        return _NOTHING

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event) if keeps_wheel(self, event) else event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event) if keeps_key(event) else event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._plain or ">" not in self.text:
            return
        painter = QPainter(self.viewport())
        layout, block = self.document().documentLayout(), self.document().begin()
        while block.isValid():
            if block.blockFormat().intProperty(QTextFormat.Property.BlockQuoteLevel):
                area = layout.blockBoundingRect(block)
                painter.fillRect(
                    0, round(area.top()), 3, round(area.height()), QColor(current_tokens().border_strong)
                )
            block = block.next()
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._laid_out = self._natural = (-1, 0)

    def _set(self, source: str, *, plain: bool, muted: bool) -> None:
        if (source, plain, muted) == (self.text, self._plain, self._muted):
            return
        self.text, self._plain = source, plain
        self._muted = muted
        self._show()

    def _show(self) -> None:
        self._laid_out = self._natural = (-1, 0)
        if self._plain:
            self.setPlainText(self.text)
            _space_lines(self.document())
        else:
            self.document().setMarkdown(self.text, _MARKDOWN)
            dress(self.document(), self.text)
        self._columns = self._count_columns()
        if self._muted:
            _mute(self.document())

    def _count_columns(self) -> int:
        if self._plain or "|" not in self.text or not self.begins_with_table:
            return 0
        tables = self.document().rootFrame().childFrames()
        return max(frame.columns() for frame in tables if isinstance(frame, QTextTable))

    def _follow(self, url: QUrl) -> None:
        if url.scheme().lower() in LINKS:
            self.link_activated.emit(url)

    def _selection_changed(self) -> None:
        if self.has_selection:
            self.selecting.emit()


def dress(document: QTextDocument, source: str) -> None:
    """Give a parsed document its looks. Each pass runs only when the source can contain what it is for."""
    whole = QTextCursor(document)
    whole.beginEditBlock()  # one change, laid out once
    _space_lines(document)
    if "`" in source or "#" in source or ">" in source or "=" in source or "-" in source:
        _dress_blocks(document)
    if "![" in source:
        _name_pictures(document)
    if "|" in source:
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                _dress_table(frame)
    whole.endEditBlock()


def _name_pictures(document: QTextDocument) -> None:
    """No picture is loaded: in its place stands what it is called, and where it is as a link."""
    block = document.begin()
    while block.isValid():
        found = [piece for piece in _fragments(block) if piece.charFormat().isImageFormat()]
        for piece in reversed(found):
            image = piece.charFormat().toImageFormat()
            source = image.name()
            look = QTextCharFormat()
            if QUrl(source).scheme().lower() in LINKS:
                look.setAnchor(True)
                look.setAnchorHref(source)
                look.setForeground(QColor(current_tokens().link))
            cursor = QTextCursor(block)
            cursor.setPosition(piece.position())
            cursor.setPosition(piece.position() + piece.length(), QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(str(image.property(QTextFormat.Property.ImageAltText) or "") or source, look)
        block = block.next()


def _space_lines(document: QTextDocument) -> None:
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    spacing = QTextBlockFormat()
    spacing.setLineHeight(_LINE_HEIGHT, _PERCENT)
    cursor.mergeBlockFormat(spacing)


def _mute(document: QTextDocument) -> None:
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    look = QTextCharFormat()
    look.setForeground(QColor(current_tokens().text_muted))
    cursor.mergeCharFormat(look)


def _dress_blocks(document: QTextDocument) -> None:
    block = document.begin()
    while block.isValid():
        form = block.blockFormat()
        if level := form.headingLevel():
            _dress_heading(block, level)
        elif form.intProperty(QTextFormat.Property.BlockQuoteLevel):
            _dress_quote(block)
        elif form.hasProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth):
            look = QTextBlockFormat()
            look.setBackground(QColor(current_tokens().border))
            QTextCursor(block).mergeBlockFormat(look)
        _dress_inline_code(block)
        block = block.next()


def _dress_heading(block: QTextBlock, level: int) -> None:
    cursor = QTextCursor(block)
    for position, length, look in [(f.position(), f.length(), f.charFormat()) for f in _fragments(block)]:
        # The parser says "two sizes larger", which would win over a size in points.
        look.clearProperty(QTextFormat.Property.FontSizeAdjustment)
        look.setFontPointSize(_HEADING_POINTS.get(level, t.PROSE_POINTS) * scale())
        look.setFontWeight(QFont.Weight.DemiBold)
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        cursor.setCharFormat(look)
    space = QTextBlockFormat()
    space.setLineHeight(_HEADING_LINE_HEIGHT, _PERCENT)
    space.setTopMargin(0 if block.blockNumber() == 0 else scaled(ABOVE_HEADING))
    space.setBottomMargin(0)
    cursor.mergeBlockFormat(space)


def _fragments(block: QTextBlock) -> Iterator[QTextFragment]:
    pieces = block.begin()
    while not pieces.atEnd():
        yield pieces.fragment()
        pieces += 1


def _dress_quote(block: QTextBlock) -> None:
    look = QTextCharFormat()
    look.setForeground(QColor(current_tokens().text_muted))
    cursor = QTextCursor(block)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeCharFormat(look)
    space = QTextBlockFormat()
    space.setLeftMargin(scaled(16))
    space.setTopMargin(scaled(4))
    space.setBottomMargin(scaled(8))
    cursor.mergeBlockFormat(space)


def _dress_inline_code(block: QTextBlock) -> None:
    look = QTextCharFormat()
    look.setBackground(QColor(current_tokens().sunken))
    look.setFontFamilies(mono_font().families())
    look.setFontPointSize((t.PROSE_POINTS - 0.75) * scale())
    spans = [(f.position(), f.length()) for f in _fragments(block) if f.charFormat().fontFixedPitch()]
    cursor = QTextCursor(block)
    for position, length in spans:
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(look)


def _dress_table(table: QTextTable) -> None:
    tokens = current_tokens()
    shape = table.format()
    shape.setBorder(1)
    shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    shape.setBorderBrush(QColor(tokens.border))
    shape.setBorderCollapse(True)
    shape.setCellPadding(scaled(6))
    shape.setCellSpacing(0)
    shape.setTopMargin(scaled(4))
    shape.setBottomMargin(scaled(8))
    shape.setWidth(QTextLength())
    table.setFormat(shape)
    inside = table.firstCursorPosition()
    inside.setPosition(table.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
    spacing = QTextBlockFormat()
    spacing.setLineHeight(_TABLE_LINE_HEIGHT, _PERCENT)
    inside.mergeBlockFormat(spacing)
    for column in range(table.columns()):
        cell = table.cellAt(0, column)
        look = cell.format()
        look.setBackground(QColor(tokens.sunken))
        cell.setFormat(look)
