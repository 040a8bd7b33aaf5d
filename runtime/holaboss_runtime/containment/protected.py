"""What in a workspace must not be written by a command, because git would execute it outside of every containment.

Hooks and configuration of the repository, of those nested in it and of its submodules, and the folders and files a
configuration names. The search is bounded: a repository deeper than `MAX_DEPTH`, or behind more than `MAX_ENTRIES`
entries, is not found. Reads the disk and changes nothing.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_DEPTH = 4
MAX_ENTRIES = 5_000
MAX_REPOSITORIES = 50
_MAX_CONFIG_BYTES = 256 * 1024
_PASSED_OVER = frozenset({".holaboss", ".openboa", "node_modules", ".venv"})
_BARE = frozenset({"HEAD", "objects", "refs"})
_HOOKS_PATH = re.compile(
    rb"^[ \t]*(?:\[core\])?[ \t]*hookspath[ \t]*=[ \t]*(.+?)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_INCLUDED = re.compile(
    rb"^[ \t]*(?:\[include[^\]]*\])?[ \t]*path[ \t]*=[ \t]*(.+?)[ \t]*$", re.IGNORECASE | re.MULTILINE
)


@dataclass
class Protected:
    """`pinned` stay where they are but can be written into; `folders` and `files` cannot be written at all.

    The latter may be missing. `common` are places where a file must not appear, because it would lead git elsewhere.
    """

    pinned: list[Path] = field(default_factory=list[Path])
    folders: list[Path] = field(default_factory=list[Path])
    files: list[Path] = field(default_factory=list[Path])
    common: list[Path] = field(default_factory=list[Path])


def protected_in(place: Path) -> Protected:
    """What to protect in a folder; nothing for a file."""
    found = Protected()
    if not place.is_dir():
        return found
    for entry in _repositories(place):
        if entry.is_symlink():
            continue
        if entry.is_file():
            found.files.append(entry)
        elif len(found.pinned) < MAX_REPOSITORIES:
            _add_repository(found, entry, place, entry.parent if entry.name == ".git" else entry)
    return found


def _repositories(place: Path) -> Iterator[Path]:
    """Everything called `.git`, and folders that are a repository themselves; the nearest first."""
    waiting = deque([(place, 0)])
    seen = 0
    while waiting:
        folder, depth = waiting.popleft()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if ".git" in names:
            yield folder / ".git"
        if depth and (names >= _BARE or _has_kept_parts(folder)):
            yield folder
            continue
        seen += len(entries)
        if depth == MAX_DEPTH or seen > MAX_ENTRIES:
            continue
        for entry in entries:
            if (
                entry.name != ".git"
                and entry.name not in _PASSED_OVER
                and entry.is_dir(follow_symlinks=False)
            ):
                waiting.append((Path(entry.path), depth + 1))


def _add_repository(found: Protected, git: Path, place: Path, work_tree: Path) -> None:
    found.pinned.append(git)
    found.folders.append(git / "hooks")
    found.files.append(git / "config")
    config = _start_of(git / "config")
    if (git / "config.worktree").exists() or b"worktreeconfig" in config.lower():
        found.files.append(git / "config.worktree")
    if not (git / "commondir").exists():
        found.common.append(git / "commondir")
    for raw in _HOOKS_PATH.findall(config):
        found.folders += _inside(place, work_tree, raw)
    for raw in _INCLUDED.findall(config):
        found.files += _inside(place, git, raw)
    for inner in _modules(git / "modules"):
        if len(found.pinned) < MAX_REPOSITORIES:
            _add_repository(found, inner, place, inner)
    for linked in _folders(git / "worktrees"):
        found.pinned.append(linked)
        found.files += [linked / name for name in ("commondir", "gitdir") if (linked / name).is_file()]


def _modules(folder: Path, depth: int = 0) -> Iterator[Path]:
    """The repositories of submodules; the name of one may contain slashes."""
    for entry in _folders(folder):
        if (entry / "HEAD").is_file() or _has_kept_parts(entry):
            yield entry
        elif depth < MAX_DEPTH:
            yield from _modules(entry, depth + 1)


def _has_kept_parts(folder: Path) -> bool:
    """A repository is known by what a command cannot take out of it: otherwise it would not be one the next time."""
    return (folder / "config").is_file() and (folder / "hooks").is_dir()


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _inside(place: Path, base: Path, raw: bytes) -> list[Path]:
    """A path that a configuration names, when it lies in the workspace and is not the workspace itself."""
    text = os.fsdecode(raw).strip('"')
    try:
        path = (base / text).resolve()
    except (OSError, RuntimeError, ValueError):
        return []
    return [path] if path.is_relative_to(place) and path != place else []


def _start_of(config: Path) -> bytes:
    try:
        with config.open("rb") as file:
            return file.read(_MAX_CONFIG_BYTES)
    except OSError:
        return b""
