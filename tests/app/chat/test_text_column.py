"""A growing text: the same pieces as for a stored one, and as few of them as promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QWidget

from holaboss_app.panes.chat.code_block import CodeBlock
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.panes.chat.text_column import FOLD, Shelf, TextColumn
from tests.support.conversations import Writer

Show = Callable[..., None]


@pytest.fixture
def shelf(show: Show) -> Iterator[Shelf]:
    parent = QWidget()
    show(parent, 600, 600)
    return Shelf(parent, Lexing(parent), lambda piece: None)


def words(column: TextColumn) -> str:
    texts = (piece.text if isinstance(piece, CodeBlock) else piece.toPlainText() for piece in column.pieces)
    return " ".join(" ".join(texts).split())


def grow(column: TextColumn, text: str, step: int) -> None:
    for end in range(step, len(text) + step, step):
        column.show(text[:end], final=False)
    column.show(text, final=True)


@pytest.mark.parametrize("step", [1, 7, 400])
def test_a_grown_text_reads_like_a_stored_one(shelf: Shelf, step: int) -> None:
    text = Writer(5).long_answer(3_000)
    stored, grown = TextColumn(shelf), TextColumn(shelf)
    stored.show(text, final=True)
    grow(grown, text, step)
    assert words(grown) == words(stored)
    kinds = [type(piece) for piece in stored.pieces]
    assert CodeBlock in kinds
    assert ProseView in kinds


def test_finished_prose_is_folded(shelf: Shelf) -> None:
    column = TextColumn(shelf)
    text = "".join(f"Paragraph {n}.\n\n" for n in range(5 * FOLD))
    grow(column, text, 40)
    assert len(column.pieces) <= 5 + FOLD
    assert all(f"Paragraph {n}." in words(column) for n in range(5 * FOLD))


def test_prose_with_a_selection_is_not_folded_away(shelf: Shelf) -> None:
    column = TextColumn(shelf)
    column.show("First paragraph.\n\nnext\n", final=False)
    first = column.pieces[0]
    assert isinstance(first, ProseView)
    first.selectAll()
    for count in range(3 * FOLD):
        column.show("First paragraph.\n\nnext\n" + "\nmore text\n" * count, final=False)
    assert first in column.pieces
    assert first.textCursor().selectedText() == "First paragraph."


def test_nothing_is_done_when_nothing_is_new(shelf: Shelf) -> None:
    column = TextColumn(shelf)
    assert column.show("Hello", final=False)
    assert not column.show("Hello", final=False)
    assert column.show("Hello", final=True)
    assert not column.show("Hello", final=True)


def test_code_that_is_still_open_grows_by_lines(shelf: Shelf) -> None:
    column = TextColumn(shelf)
    column.show("Look:\n\n```python\na = 1\nb =", final=False)
    block = column.pieces[-1]
    assert isinstance(block, CodeBlock)
    assert block.text == "a = 1"
    column.show("Look:\n\n```python\na = 1\nb = 2\n```\ndone", final=True)
    assert block.text == "a = 1\nb = 2"
    assert words(column) == "Look: a = 1 b = 2 done"


def test_cleared_pieces_are_used_again(shelf: Shelf) -> None:
    column = TextColumn(shelf)
    column.show("a\n\n```\nb\n```\n", final=True)
    before = set(column.pieces)
    column.clear()
    assert column.pieces == []
    column.show("c\n\n```\nd\n```\n", final=True)
    assert set(column.pieces) == before
    assert words(column) == "c d"
