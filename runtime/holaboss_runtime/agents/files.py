"""Small private files: read whole and bounded, made once, replaced at once. Errors say which file and what to do.

Callers hand in paths that `AgentTree.safe` has passed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import open_regular

Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """`(mtime_ns, size, inode)`, which changes with every save; None when nothing is there."""
    try:
        info = path.lstat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino


def read_bounded(path: Path, limit: int) -> bytes:
    """At most `limit` + 1 bytes, so that the caller sees that there are more. Raises `OSError`; follows no link."""
    with open_regular(path) as file:
        return file.read(limit + 1)


def write_new(path: Path, content: bytes) -> bool:
    """Make the file unless something is there already; False then. It appears complete or not at all.

    Raises `DomainError` `agent_tree_not_writable`.
    """
    if os.path.lexists(path):
        return False
    with writing(path):
        partial = _partial(path, content)
        try:
            return _put_in_place(partial, path)
        finally:
            with suppress(FileNotFoundError):
                partial.unlink()


def replace(path: Path, content: bytes) -> None:
    """Put new content in the place of the file: on the disk first, then in one step.

    Raises `DomainError` `agent_tree_not_writable`; the file is what it was then.
    """
    with writing(path):
        partial = _partial(path, content)
        try:
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Turn an error of the system into one a person can act on."""
    try:
        yield
    except OSError as error:
        raise DomainError(
            "unavailable",
            "agent_tree_not_writable",
            f"{path} cannot be written: {error.strerror}. Check its permissions and the space on the disk.",
        ) from error


def _put_in_place(partial: Path, path: Path) -> bool:
    try:
        os.link(partial, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        partial.rename(path)
    return True


def _partial(path: Path, content: bytes) -> Path:
    partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    return partial
