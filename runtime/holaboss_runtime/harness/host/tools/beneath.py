"""Opening and replacing files below an area without ever following a link that was put there since it was located.

`Areas.locate` says where a path leads at the moment of asking. Every step from the area down is taken again here, one
folder at a time and without following links, so that nothing that runs meanwhile can lead a tool elsewhere. Where the
system cannot open a name relative to a folder (Windows) the located path itself is used.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from holaboss_runtime.harness.host.tools.places import Place
from holaboss_runtime.workspace.paths import NotAFileError

_RELATIVE = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_STAY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_READ = os.O_RDONLY | _STAY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _STAY | getattr(os, "O_BINARY", 0)
TEMPORARY = ".holaboss-"
"""How the names of unfinished files begin."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder; `fd` is None where names cannot be relative to one."""

    path: Path
    fd: int | None

    def named(self, name: str) -> str:
        return name if self.fd is not None else str(self.path / name)

    def status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.named(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None


def open_place(place: Place) -> BinaryIO:
    """Open a regular file for reading. Raises `OSError`, `NotAFileError` for everything else that is there."""
    with _parent(place) as folder:
        descriptor = os.open(folder.named(place.path.name), _READ, dir_fd=folder.fd)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotAFileError(errno.EINVAL, "it is not a file")
        return os.fdopen(descriptor, "rb")


@contextmanager
def replacing(place: Place, *, overwrite: bool = True) -> Generator[BinaryIO]:
    """A new file that takes the place of the old one when the block ends well, and vanishes otherwise.

    Missing folders are made. Readers see the old or the new one; permissions stay. Raises `OSError`, `NotAFileError`
    when something else is there, and `FileExistsError` for any file without `overwrite`.
    """
    with _parent(place, make=True) as folder:
        name, temporary = place.path.name, f"{TEMPORARY}{secrets.token_hex(8)}"
        mode = _mode_of(folder.status(name), overwrite=overwrite)
        descriptor = os.open(folder.named(temporary), _NEW, 0o600, dir_fd=folder.fd)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), mode)
            _put(folder, temporary, name, overwrite=overwrite)
        except BaseException:
            with suppress(OSError):
                os.unlink(folder.named(temporary), dir_fd=folder.fd)
            raise


def _mode_of(there: os.stat_result | None, *, overwrite: bool) -> int:
    if there is None:
        return 0o644
    if not stat.S_ISREG(there.st_mode):
        raise NotAFileError(errno.EINVAL, "it is not a file")
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "it exists")
    return stat.S_IMODE(there.st_mode)


def _put(folder: _Folder, temporary: str, name: str, *, overwrite: bool) -> None:
    if overwrite or folder.fd is None:
        os.replace(folder.named(temporary), folder.named(name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        return
    try:
        os.link(temporary, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.replace(temporary, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    else:
        os.unlink(temporary, dir_fd=folder.fd)


@contextmanager
def _parent(place: Place, *, make: bool = False) -> Generator[_Folder]:
    root, parent = place.area.root, place.path.parent
    if not parent.is_relative_to(root):  # the area is this one file
        root = parent
    if not _RELATIVE:
        if make:
            parent.mkdir(parents=True, exist_ok=True)
        yield _Folder(parent, None)
        return
    descriptor = os.open(root, _FOLDER | getattr(os, "O_CLOEXEC", 0))
    try:
        for name in parent.relative_to(root).parts:
            descriptor = _step(descriptor, name, make=make)
        yield _Folder(parent, descriptor)
    finally:
        os.close(descriptor)


def _step(descriptor: int, name: str, *, make: bool) -> int:
    """The folder `name` in an open one, which is closed when that worked."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=descriptor)
    below = os.open(name, _FOLDER | _STAY, dir_fd=descriptor)
    os.close(descriptor)
    return below
