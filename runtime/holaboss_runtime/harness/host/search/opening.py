"""Opening what a walk found, and making sure afterwards that it was what was opened.

Somebody may put a link in the place of a folder while it is being walked. So the system is asked where the open file
really is, which no later change can falsify, and what is not below the area is closed again unread.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from itertools import islice

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0)


def open_file(root: str, path: str) -> int:
    """A descriptor of a regular file below `root`. Raises `OSError` for everything else."""
    descriptor = os.open(path, _FILE)
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _is_below(descriptor, root):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EACCES, "it is not a file of this folder")


def list_folder(root: str, path: str, most: int | None = None) -> list[tuple[str, bool]]:
    """Names below a folder, `most` of them, and which are folders themselves. Raises `OSError`."""
    if os.scandir not in os.supports_fd:
        with os.scandir(path) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, most)
            )
    descriptor = os.open(path, _FOLDER)
    try:
        if not _is_below(descriptor, root):
            raise OSError(errno.EACCES, "it is not a folder of this folder")
        with os.scandir(descriptor) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, most)
            )
    finally:
        os.close(descriptor)


def _is_below(descriptor: int, root: str) -> bool:
    if sys.platform.startswith("linux"):
        real = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a hot loop
    elif sys.platform == "darwin":
        import fcntl

        real = os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    else:
        return True
    return real == root or real.startswith(root.rstrip("/") + "/")
