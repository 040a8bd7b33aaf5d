"""The widgets of one growing text: prose and code blocks, each with a document of its own.

A flush costs what is new: only the open block is laid out again. Finished blocks of prose are folded
together by the dozen, and all neighbours once the answer is complete, so a character is laid out a bounded
number of times and the number of widgets stays small. A stored answer is shown by the same code in one step,
and a finished one looks exactly like it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from PySide6.QtWidgets import QWidget

from holaboss_app.core.markdown_blocks import (
    BlockSplitter,
    Close,
    CodeAppend,
    CodeClose,
    CodeOpen,
    Open,
    Operation,
    merged,
)
from holaboss_app.panes.chat.code_block import CodeBlock
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.prose import ProseView

FOLD = 12
"""Finished pieces of prose that become one document."""
SPARES = 16

Piece: TypeAlias = ProseView | CodeBlock
_AnyPiece = TypeVar("_AnyPiece", ProseView, CodeBlock)


class Shelf:
    """Spare pieces of one turn widget. They stay its children, because giving a widget a new parent is what
    is expensive about making one."""

    def __init__(self, parent: QWidget, lexing: Lexing, adopt: Callable[[Piece], None]) -> None:
        self._parent = parent
        self._lexing = lexing
        self._adopt = adopt
        self._prose: list[ProseView] = []
        self._code: list[CodeBlock] = []

    def take_prose(self) -> ProseView:
        piece = self._prose.pop() if self._prose else self._new(ProseView(self._parent))
        piece.show()
        return piece

    def take_code(self) -> CodeBlock:
        piece = self._code.pop() if self._code else self._new(CodeBlock(self._parent, self._lexing))
        piece.show()
        return piece

    def put_back(self, piece: Piece) -> None:
        piece.hide()
        if isinstance(piece, CodeBlock):
            piece.release()
            self._keep(self._code, piece)
        else:
            self._keep(self._prose, piece)

    def _new(self, piece: _AnyPiece) -> _AnyPiece:
        self._adopt(piece)
        return piece

    def _keep(self, spares: list[_AnyPiece], piece: _AnyPiece) -> None:
        if len(spares) < SPARES:
            spares.append(piece)
        else:
            piece.deleteLater()


class TextColumn:
    """One text as a list of `pieces`, top to bottom. `show` may be called with a longer text any number of
    times."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._reset()

    def _reset(self) -> None:
        self.pieces: list[Piece] = []
        self.settled = 0
        """How many of the first pieces are what they were when somebody last set this to their number."""
        self.arranged: tuple[int, int] = (0, 0)
        self.bottoms: list[int] = []
        """Where whoever lays the pieces out began, how wide, and where each settled piece ended."""
        self._splitter = BlockSplitter()
        self._length = 0
        self._finished = False
        self._open: ProseView | None = None
        self._code: CodeBlock | None = None
        self._foldable: list[ProseView] = []
        self._tables: set[ProseView] = set()

    def show(self, text: str, *, final: bool) -> bool:
        """Show `text`, which continues what was shown before; true when anything changed."""
        new = text[self._length :]
        if self._finished or not (new or final):
            return False
        operations = self._splitter.feed(new)
        self._length = len(text)
        if final:
            self._finished = True
            operations = [item for item in operations if not isinstance(item, Open)] + self._splitter.finish()
        for operation in merged(operations):
            self._apply(operation)
        if not (operations and isinstance(operations[-1], Open)):
            self._drop_open()
        if final:
            self._fold_all()
        return bool(operations)

    def clear(self) -> None:
        for piece in self.pieces:
            self._shelf.put_back(piece)
        self._reset()

    def _apply(self, operation: Operation) -> None:
        match operation:
            case Open(source):
                self._open_piece().set_markdown(source)
                self._changed(-1)
            case Close(source, table):
                self._close(source, table)
            case CodeOpen(language):
                self._drop_open()
                self._fold()
                self._code = self._shelf.take_code()
                self._code.open(language)
                self.pieces.append(self._code)
            case CodeAppend(text) if self._code is not None:
                self._code.append(text)
                self._changed(-1)
            case CodeClose() if self._code is not None:
                self._code.close_block()
                self._code = None
            case _:
                pass

    def _changed(self, place: int) -> None:
        """The piece at `place` (negative: from the end), and perhaps all behind it, must be laid out again."""
        self.settled = min(self.settled, place if place >= 0 else max(0, len(self.pieces) + place))

    def _open_piece(self) -> ProseView:
        if self._open is None:
            self._open = self._shelf.take_prose()
            self.pieces.append(self._open)
        return self._open

    def _close(self, source: str, table: bool) -> None:
        piece = self._open_piece()
        piece.set_markdown(source)
        self._changed(-1)
        self._open = None
        if table:
            self._tables.add(piece)
            self._fold()
            return
        self._foldable.append(piece)
        if len(self._foldable) >= FOLD:
            self._fold()

    def _fold(self) -> None:
        """Finished neighbours become one document, unless somebody is selecting text in them."""
        run, self._foldable = self._foldable, []
        self._join(run)

    def _fold_all(self) -> None:
        """The text is complete: everything between two tables or code blocks becomes one document."""
        self._foldable = []
        runs: list[list[ProseView]] = [[]]
        for piece in self.pieces:
            if isinstance(piece, ProseView) and piece not in self._tables:
                runs[-1].append(piece)
            else:
                runs.append([])
        for run in runs:
            self._join(run)

    def _join(self, run: list[ProseView]) -> None:
        if len(run) < 2 or any(piece.has_selection for piece in run):
            return
        self._changed(self.pieces.index(run[0]))
        run[0].set_markdown("".join(piece.text for piece in run))
        for piece in run[1:]:
            self.pieces.remove(piece)
            self._shelf.put_back(piece)

    def _drop_open(self) -> None:
        if self._open is not None:
            self._changed(-1)
            self.pieces.remove(self._open)
            self._shelf.put_back(self._open)
            self._open = None
