"""The files of a workspace for undo: reached folder by folder from its root, so that no link is ever followed.

Where the system has it (Linux, macOS), each folder is opened relative to the one before; a link that is put into a path
while it is used leads nowhere. Elsewhere each part is looked at first.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from holaboss_runtime.workspace.undo.model import ABSENT, BadRecordError, State

HAS_FOLDERS = os.open in os.supports_dir_fd and os.name == "posix"
PRIVATE = frozenset({".holaboss", ".openboa"})
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
MAX_DEPTH = 64


class InTheWayError(OSError):
    """A part of a path is not a folder, or is a link."""


class Tree:
    """`root` is real. Paths are relative, with forward slashes; one that could lead out raises `BadRecordError`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def stat(self, path: str) -> os.stat_result | None:
        """Of the path itself, links included; None when nothing is there."""
        try:
            with self._parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, InTheWayError):
            return None

    def open(self, path: str) -> BinaryIO:
        """Raises `OSError`, also for anything but a file."""
        with self._parent(path) as (folder, name):
            descriptor = os.open(name, _FILE, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InTheWayError(errno.EINVAL, "it is not a file")
        return os.fdopen(descriptor, "rb")

    def read_link(self, path: str) -> str:
        with self._parent(path) as (folder, name):
            return os.readlink(name, dir_fd=folder)

    def entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        """What is in a folder; `""` is the root. Use each entry before the next one."""
        with (
            self._folder(path.split("/") if path else ()) as (folder, prefix),
            os.scandir(prefix if folder is None else folder) as found,
        ):
            yield from found

    def names(self, path: str) -> list[str]:
        try:
            return [entry.name for entry in self.entries(path)]
        except (FileNotFoundError, InTheWayError):
            return []

    def make_folder(self, path: str) -> None:
        with self._folder(_parts(path), make=True):
            pass

    def put_file(self, path: str, staged: Path, mode: int) -> None:
        """Move a finished file into its place; what was there is replaced in one step."""
        staged.chmod(mode or 0o644)
        with self._parent(path, make=True) as (folder, name):
            try:
                os.replace(staged, name, dst_dir_fd=folder)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy_beside(staged, folder, name, mode)

    def put_link(self, path: str, target: str) -> None:
        with self._parent(path, make=True) as (folder, name):
            beside = _beside(name)
            os.symlink(target, beside, dir_fd=folder)
            try:
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(beside, dir_fd=folder)
                raise

    def remove(self, path: str) -> None:
        """A file or a link."""
        with self._parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: str) -> bool:
        """False when something is in it."""
        try:
            with self._parent(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                return False
            raise
        return True

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Generator[tuple[int | None, str]]:
        """What to give as `dir_fd` and as name."""
        parts = _parts(path)
        with self._folder(parts[:-1], make=make) as (folder, prefix):
            yield folder, parts[-1] if folder is not None else str(Path(prefix, parts[-1]))

    @contextmanager
    def _folder(self, parts: Sequence[str], *, make: bool = False) -> Generator[tuple[int | None, str]]:
        """Raises `FileNotFoundError`, `InTheWayError`."""
        if not HAS_FOLDERS:
            yield None, str(_looked_at(self.root, parts, make=make))
            return
        descriptor = os.open(self.root, _FOLDER)
        try:
            for part in parts:
                inner = _enter(descriptor, part, make=make)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, ""
        finally:
            os.close(descriptor)


def _parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).parts
    fine = parts and len(parts) <= MAX_DEPTH and "\0" not in path and not path.startswith("/")
    strange = os.name == "nt" and ("\\" in path or ":" in path)
    if not fine or strange or ".." in parts or "/".join(parts) != path or _is_closed(parts):
        raise BadRecordError("not a path of a workspace")
    return parts


def _is_closed(parts: Sequence[str]) -> bool:
    return parts[0].casefold() in PRIVATE or any(part.casefold() == ".git" for part in parts)


def is_recordable(path: str) -> bool:
    """Whether undo may ever touch it."""
    try:
        _parts(path)
        path.encode()
    except (BadRecordError, UnicodeEncodeError):
        return False
    return True


def plain_state(info: os.stat_result | None) -> State:
    """What a path is, as far as its `stat` says: no content, no target."""
    if info is None:
        return ABSENT
    mode = info.st_mode
    if stat.S_ISDIR(mode):
        return State("folder")
    if stat.S_ISLNK(mode):
        return State("link")
    stamp = f"{info.st_size}:{info.st_mtime_ns}:{info.st_ino}:{info.st_ctime_ns}"
    if stat.S_ISREG(mode):
        return State("file", mode=stat.S_IMODE(mode) & 0o777, size=info.st_size, stamp=stamp)
    return State("other", problem="special", stamp=stamp)


def _enter(descriptor: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=descriptor)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(part, 0o755, dir_fd=descriptor)
        return os.open(part, _FOLDER, dir_fd=descriptor)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise InTheWayError(error.errno, "something that is not a folder is in the way") from error
        raise


def _looked_at(root: Path, parts: Sequence[str], *, make: bool) -> Path:
    folder = root
    for part in parts:
        folder = folder / part
        try:
            mode = folder.lstat().st_mode
        except FileNotFoundError:
            if not make:
                raise
            folder.mkdir()
            continue
        if not stat.S_ISDIR(mode):
            raise InTheWayError(errno.ENOTDIR, "something that is not a folder is in the way")
    return folder


def _copy_beside(staged: Path, folder: int | None, name: str, mode: int) -> None:
    """Another file system is mounted there: write the file beside its place first."""
    beside = _beside(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(beside, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as written, staged.open("rb") as source:
            while piece := source.read(1 << 20):
                written.write(piece)
            written.flush()
            os.fsync(descriptor)
        os.chmod(beside, mode or 0o644, dir_fd=folder)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    staged.unlink()


def _beside(name: str) -> str:
    place = Path(name)
    return str(place.with_name(f".holaboss-undo-{secrets.token_hex(6)}"))
