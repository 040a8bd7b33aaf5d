"""Results too long for a model: it gets the start and the end, and a file in which the whole is kept.

The files lie in the runtime's own part of the workspace and are read through a place of their own, `/tool-results`.
They are for the model, soon: the oldest make room for new ones.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.text import clip, valid_text
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.workspace.paths import resolve_inside

SHOWN_CHARS = 32 * 1024
"""More than `bash` shows by itself, so that nothing is cut twice."""

HEAD_SHARE = 0.67
MAX_KEPT_CHARS = 10_000_000
QUOTA_BYTES = 64 * 1024 * 1024
MAX_FILES = 2_000
MAX_DETAIL_CHARS = 128 * 1024
PLACE = "/tool-results"
FOLDER = ".holaboss/state/tool-results"
UNTOUCHED = frozenset({"read", "skill"})
"""Tools that bound their results themselves and offer the rest: keeping what they read would be a copy of it."""

_LINE_CHARS = 1_800  # `read` shows no longer lines
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def results_mount(root: Path) -> Mount:
    """The kept results of a workspace, to be read."""
    return Mount(mount_path=PLACE, source=str(root / FOLDER), access="read_only")


@dataclass(frozen=True, slots=True)
class Spill:
    """Keeps long results of one run. `quota_bytes` is for the whole workspace."""

    root: Path
    session_id: str
    quota_bytes: int = QUOTA_BYTES

    async def bounded(self, tool: str, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome as the model gets it."""
        outcome = _bounded_details(outcome)
        if len(outcome.text) <= SHOWN_CHARS or (tool in UNTOUCHED and not outcome.error):
            return outcome
        text = valid_text(outcome.text)
        try:
            handle = await self.save(tool, text)
        except (OSError, DomainError):  # a full disk, or a folder that is none: the result matters more
            return replace(outcome, text=clip(text, SHOWN_CHARS))
        details = outcome.details | {"whole_result": handle}
        return replace(outcome, text=_excerpt(text, handle), details=details)

    async def save(self, tool: str, text: str) -> str:
        """Keep a text; the path under which `read` and `grep` find it. Raises `OSError`, `DomainError`."""
        return await asyncio.to_thread(self._save, tool, valid_text(text[:MAX_KEPT_CHARS]))

    def _save(self, tool: str, text: str) -> str:
        parts = (_safe(tool), _safe(self.session_id))
        top = resolve_inside(self.root, FOLDER)
        folder = resolve_inside(self.root, f"{FOLDER}/{'/'.join(parts)}")
        if top != self.root / FOLDER or not folder.is_relative_to(top):
            raise OSError("the folder of results leads elsewhere")
        for made in (top.parent, top, folder.parent, folder):
            made.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}.txt"
        content = readable(text).encode()
        make_room(top, self.quota_bytes - len(content))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(folder / name, flags, 0o600), "wb") as file:
            file.write(content)
        return PurePosixPath(PLACE, *parts, name).as_posix()


def make_room(folder: Path, most_bytes: int) -> None:
    """Remove the oldest results until the rest fits, in bytes and in number."""
    found = [
        (entry.name, entry.stat(follow_symlinks=False).st_size, Path(entry.path))
        for tool in _folders(folder)
        for session in _folders(tool)
        for entry in _entries(session)
        if entry.name.endswith(".txt") and entry.is_file(follow_symlinks=False)
    ]
    found.sort()  # the names begin with the time
    total = sum(size for _, size, _ in found)
    for left, (_, size, path) in zip(range(len(found), 0, -1), found, strict=True):
        if total <= most_bytes and left < MAX_FILES:
            return
        with suppress(OSError):
            path.unlink()
        total -= size


def _folders(folder: Path) -> list[Path]:
    """Links are left out: what lies behind them is not ours to remove."""
    return [Path(entry.path) for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return []


def readable(text: str) -> str:
    """The same text in lines that can be shown: JSON is indented, other long lines are broken."""
    if all(len(line) <= _LINE_CHARS for line in text.split("\n")):
        return text
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line[at : at + _LINE_CHARS] for at in range(0, len(line), _LINE_CHARS)] or [""]
    return "\n".join(lines)


def _excerpt(text: str, handle: str) -> str:
    head = int(SHOWN_CHARS * HEAD_SHARE)
    tail = SHOWN_CHARS - head
    kept = "" if len(text) <= MAX_KEPT_CHARS else f" (its first {MAX_KEPT_CHARS:,} characters)"
    note = (
        f"[… {len(text) - SHOWN_CHARS:,} characters left out. The whole result{kept} is in {handle}: "
        "read it with offset and limit, or grep it.]"
    )
    return f"{text[:head]}\n{note}\n{text[-tail:]}"


def _bounded_details(outcome: ToolOutcome) -> ToolOutcome:
    if not outcome.details:
        return outcome
    try:
        size = len(json.dumps(outcome.details))
    except (TypeError, ValueError, RecursionError):
        size = MAX_DETAIL_CHARS + 1
    return outcome if size <= MAX_DETAIL_CHARS else replace(outcome, details={"left_out": "too long to show"})


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)[:80].lstrip(".") or "_"
