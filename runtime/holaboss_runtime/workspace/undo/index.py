"""What the recorder last saw of a workspace: each path with its stat and its content, so that what did not change
costs a stat and nothing else.

The contents of all files up to `MAX_SCANNED_BYTES` are kept, as far as `BASE_BYTES` goes: a command may change any of
them, and afterwards it is too late. Repositories, installed packages and our own state are left out; what git ignores
is not, because nothing else could bring it back.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, cast

from holaboss_runtime.workspace.undo.model import ABSENT, BadRecordError, State, mapping
from holaboss_runtime.workspace.undo.store import UndoStore
from holaboss_runtime.workspace.undo.tree import MAX_DEPTH, PRIVATE, plain_state

MAX_ENTRIES = 20_000
MAX_SCANNED_BYTES = 4 << 20
MAX_NAMED_BYTES = 16 << 20
BASE_BYTES = 128 << 20
LEFT_OUT = frozenset({".git", "node_modules", ".venv", "__pycache__"})
LONGEST_LOOK_S = 2.0
"""What was not read by then is read at the next look; a command waits for this one."""

RECORD = "index.json"
_SETTLED_NS = 100_000_000
"""A file that changed this shortly before it was read may change once more without its times telling."""

Stat = tuple[int, int, int, int, int]
Difference = tuple[str, State, State]


class Known(NamedTuple):
    stat: Stat
    state: State
    settled: bool


class Index:
    """Bound to one store; use it while that is held."""

    def __init__(
        self,
        store: UndoStore,
        *,
        max_entries: int = MAX_ENTRIES,
        base_bytes: int = BASE_BYTES,
        longest_s: float = LONGEST_LOOK_S,
    ) -> None:
        self._store = store
        self._max_entries = max_entries
        self._base_bytes = base_bytes
        self._longest_s = longest_s
        self._used = 0
        self._known: dict[str, Known] = {}
        self.dirty = False
        self.complete = True
        self.loaded = self._load(store.read(RECORD))
        """Whether it was on the disk: otherwise the first look finds everything new."""

    def look(self) -> list[Difference]:
        """Look at everything, and tell what is not as it was."""
        found: list[Difference] = []
        deadline = time.monotonic() + self._longest_s
        entries = self._everything()
        known = self._known
        for path, info in entries.items():
            was = known.get(path)
            if was is not None and was[2] and was[0] == _key(info):
                continue
            before = was[1] if was is not None else ABSENT
            late = time.monotonic() > deadline
            after = self._take(path, info, MAX_SCANNED_BYTES, late=late)
            first_read = was is not None and was[0] == _key(info) and bool(before.problem)
            if not first_read and not after.same(before):
                found.append((path, before, after))
        for path in known.keys() - entries.keys():
            if self._store.tree.stat(path) is None:
                found.append((path, self._forget(path), ABSENT))
        return found

    def look_at(self, path: str) -> State:
        """What one path is now, its content kept."""
        info = self._store.tree.stat(path)
        if info is None:
            self._forget(path)
            return ABSENT
        known = self._known.get(path)
        if known is not None and known.settled and known.stat == _key(info) and not known.state.problem:
            return known.state
        return self._take(path, info, MAX_NAMED_BYTES)

    def digests(self) -> Iterator[str]:
        return (known.state.digest for known in self._known.values() if known.state.digest)

    def save(self) -> None:
        if self.dirty:
            rows = {
                path: [*known.stat, known.settled, *_row(known.state)] for path, known in self._known.items()
            }
            self._store.write(RECORD, {"version": 1, "entries": rows})
            self.dirty = False

    def _everything(self) -> dict[str, os.stat_result]:
        """Folder by folder, the upper ones first, in the order of their names."""
        found: dict[str, os.stat_result] = {}
        waiting: deque[str] = deque([""])
        self.complete = True
        while waiting:
            inside = self._inside(waiting.popleft())
            if len(found) + len(inside) > self._max_entries:
                self.complete = False
                return found
            found.update(inside)
            waiting += sorted(
                path
                for path, info in inside
                if stat.S_ISDIR(info.st_mode) and path.count("/") < MAX_DEPTH - 1
            )
        return found

    def _inside(self, folder: str) -> list[tuple[str, os.stat_result]]:
        """What is in one folder; what is gone meanwhile, or not for us, is left out."""
        inside: list[tuple[str, os.stat_result]] = []
        prefix = f"{folder}/" if folder else ""
        entries = self._store.tree.entries(folder)
        with suppress(OSError):
            for entry in entries:
                name = entry.name
                if name in LEFT_OUT or not _has_name(name) or (not folder and name.casefold() in PRIVATE):
                    continue
                try:
                    inside.append((prefix + name, entry.stat(follow_symlinks=False)))
                except FileNotFoundError:
                    continue
        return inside

    def _take(self, path: str, info: os.stat_result, limit: int, *, late: bool = False) -> State:
        self._forget(path)
        read_at = time.time_ns()
        if late and stat.S_ISREG(info.st_mode):
            state, settled = replace(plain_state(info), problem="no_time"), False
        else:
            state, info = self._capture(path, info, limit)
            settled = read_at - info.st_ctime_ns > _SETTLED_NS
        self._used += state.size if state.digest else 0
        self._known[path] = Known(_key(info), state, settled)
        self.dirty = True
        return state

    def _forget(self, path: str) -> State:
        known = self._known.pop(path, None)
        if known is None:
            return ABSENT
        self._used -= known.state.size if known.state.digest else 0
        self.dirty = True
        return known.state

    def _capture(self, path: str, info: os.stat_result, limit: int) -> tuple[State, os.stat_result]:
        state = plain_state(info)
        try:
            if state.kind == "link":
                return replace(state, target=self._store.tree.read_link(path)), info
            if state.kind != "file":
                return state, info
            room = limit if limit > MAX_SCANNED_BYTES else min(limit, self._base_bytes - self._used)
            if info.st_size > room:
                problem = "too_large" if info.st_size > limit else "no_room"
                return replace(state, problem=problem), info
            with self._store.tree.open(path) as file:
                info = os.fstat(file.fileno())
                content = file.read(limit + 1)
        except OSError:
            return replace(state, problem="unreadable"), info
        state = plain_state(info)
        if len(content) > limit:
            return replace(state, problem="too_large"), info
        return replace(state, digest=self._store.blobs.put(content), size=len(content), stamp=""), info

    def _load(self, value: object) -> bool:
        try:
            entries = mapping(mapping(value).get("entries"))
            for path, row in entries.items():
                self._known[path] = _known(row)
        except (BadRecordError, ValueError, TypeError, OverflowError):  # JSON may hold an infinity
            self._known.clear()
            return False
        self._used = sum(known.state.size for known in self._known.values() if known.state.digest)
        return True


def _key(info: os.stat_result) -> Stat:
    return info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns, info.st_mode


def _row(state: State) -> list[Any]:
    return [state.kind, state.digest, state.target, state.problem, state.stamp]


def _known(row: Any) -> Known:  # noqa: ANN401 - checked here
    size, mtime, inode, ctime, mode, settled, kind, digest, target, problem, stamp = cast(list[Any], row)
    key = int(size), int(mtime), int(inode), int(ctime), int(mode)
    shown = {"kind": kind, "digest": digest, "target": target, "problem": problem, "stamp": stamp}
    bits = {"mode": key[4] & 0o777, "size": key[0]} if kind == "file" else {}
    return Known(key, State.from_json(shown | bits), bool(settled))


def _has_name(name: str) -> bool:
    """Whether it can be written down: some names of files are not text."""
    if name.isascii():
        return name.casefold() != ".git"
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
