"""Cuts Markdown into blocks while it arrives, so that a growing answer never has to be parsed twice.

CommonMark's block structure is decided line by line, and a new line can only change blocks that are still
open. So, looking at complete lines only, every top-level block but the last is final. The splitter keeps
the open tail and forgets everything before it. Lists are frozen item by item and long tables in chunks,
which bounds the tail.

It renders nothing and knows no inline syntax. A link reference that is defined after its use stays plain
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TABLE_ROWS = 40
"""Rows of a table that are frozen together; the next chunk repeats the header."""


@dataclass(frozen=True, slots=True)
class Close:
    """A final piece of prose; it replaces the piece that was open, if there was one."""

    source: str
    table: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """The prose that may still change, whole. At most one per feed, and last; without one nothing is open."""

    source: str


@dataclass(frozen=True, slots=True)
class CodeOpen:
    """A code block begins. `language` is the first word after the fence, often empty."""

    language: str


@dataclass(frozen=True, slots=True)
class CodeAppend:
    """Complete lines of the open code block, each with its newline."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeClose:
    """The open code block is final."""


Operation: TypeAlias = Close | Open | CodeOpen | CodeAppend | CodeClose


def merged(operations: Iterable[Operation]) -> list[Operation]:
    """The same text in as few operations as possible: what a stored answer is built from."""
    result: list[Operation] = []
    for operation in operations:
        match result[-1:], operation:
            case [Close(before, table=False)], Close(after, table=False):
                result[-1] = Close(before + after)
            case [CodeAppend(before)], CodeAppend(after):
                result[-1] = CodeAppend(before + after)
            case _:
                result.append(operation)
    return result


def split_blocks(text: str) -> list[Operation]:
    """A whole text in one go, merged."""
    splitter = BlockSplitter()
    operations = [item for item in splitter.feed(text) if not isinstance(item, Open)]
    return merged([*operations, *splitter.finish()])


@dataclass(frozen=True, slots=True)
class _Fence:
    marker: str
    length: int
    indent: int

    def is_closed_by(self, line: str) -> bool:
        mark = line.strip(" \t\n")
        return len(mark) >= self.length and not mark.strip(self.marker) and _indent(line) < 4

    def content(self, lines: list[str]) -> str:
        """`lines` without as much indentation as the fence itself has."""
        return "".join(line[min(self.indent, _indent(line)) :] for line in lines)


