"""Colours for code, worked out a few milliseconds at a time while nothing else happens.

Only languages that the fence names are lexed, never guessed ones, and only blocks of a reasonable size.
Results are kept by language and text, so that scrolling back costs nothing.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QColor, QTextCharFormat, QTextDocument, QTextLayout

from holaboss_app.theme.style import current_tokens

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Spans: TypeAlias = list[tuple[int, int, str]]
"""`(start, length, token name of the colour)` as Qt counts them, in order."""

LARGEST = 30_000
LONGEST_LINE = 1_000
_KEPT = 200
_REST_MS = 120
_SLICE_S = 0.003
_PAUSE = (0, 0, "")
_COLOURS = (
    ("Token.Comment", "text_muted"),
    ("Token.Keyword", "info"),
    ("Token.Operator.Word", "info"),
    ("Token.Literal.String", "success"),
    ("Token.Literal.Number", "warning"),
    ("Token.Name.Function", "link"),
    ("Token.Name.Class", "link"),
    ("Token.Name.Tag", "info"),
    ("Token.Name.Attribute", "link"),
    ("Token.Name.Decorator", "warning"),
    ("Token.Name.Builtin", "info"),
    ("Token.Generic.Deleted", "danger"),
    ("Token.Generic.Inserted", "success"),
    ("Token.Generic.Heading", "info"),
)


@lru_cache(maxsize=512)
def _colour(token_type: str) -> str | None:
    return next((name for prefix, name in _COLOURS if token_type.startswith(prefix)), None)


class CodeColours:
    """Paints spans that were computed elsewhere onto a document. It does not listen to it: text that grows has no
    colours yet and should cost nothing."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._spans: Spans = []

    def show(self, spans: Spans) -> None:
        """Colour the text by `spans`, which were found in exactly this text; none take all colours away."""
        if spans or self._spans:
            self._spans = spans
            self.repaint()

    def repaint(self) -> None:
        """The colours of the theme are others now."""
        formats: dict[int, list[QTextLayout.FormatRange]] = {}
        for start, length, name in self._spans:
            block = self._document.findBlock(start)
            while block.isValid() and length > 0:
                inside = start - block.position()
                taken = min(length, block.length() - inside)
                if (shown := min(taken, block.length() - 1 - inside)) > 0:  # a block ends with its line end
                    formats.setdefault(block.blockNumber(), []).append(_range(inside, shown, name))
                start, length, block = start + taken, length - taken, block.next()
        block = self._document.begin()
        while block.isValid():
            block.layout().setFormats(formats.get(block.blockNumber(), []))
            block = block.next()
        self._document.markContentsDirty(0, self._document.characterCount())


def _range(start: int, length: int, name: str) -> QTextLayout.FormatRange:
    found = QTextLayout.FormatRange()
    found.start, found.length = start, length
    look = QTextCharFormat()
    look.setForeground(QColor(str(getattr(current_tokens(), name))))
    found.format = look
    return found


class Lexing(QObject):
    """Turns `(language, text)` into spans, in slices, after scrolling has come to rest."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._done: OrderedDict[tuple[str, str], Spans] = OrderedDict()
        self._jobs: list[tuple[str, str, Callable[[Spans], None]]] = []
        self._current: Iterator[tuple[int, int, str]] | None = None
        self._found: Spans = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._work)

    def known(self, language: str, text: str) -> Spans | None:
        return self._done.get((language, text))

    def ask(self, language: str, text: str, answer: Callable[[Spans], None]) -> None:
        """Call `answer` with the spans later. The latest question is answered first: it is what is on
        screen."""
        if not language or len(text) > LARGEST or max(map(len, text.split("\n"))) > LONGEST_LINE:
            return
        if (known := self._done.get((language, text))) is not None:
            answer(known)
            return
        self._current = None
        self._jobs.append((language, text, answer))
        self._timer.start(_REST_MS)

    def withdraw(self, answer: Callable[[Spans], None]) -> None:
        """The asker is gone from the screen."""
        self._jobs = [job for job in self._jobs if job[2] != answer]
        self._current = None
        if not self._jobs:
            self._timer.stop()

    def _work(self) -> None:
        if not self._jobs:
            return
        language, text, answer = self._jobs[-1]
        if self._current is None:
            self._found = []
            self._current = _spans(language, text)
        until = time.perf_counter() + _SLICE_S
        for span in self._current:
            if span is not _PAUSE:
                self._found.append(span)
            if span is _PAUSE or time.perf_counter() > until:
                self._timer.start(0)
                return
        self._current = None
        self._jobs.pop()
        self._remember(language, text)
        answer(self._found)
        if self._jobs:
            self._timer.start(0)

    def _remember(self, language: str, text: str) -> None:
        self._done[(language, text)] = self._found
        if len(self._done) > _KEPT:
            self._done.popitem(last=False)


def _spans(language: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Spans of `text`. The empty ones are pauses between imports, which many conversations never need."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    yield _PAUSE
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return
    yield _PAUSE
    yield from _tokens(lexer, text)


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[int, int, str]]:
    """Qt counts UTF-16 units, Python characters: `start` and `length` are what Qt counts."""
    wide = [at for at, character in enumerate(text) if ord(character) > 0xFFFF]
    for start, kind, value in lexer.get_tokens_unprocessed(text):
        if (name := _colour(str(kind))) is not None:
            before = bisect_left(wide, start)
            within = bisect_left(wide, start + len(value)) - before
            yield start + before, len(value) + within, name
