"""The throw-away process of a search: one question in, one JSON line for each thing found, a summary last.

It ends with its parent, with its processor time, and with its memory. What it is told to find is data to it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from holaboss_runtime.harness.host.search.globs import TYPES, Glob
from holaboss_runtime.harness.host.search.matching import Matcher, PatternError, with_context
from holaboss_runtime.harness.host.search.opening import open_file
from holaboss_runtime.harness.host.search.walk import Walk

MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_VISITED = 200_000
_BINARY_LOOK = 8 * 1024

Json = dict[str, Any]


def search(question: Json) -> Iterator[Json]:
    """What `find` and `grep` ask. Yields `{"path": …}` or `{"path", "lines"|"count"}`, then `{"summary": …}`."""
    try:
        yield from _find(question) if question["what"] == "find" else _grep(question)
    except PatternError as error:
        yield {"problem": f"The pattern is not a valid regular expression: {error}."}


def _find(question: Json) -> Iterator[Json]:
    glob = Glob(question["pattern"])
    walk = _walk(question, glob)
    walk.folders_too = question["kind"] != "file"
    found, full, top = 0, False, len(walk.top)
    for visited, (parts, is_folder) in enumerate(walk):
        if (is_folder or question["kind"] != "folder") and glob.matches(parts[top:]):
            if found == question["limit"]:
                full = True
                break
            found += 1
            yield {"path": "/".join(parts) + ("/" if is_folder else "")}
        if visited >= MAX_VISITED:
            full = True
            break
    yield _summary(walk, full=full)


def _grep(question: Json) -> Iterator[Json]:
    matcher = Matcher(
        question["pattern"],
        literal=question["literal"],
        ignore_case=question["ignore_case"],
        multiline=question["multiline"],
    )
    walk = _walk(question, Glob(question["glob"]) if question["glob"] else None)
    room, full, skipped = question["limit"], False, _Skipped()
    for parts in _files(question, walk):
        if room <= 0:
            full = True
            break
        text = _text(walk.root, parts, skipped)
        if text is None or not (hits := matcher.hits(text)):
            continue
        path = "/".join(parts)
        if question["output"] != "lines":
            room -= 1
            yield {"path": path, "count": len(hits)}
            continue
        full = full or len(hits) > room
        groups = with_context(text, hits[:room], question["context"])
        room -= len(hits)
        yield {
            "path": path,
            "groups": [[(one.number, one.text, one.hit) for one in group] for group in groups],
        }
    yield _summary(walk, full=full, skipped=skipped)


def _walk(question: Json, glob: Glob | None) -> Walk:
    hidden = question["hidden"] or (glob is not None and glob.wants_hidden)
    return Walk(question["root"], tuple(question["top"]), hidden=hidden, no_ignore=question["no_ignore"])


def _files(question: Json, walk: Walk) -> Iterator[tuple[str, ...]]:
    if question["is_file"]:  # named itself: what it is called does not matter
        yield walk.top
        return
    globs = [Glob(question["glob"])] if question["glob"] else []
    kinds = [Glob(pattern) for pattern in TYPES.get(question["type"] or "", ())]
    top = len(walk.top)
    for visited, (parts, _) in enumerate(walk):
        inside = parts[top:]
        if all(glob.matches(inside) for glob in globs) and (
            not kinds or any(kind.matches(inside) for kind in kinds)
        ):
            yield parts
        if visited >= MAX_VISITED:
            walk.too_deep += 1
            return


class _Skipped:
    """Files that were not searched."""

    def __init__(self) -> None:
        self.binary = 0
        self.large = 0
        self.unreadable = 0


def _text(root: str, parts: tuple[str, ...], skipped: _Skipped) -> str | None:
    try:
        with os.fdopen(open_file(root, os.path.join(root, *parts)), "rb") as file:  # noqa: PTH118 - a hot loop
            content = file.read(_BINARY_LOOK)
            if b"\0" not in content:
                content += file.read(MAX_FILE_BYTES + 1 - len(content))
    except OSError:
        skipped.unreadable += 1
        return None
    if b"\0" in content:
        skipped.binary += 1
        return None
    if len(content) > MAX_FILE_BYTES:
        skipped.large += 1
        return None
    return content.decode("utf-8", "replace")


def _summary(walk: Walk, *, full: bool, skipped: _Skipped | None = None) -> Json:
    skipped = skipped or _Skipped()
    return {
        "summary": {
            "full": full,
            "left_out": walk.left_out,
            "too_deep": walk.too_deep,
            "unreadable": walk.unreadable + skipped.unreadable,
            "binary": skipped.binary,
            "large": skipped.large,
        }
    }


def main() -> int:
    """Answer the question on standard input."""
    question: Json = json.load(sys.stdin)
    for found in search(question):
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    return 0