class BlockSplitter:
    """Feed it text in any pieces; apply the operations it answers with, in order.

    Any cutting of the same text leads to the same blocks.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._seen = 0
        """How much of the tail, always complete lines, has been examined."""
        self._fence: _Fence | None = None
        self._in_table = False

    def feed(self, delta: str) -> list[Operation]:
        operations: list[Operation] = []
        self._tail += delta.translate(_CLEAN)
        while self._advance(operations):
            pass
        if self._fence is None and (shown := self._shown_tail()):
            operations.append(Open(shown))
        return operations

    def finish(self) -> list[Operation]:
        """The text is complete: close what is open."""
        operations: list[Operation] = []
        if self._tail and not self._tail.endswith("\n"):
            self._tail += "\n"
        while self._advance(operations):
            pass
        if self._fence is not None:
            operations.append(CodeClose())
        elif self._tail.strip():
            operations.append(Close(self._tail, self._in_table))
        self._tail, self._seen, self._fence, self._in_table = "", 0, None, False
        return operations

    def _advance(self, operations: list[Operation]) -> bool:
        """Examine new complete lines; True when what is left should be examined again."""
        end = self._tail.rfind("\n") + 1
        if end == self._seen:
            return False
        if self._fence is not None:
            return self._advance_fence(self._fence, end, operations)
        if not (self._in_table and all(map(_ROW.match, _lines(self._tail[self._seen : end])))):
            return self._parse(end, operations)
        self._seen = end
        self._freeze_rows(operations)
        return False

    def _advance_fence(self, fence: _Fence, end: int, operations: list[Operation]) -> bool:
        lines = _lines(self._tail[:end])
        closing = next((n for n, line in enumerate(lines) if fence.is_closed_by(line)), None)
        content = lines if closing is None else lines[:closing]
        if content:
            operations.append(CodeAppend(fence.content(content)))
        if closing is None:
            self._cut(end)
            return False
        operations.append(CodeClose())
        self._cut(sum(map(len, lines[: closing + 1])))
        self._fence = None
        return True

    def _parse(self, end: int, operations: list[Operation]) -> bool:
        self._seen, self._in_table = end, False
        self._cut(_leading_blank(_lines(self._tail[:end])))
        done = self._tail[: self._seen]
        tokens = _parser().parse(done)
        blocks = [token for token in tokens if token.level == 0 and token.map and token.nesting >= 0]
        if not blocks:
            return False
        lines = _lines(done)
        starts = list(accumulate(map(len, lines), initial=0))
        last = blocks[-1]
        if len(blocks) == 1 and last.type not in _FREEZABLE:
            return False
        operations.extend(_closed(blocks, lines))
        self._cut(starts[_first_line(last)])
        if last.type == "fence":
            return self._enter_fence(operations)
        if last.type == "table_open":
            self._in_table = _last_line(last) == len(lines)
            self._freeze_rows(operations)
        elif last.type in _LISTS and (item := _last_item(tokens, last)) > _first_line(last):
            frozen = starts[item] - starts[_first_line(last)]
            operations.append(Close(self._tail[:frozen]))
            self._cut(frozen)
        return False

    def _enter_fence(self, operations: list[Operation]) -> bool:
        opening, _, _ = self._tail.partition("\n")
        self._fence = _fence(opening)
        operations.append(CodeOpen(_language(opening)))
        self._cut(len(opening) + 1)
        self._seen = 0
        return True

    def _freeze_rows(self, operations: list[Operation]) -> None:
        if not self._in_table:
            return
        *chunks, rest = _table_chunks(_lines(self._tail[: self._seen]))
        operations.extend(Close(chunk, table=True) for chunk in chunks)
        self._tail = rest + self._tail[self._seen :]
        self._seen = len(rest)

    def _cut(self, length: int) -> None:
        self._tail = self._tail[length:]
        self._seen = max(0, self._seen - length)

    def _shown_tail(self) -> str:
        """The open text without a last line that is nothing but marks: it would flash up as a rule or a
        heading."""
        complete, newline, partial = self._tail.rpartition("\n")
        shown = complete + newline if _MARKS_ONLY.match(partial) else self._tail
        return shown if shown.strip() else ""


# Carriage returns and NUL never reach a document; direction overrides could make text read as what it is not.
_CLEAN: dict[int, str | None] = {ord("\r"): None, 0: "\ufffd"} | dict.fromkeys(
    [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_OPENING = re.compile(r"( *)(`+|~+)[ \t]*([^\s`]*)")
_ROW = re.compile(r" {0,3}\|")
_MARKS_ONLY = re.compile(r"[ \t]*(?:[-=*+#>|_ ]+|`{1,2}|`{3,}[^`]*|~{1,}[^~]*|\d{1,9}[.)]?)[ \t]*$")
_LISTS = ("bullet_list_open", "ordered_list_open")
_FREEZABLE = (*_LISTS, "fence", "table_open")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 40 ms, and an empty conversation needs none

    parser = MarkdownIt("commonmark").enable("table").disable("html_block")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _lines(text: str) -> list[str]:
    """Lines with their newlines. Not `splitlines`, which also cuts at form feeds and other separators."""
    return [line + "\n" for line in text.split("\n")[:-1]]


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))


def _leading_blank(lines: list[str]) -> int:
    """How many characters the blank lines at the beginning take."""
    return sum(map(len, takewhile(lambda line: not line.strip(), lines)))


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _last_line(token: Token) -> int:
    return token.map[1] if token.map else 0


def _fence(opening: str) -> _Fence:
    found = _OPENING.match(opening)
    indent, marks = (found[1], found[2]) if found else ("", "```")
    return _Fence(marks[0], len(marks), len(indent))


def _language(opening: str) -> str:
    found = _OPENING.match(opening)
    return found[3] if found else ""


def _last_item(tokens: list[Token], of: Token) -> int:
    """The line where the last item of the list `of` begins."""
    start = _first_line(of)
    return max(
        (_first_line(token) for token in tokens if token.type == "list_item_open" and token.level == 1),
        default=start,
    )


def _closed(blocks: list[Token], lines: list[str]) -> Iterator[Operation]:
    """Operations for all blocks but the last, and for what stands before the first (link references)."""
    before = "".join(lines[: _first_line(blocks[0])])
    if before.strip():
        yield Close(before)
    for block, following in pairwise(blocks):
        first, until = _first_line(block), _first_line(following)
        if block.type == "fence":
            yield from _whole_fence(lines[first : _last_line(block)])
            rest = lines[_last_line(block) : until]
            if after := "".join(rest)[_leading_blank(rest) :]:
                yield Close(after)
        elif block.type == "table_open":
            yield from (Close(chunk, table=True) for chunk in _table_chunks(lines[first:until]))
        else:
            yield Close("".join(lines[first:until]))


def _whole_fence(lines: list[str]) -> Iterator[Operation]:
    yield CodeOpen(_language(lines[0]))
    if content := _fence(lines[0]).content(lines[1:-1]):
        yield CodeAppend(content)
    yield CodeClose()


def _table_chunks(lines: list[str]) -> list[str]:
    header, rows = lines[:2], lines[2:]
    starts = range(0, max(len(rows), 1), TABLE_ROWS)
    return ["".join([*header, *rows[start : start + TABLE_ROWS]]) for start in starts]
