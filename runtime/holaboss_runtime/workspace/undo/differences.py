"""What a change is in lines: counts for a list, a unified diff for whoever wants to see it. Bounded; text only."""

from __future__ import annotations

import difflib

from holaboss_runtime.workspace.undo.blobs import BlobStore
from holaboss_runtime.workspace.undo.model import Change, State

MAX_COUNTED_BYTES = 256 << 10
MAX_COUNTED_LINES = 2_000
MAX_SHOWN_BYTES = 1 << 20
MAX_SHOWN_LINES = 8_000


def line_counts(blobs: BlobStore, change: Change) -> tuple[int | None, int | None]:
    """Lines added and removed; None for what is not text, or too much to compare."""
    texts = _texts(blobs, change, MAX_COUNTED_BYTES)
    if texts is None:
        return None, None
    old, new = _middle(texts[0].splitlines(), texts[1].splitlines())
    if not old or not new:
        return len(new), len(old)
    if len(old) + len(new) > MAX_COUNTED_LINES:
        return None, None
    same = sum(block.size for block in difflib.SequenceMatcher(None, old, new).get_matching_blocks())
    return len(new) - same, len(old) - same


def unified(blobs: BlobStore, change: Change, limit: int) -> tuple[str, bool] | None:
    """The diff and whether it was cut to `limit` characters; None where there is nothing to show as text."""
    texts = _texts(blobs, change, MAX_SHOWN_BYTES)
    if texts is None:
        return None
    old, new = texts[0].splitlines(), texts[1].splitlines()
    if len(old) + len(new) > MAX_SHOWN_LINES:
        return "", True
    before = change.path if change.before.kind != "absent" else "/dev/null"
    after = change.path if change.after.kind != "absent" else "/dev/null"
    text = "\n".join(difflib.unified_diff(old, new, before, after, lineterm=""))
    return text[:limit], len(text) > limit


def _texts(blobs: BlobStore, change: Change, limit: int) -> tuple[str, str] | None:
    if {change.before.kind, change.after.kind} - {"absent", "file"}:
        return None
    old, new = _text(blobs, change.before, limit), _text(blobs, change.after, limit)
    return None if old is None or new is None else (old, new)


def _text(blobs: BlobStore, state: State, limit: int) -> str | None:
    if state.kind == "absent":
        return ""
    content = blobs.read(state.digest, limit) if state.digest else None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _middle(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Both without what they have in common at the start and at the end."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]
