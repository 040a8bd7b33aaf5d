"""The block splitter: any cutting of a text leads to the same blocks, and nothing of the text is lost."""

from __future__ import annotations

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from holaboss_app.core.markdown_blocks import (
    TABLE_ROWS,
    BlockSplitter,
    Close,
    CodeAppend,
    CodeClose,
    CodeOpen,
    Open,
    Operation,
    merged,
    split_blocks,
)

LINES = [
    "plain text",
    "  two words",
    "",
    "",
    "- item",
    "* other",
    "  - nested",
    "1. one",
    "2. two",
    "3) three",
    "> quote",
    "# Heading",
    "===",
    "---",
    "***",
    "```",
    "```python",
    "~~~",
    "````",
    "   ```",
    "    indented",
    "\tcode",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "a | b",
    "<div>",
    "</div>",
    "[ref]: /url",
    "text \f with \u2028 odd",
    "`inline`",
    "- [ ] task",
    "10. ten",
    "-",
    "1.",
    "\r",
    "x\u202ey",
]
DOCUMENTS = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)


def incremental(pieces: list[str]) -> list[Operation]:
    splitter = BlockSplitter()
    operations: list[Operation] = []
    for piece in pieces:
        answer = splitter.feed(piece)
        assert not any(isinstance(item, Open) for item in answer[:-1]), "an open block must come last"
        operations += [item for item in answer if not isinstance(item, Open)]
    return merged(operations + splitter.finish())


def cut(text: str, places: list[int]) -> list[str]:
    bounds = [0, *sorted({min(place, len(text)) for place in places}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


@settings(max_examples=600, deadline=None)
@given(DOCUMENTS, st.lists(st.integers(0, 200), max_size=12))
@example("1) a\n\n2) b\n\ntext\n===\n- x\n\n  y\n```\nz\n```\n> q\nlazy\n\n~~~js\n```\n~~~\nend", [7])
@example(
    "a\n\n\n    indented\n\n    more\nb\n***\n- [ ] t\n- [x] u\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\nz", [50]
)
def test_any_cutting_gives_the_same_blocks(text: str, places: list[int]) -> None:
    assert incremental(cut(text, places)) == split_blocks(text)


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
@example("```\nx\n```\n\nplain\ntext\n")
@example("| a | b |\n|---|---|\n| 1 | 2 |\n\n| x |\ntext")
def test_one_character_at_a_time_gives_the_same_blocks(text: str) -> None:
    assert incremental(list(text)) == split_blocks(text)


def test_prose_code_and_prose() -> None:
    assert split_blocks("Hello\n\n```py x\nprint(1)\n```\nbye") == [
        Close("Hello\n\n"),
        CodeOpen("py"),
        CodeAppend("print(1)\n"),
        CodeClose(),
        Close("bye\n"),
    ]


def test_only_the_open_block_is_offered_again() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("first paragraph\n\nsec") == [Open("first paragraph\n\nsec")]
    assert splitter.feed("ond\n\nthird\n") == [
        Close("first paragraph\n\n"),
        Close("second\n\n"),
        Open("third\n"),
    ]
    assert splitter.feed("here") == [Open("third\nhere")]


def test_code_lines_are_appended_as_they_complete() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("```js\nlet a") == [CodeOpen("js")]
    assert splitter.feed(" = 1\nlet b") == [CodeAppend("let a = 1\n")]
    assert splitter.feed(" = 2\n``") == [CodeAppend("let b = 2\n")]
    assert splitter.feed("`\nafter") == [CodeClose(), Open("after")]


def test_an_indented_fence_takes_its_indentation_from_the_code() -> None:
    assert split_blocks("  ```\n  a\n    b\n c\n  ```\n")[1] == CodeAppend("a\n  b\nc\n")


def test_an_unfinished_fence_is_closed_at_the_end() -> None:
    assert split_blocks("```\nabc") == [CodeOpen(""), CodeAppend("abc\n"), CodeClose()]


def test_list_items_are_frozen_one_by_one() -> None:
    splitter = BlockSplitter()
    splitter.feed("- one\n- two\n")
    assert splitter.feed("- three\n- fo") == [Close("- two\n"), Open("- three\n- fo")]


def test_a_long_table_is_frozen_in_chunks_that_repeat_the_header() -> None:
    rows = "".join(f"| {n} | x |\n" for n in range(2 * TABLE_ROWS + 1))
    pieces = split_blocks("| a | b |\n|---|---|\n" + rows)
    assert [piece.source.count("\n") for piece in pieces if isinstance(piece, Close)] == [42, 42, 3]
    assert all(
        isinstance(piece, Close) and piece.table and piece.source.startswith("| a | b |\n")
        for piece in pieces
    )


def test_an_open_table_stays_bounded() -> None:
    splitter = BlockSplitter()
    splitter.feed("| a | b |\n|---|---|\n")
    longest = 0
    for n in range(500):
        longest = max(
            longest,
            *(len(item.source) for item in splitter.feed(f"| {n} | x |\n") if hasattr(item, "source")),
        )
    assert longest < 60 * TABLE_ROWS


def test_marks_that_may_become_anything_are_held_back() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("Some text\n-") == [Open("Some text\n")]
    assert splitter.feed(" item") == [Open("Some text\n- item")]
    assert BlockSplitter().feed("``") == []
    assert BlockSplitter().feed("```pyth") == []


def test_control_characters_do_not_reach_a_document() -> None:
    assert split_blocks("a\r\nb\x00c\u202ed\u2066e") == [Close("a\nb\ufffdcde\n")]
