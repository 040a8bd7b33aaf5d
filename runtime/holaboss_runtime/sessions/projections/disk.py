"""Small steps on the disk: append, read, keep aside. All raise `OSError`; none follows a link."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections.problems import FileProblem
from holaboss_runtime.workspace.paths import open_regular

MAX_WHOLE = 64 * 1024 * 1024
NOT_WRITTEN = "projection_not_written"
CONFLICT = "projection_conflict"


@dataclass(slots=True)
class Outcome:
    """`failed` are streams with a file that could not be written, `unsure` those whose files have to be mended first;
    everything else that was asked for is in the files now."""

    unsure: set[str] = field(default_factory=set[str])
    failed: set[str] = field(default_factory=set[str])
    problems: list[FileProblem] = field(default_factory=list[FileProblem])
    well: list[str] = field(default_factory=list[str])
    lines: int = 0


def append(path: Path, addition: bytes) -> None:
    """Raises `OSError`; what was written by then stays."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        rest = memoryview(addition)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def content(path: Path) -> bytes | None:
    """At most `MAX_WHOLE` bytes: of a longer file, which is none of ours, enough to see that."""
    try:
        with open_regular(path) as file:
            return file.read(MAX_WHOLE)
    except FileNotFoundError:
        return None


def read_from(path: Path, start: int) -> bytes:
    with open_regular(path) as file:
        file.seek(start)
        return file.read()


def size_of(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return None


def aside(path: Path, why: str) -> Path:
    """A free name beside the file. Colons are not for file names."""
    base = f"{path.name}.{why}-{utc_now().replace(':', '')}"
    kept, count = path.with_name(base), 1
    while os.path.lexists(kept):
        count += 1
        kept = path.with_name(f"{base}-{count}")
    return kept


def keep(path: Path, why: str) -> Path:
    """Another name for a file that is about to be replaced, whatever its size. Raises `OSError`."""
    kept = aside(path, why)
    try:
        os.link(path, kept, follow_symlinks=False)
    except OSError:  # a file system without hard links
        path.rename(kept)
    with suppress(OSError):
        kept.chmod(0o600)
    return kept


def set_aside(path: Path, why: str) -> Path | None:
    """Rename a file to `<name>.<why>-<time>`; None when nothing is there. Raises `OSError`."""
    if not os.path.lexists(path):
        return None
    kept = aside(path, why)
    path.rename(kept)
    return kept


def conflict(path: Path, kept: Path, why: str) -> FileProblem:
    sentence = (
        f"{path} did not agree with the database ({why}) and was written anew. What it was is in {kept.name}."
    )
    return FileProblem(str(path), CONFLICT, sentence)


def failed(outcome: Outcome, path: Path, stream: str, error: OSError | DomainError) -> None:
    problem = not_written(path, error)
    if problem not in outcome.problems:
        outcome.problems.append(problem)
    outcome.failed.add(stream)


def not_written(path: Path, error: OSError | DomainError) -> FileProblem:
    reason = (
        error.detail if isinstance(error, DomainError) else f"{path} cannot be written ({error.strerror})."
    )
    return FileProblem(
        str(path), NOT_WRITTEN, f"{reason} Nothing is lost: the file follows once that is put right."
    )
