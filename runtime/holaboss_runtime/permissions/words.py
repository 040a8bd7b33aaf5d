"""One word of a shell text: what it says once its quotes are gone, and what of it is only known when it runs.

It judges nothing. The word is given in pieces: text as it was written, and None where the shell will put something in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_EXPANDS = re.compile(r"[A-Za-z0-9_@*#?$!\-({\[]")
_SEPARATORS = frozenset(" \t\n;|&()<>")
_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class UnclearWordError(ValueError):
    """The word is written in a way that cannot be told for sure."""


@dataclass(frozen=True, slots=True)
class Word:
    """`text` without quotes, a `$` for each piece that is put in later.

    `holes` counts these pieces; `splits` says that one of them may become several words; `glob` that the shell looks
    for file names; `brace` that it makes several words of it; `home` that it begins with a home folder.
    """

    text: str
    holes: int = 0
    splits: bool = False
    glob: bool = False
    brace: bool = False
    home: bool = False

    @property
    def plain(self) -> bool:
        """Whether the program gets exactly `text`."""
        return not (self.holes or self.glob or self.brace)

    @property
    def cannot_be_an_option(self) -> bool:
        """Whether it stays one word and does not begin with a dash, whatever is put in."""
        begins = (
            self.text[:1] not in ("-", "$", "*", "?", "[", "") if not self.plain else self.text[:1] != "-"
        )
        return begins and not self.splits and not self.brace


def plain_word(text: str) -> Word:
    return Word(text)


def names(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


UNKNOWN_WORDS = Word("$", holes=1, splits=True)
"""Stands for words that are only known when it runs."""


def read_word(pieces: Sequence[str | None]) -> Word:
    """Raises `UnclearWordError` where quoting and pieces do not fit together."""
    return _Reader(pieces).read()


class _Reader:
    def __init__(self, pieces: Sequence[str | None]) -> None:
        self._pieces = pieces
        self._said: list[str] = []
        self._holes = 0
        self._splits = self._glob = self._open = self._brace = self._home = False
        self._quoted = False

    def read(self) -> Word:
        for piece in self._pieces:
            if piece is None:
                self._said.append("$")
                self._holes += 1
                self._splits = self._splits or not self._quoted
            else:
                self._scan(piece)
        if self._quoted:
            raise UnclearWordError("a quote is not closed")
        text = "".join(self._said)
        return Word(text, self._holes, self._splits, self._glob, self._brace, self._home)

    def _scan(self, piece: str) -> None:
        at = 0
        while at < len(piece):
            at = self._in_quotes(piece, at) if self._quoted else self._outside(piece, at)

    def _in_quotes(self, piece: str, at: int) -> int:
        char, after = piece[at], piece[at + 1 : at + 2]
        if char == '"':
            self._quoted = False
            return at + 1
        if char == "\\" and after and after in '$`"\\\n':
            self._said.append("" if after == "\n" else after)
            return at + 2
        self._check_live(char, after)
        self._said.append(char)
        return at + 1

    def _outside(self, piece: str, at: int) -> int:
        char, after = piece[at], piece[at + 1 : at + 2]
        if char == '"' or (char == "$" and after == '"'):
            self._quoted = True
            return at + (1 if char == '"' else 2)
        if char == "'" or (char == "$" and after == "'"):
            return self._raw(piece, at)
        if char == "\\":
            if not after:
                raise UnclearWordError("a backslash at the end")
            self._said.append("" if after == "\n" else after)
            return at + 2
        if char in _SEPARATORS:
            raise UnclearWordError("a separator inside a word")
        self._check_live(char, after)
        self._note(char, piece, at)
        self._said.append(char)
        return at + 1

    def _raw(self, piece: str, at: int) -> int:
        decodes = piece[at] == "$"
        begin = at + (2 if decodes else 1)
        end = begin
        while end < len(piece) and piece[end] != "'":
            end += 2 if decodes and piece[end] == "\\" else 1
        if end >= len(piece):
            raise UnclearWordError("a quote is not closed")
        said = piece[begin:end]
        self._said.append(_ANSI.sub(_decoded, said) if decodes else said)
        return end + 1

    def _note(self, char: str, piece: str, at: int) -> None:
        if char in "*?[":
            self._glob = True
        elif char == "{":
            self._open = True
        elif self._open and (char == "," or piece[at : at + 2] == ".."):
            self._brace = True
        elif char == "~" and not self._said:
            self._home = True

    @staticmethod
    def _check_live(char: str, after: str) -> None:
        if char == "`" or (char == "$" and _EXPANDS.match(after)):
            raise UnclearWordError("something is put in here that was not seen as such")


def _decoded(match: re.Match[str]) -> str:
    byte, short, long, octal, control, letter = match.groups()
    if letter is not None:
        return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")
    if control is not None:
        raise UnclearWordError("a control character")
    code = int(octal, 8) & 0xFF if octal is not None else int(byte or short or long, 16)
    if code == 0 or code > 0x7F:  # a NUL ends the word; bytes beyond ASCII depend on the locale
        raise UnclearWordError("a character that depends on the locale")
    return chr(code)
