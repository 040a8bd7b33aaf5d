"""Which lines of a text match a regular expression.

The expressions are Python's, with the POSIX classes (`[[:alpha:]]`) that other tools have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_CHARS = 400
_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_CLASS = re.compile(r"\[:([a-z]+):\]")
# What looks at the ends of the text or behind the match means something else for one line than for a whole text.
_LOOKS_AROUND = re.compile(r"\\[AZzbB]|\(\?[<=!]")


class PatternError(ValueError):
    """The expression makes no sense; the message says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a result, numbered from 1; `hit` is False for one that is shown for context."""

    number: int
    text: str
    hit: bool


class Matcher:
    """`multiline` lets a match span lines; every line it touches is shown."""

    def __init__(self, pattern: str, *, literal: bool, ignore_case: bool, multiline: bool) -> None:
        source = re.escape(pattern) if literal else _CLASS.sub(_posix, pattern)
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        try:
            self._line = re.compile(source, flags)
            self._whole = re.compile(source, flags | re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(str(error)) from error
        self._multiline = multiline
        self._prefilter = not _LOOKS_AROUND.search(source)

    def hits(self, text: str) -> list[int]:
        """The numbers of the lines that match, counted from 0."""
        if self._multiline:
            return self._spans(text)
        if self._prefilter and self._whole.search(text) is None:
            return []
        return [number for number, line in enumerate(lines_of(text)) if self._line.search(line)]

    def _spans(self, text: str) -> list[int]:
        found: dict[int, None] = {}
        number = at = 0
        for match in self._whole.finditer(text):
            number += text.count("\n", at, match.start())
            at = match.start()
            last = number + text.count("\n", at, max(at, match.end() - 1))
            found.update(dict.fromkeys(range(number, last + 1)))
        return list(found)


def lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def with_context(text: str, hits: list[int], context: int) -> Iterator[list[Line]]:
    """The hits and the lines around them, as groups that do not touch each other."""
    lines, marked = lines_of(text), set(hits)
    group: list[Line] = []
    for number in sorted({near for hit in hits for near in range(hit - context, hit + context + 1)}):
        if not 0 <= number < len(lines):
            continue
        if group and number > group[-1].number:
            yield group
            group = []
        line = lines[number]
        shown = line if len(line) <= MAX_LINE_CHARS else line[:MAX_LINE_CHARS] + "…"
        group.append(Line(number + 1, shown, number in marked))
    if group:
        yield group


def _posix(match: re.Match[str]) -> str:
    if match[1] not in _POSIX:
        raise PatternError(f"there is no class {match[0]}")
    return _POSIX[match[1]]
