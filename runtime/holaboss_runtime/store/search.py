"""Full-text search over what was said and what tools returned. SQLite only (FTS5); its indexes are kept by triggers.

Hits come newest first, so that a page costs what it shows and not what exists. Words are matched without regard to case
and accents, the last one also as a beginning. Scripts that put no spaces between words are only found by whole runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, Literal

from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database

MARK_BEGIN, MARK_END = "\u0002", "\u0003"
"""Around each match in a snippet."""

MAX_TERMS = 32
SNIPPET_TOKENS = 24

Kind = Literal["message", "tool_output"]


@dataclass(frozen=True, slots=True)
class Hit:
    """`rank` is smaller for a better match. `cursor` as `before` gives what follows this hit."""

    kind: Kind
    input_id: str
    session_id: str
    role: str | None
    created_at: str
    snippet: str
    rank: float
    cursor: str


@dataclass(frozen=True, slots=True)
class _Source:
    kind: Kind
    index: str
    content: str
    row: str
    role: str


_SOURCES = (
    _Source("message", "message_search", "session_messages", "seq", "c.role"),
    _Source("tool_output", "tool_output_search", "session_output_events", "id", "NULL"),
)
_UNBOUNDED = 2**62


class Search:
    def __init__(self, database: Database) -> None:
        self._database = database

    def search(
        self,
        workspace_id: str,
        query: str,
        *,
        session_id: str | None = None,
        limit: int = 20,
        before: str | None = None,
    ) -> list[Hit]:
        """Every word of `query` in one text; nothing for a query without words.

        `before` is the cursor of the last hit of the page before. Raises `DomainError` (`invalid`, `cursor_invalid`).
        """
        expression = _expression(query)
        if not expression or limit < 1:
            return []
        positions = _positions(before)
        found = [
            self._of(source, expression, workspace_id, session_id, position, limit)
            for source, position in zip(_SOURCES, positions, strict=True)
        ]
        hits: list[Hit] = []
        for index, row in islice(merge(*found, key=_newness, reverse=True), limit):
            positions[index] = int(row[0])
            cursor = ".".join(str(position) for position in positions)
            input_id, session, role, created_at, snippet, rank = row[1:]
            kind = _SOURCES[index].kind
            hits.append(Hit(kind, input_id, session, role, created_at, snippet, rank, cursor))
        return hits

    def _of(
        self,
        source: _Source,
        expression: str,
        workspace_id: str,
        session_id: str | None,
        position: int,
        limit: int,
    ) -> list[tuple[int, tuple[Any, ...]]]:
        rows = self._database.tuples(
            f"SELECT c.{source.row}, c.input_id, c.session_id, {source.role}, c.created_at,"
            f" snippet({source.index}, 0, ?5, ?6, '…', {SNIPPET_TOKENS}), {source.index}.rank"
            f" FROM {source.index} JOIN {source.content} c ON c.{source.row} = {source.index}.rowid"
            f" WHERE {source.index} MATCH ?1 AND {source.index}.rowid < ?2 AND c.workspace_id = ?3"
            f" AND (?4 IS NULL OR c.session_id = ?4) ORDER BY {source.index}.rowid DESC LIMIT ?7",
            (expression, position, workspace_id, session_id, MARK_BEGIN, MARK_END, limit),
        )
        index = _SOURCES.index(source)
        return [(index, row) for row in rows]


def _newness(found: tuple[int, tuple[Any, ...]]) -> str:
    return str(found[1][4])


def _expression(query: str) -> str:
    """Each word a quoted string, so that nothing in it is syntax; the last may be unfinished."""
    plain = query.encode("utf-8", "replace").decode().replace("\0", " ")
    words = [word.replace('"', '""') for word in plain.split() if any(char.isalnum() for char in word)]
    terms = [f'"{word}"' for word in words[:MAX_TERMS]]
    unfinished = bool(terms) and len(words) <= MAX_TERMS and not plain[-1:].isspace()
    return " ".join(terms) + ("*" if unfinished else "")


def _positions(cursor: str | None) -> list[int]:
    if cursor is None:
        return [_UNBOUNDED] * len(_SOURCES)
    parts = cursor.split(".")
    if len(parts) != len(_SOURCES) or not all(
        part.isascii() and part.isdigit() and len(part) < 20 for part in parts
    ):
        raise DomainError(
            "invalid", "cursor_invalid", "Give the cursor of a hit as it was, or none to start at the newest."
        )
    return [int(part) for part in parts]
