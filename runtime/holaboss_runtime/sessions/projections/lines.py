"""Reading a journal that may be damaged: every whole line that makes sense, and by number those that do not.

A crash can leave half a line at the end, or glue the next line onto it; the line behind the glue is still read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, cast

from holaboss_runtime.sessions.projections.problems import FileProblem
from holaboss_runtime.store import journal
from holaboss_runtime.workspace.paths import open_regular

MAX_LINE = 8 * 1024 * 1024
MAX_DEPTH = 200
"""As deep as a request may be nested. What can just be read may be too deep to be written again."""
_CHUNK = 1024 * 1024
_START = b'{"kind":'
_KINDS = (journal.APPENDED, journal.PROCESSED, journal.ENQUEUED, journal.COMPLETED, journal.LEARNED)


@dataclass(slots=True)
class Lines:
    """`torn` is what stands behind the last whole line, `sound` the size of the file before it."""

    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    unreadable: list[int] = field(default_factory=list[int])
    oversized: list[int] = field(default_factory=list[int])
    torn: bytes = b""
    sound: int = 0
    unended: bool = False
    """The last line is whole and lacks its line break."""

    @property
    def damaged(self) -> bool:
        return bool(self.unreadable or self.oversized)


def read_lines(path: Path) -> Lines:
    """Raises `OSError`; follows no link and reads nothing that is not a file."""
    lines = Lines()
    with open_regular(path) as file:
        number = 0
        while raw := file.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                lines.oversized.append(number)
                lines.sound += len(raw) + _skip_line(file)
            else:
                _take(lines, number, raw)
    return lines


def problems_of(path: Path, lines: Lines) -> list[FileProblem]:
    found: list[FileProblem] = []
    where = str(path)
    if lines.torn:
        found.append(FileProblem(where, "line_torn", f"{path} ended in half a line, which was left out."))
    for number in lines.unreadable:
        found.append(
            FileProblem(
                where, "line_unreadable", f"Line {number} of {path} cannot be read in full. Compare it."
            )
        )
    for number in lines.oversized:
        sentence = f"Line {number} of {path} is larger than {MAX_LINE // 1024 // 1024} MiB and was left out."
        found.append(FileProblem(where, "line_oversized", sentence))
    return found


def parse_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object, with characters no text can hold replaced; None for anything else."""
    try:
        text = raw.decode("utf-8")
        value: object = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        if text.count("[") + text.count("{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
            return None
        if "\\u" in text:  # a lone surrogate cannot be stored
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _take(lines: Lines, number: int, raw: bytes) -> None:
    ended = raw.endswith(b"\n")
    if not raw.strip():
        lines.sound += len(raw) if ended else 0
        return
    record = parse_object(raw)
    if record is None and not ended:
        lines.torn = raw
        return
    lines.sound += len(raw)
    lines.unended = not ended
    if record is None:
        lines.unreadable.append(number)
        record = _behind_the_glue(raw)
    if record is not None:
        lines.records.append(record)


def _behind_the_glue(raw: bytes) -> dict[str, Any] | None:
    start = raw.rfind(_START)
    record = parse_object(raw[start:]) if start > 0 else None
    return record if record is not None and record.get("kind") in _KINDS else None


def _skip_line(file: BinaryIO) -> int:
    skipped = 0
    while chunk := file.readline(_CHUNK):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped


def _refuse(name: str) -> object:
    raise ValueError(name)


def _finite(number: str) -> float:
    value = float(number)
    if not isfinite(value):  # 1e999: JSON knows it, and could never be written again
        raise ValueError(number)
    return value


def _is_deeper(value: object, depth: int) -> bool:
    level: list[object] = [value]
    for _ in range(depth):
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below += cast("dict[str, object]", item).values()
            elif isinstance(item, list):
                below += cast("list[object]", item)
        level = below
    return any(isinstance(item, dict | list) for item in level)
