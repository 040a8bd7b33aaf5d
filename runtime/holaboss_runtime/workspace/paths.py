"""`resolve_inside` and `open_regular`: the only way from a path that somebody else wrote to a file inside a folder.

It deliberately imports almost nothing: the tools of the harness host use it for every call.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path
from typing import BinaryIO

from holaboss_runtime.errors import DomainError

_READING = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_SHORT = re.compile(r"^(git|holabo|openbo)~\d+$")
MAX_DEPTH = 256
_DRIVE = re.compile(r"^[A-Za-z]:($|[\\/])")


def resolve_inside(root: Path, path: str) -> Path:
    """The real location of `path` below `root`, every symbolic link followed; `""` and `"."` are the root
    itself.

    The file need not exist. Raises `DomainError` (`path_outside_workspace`) for an absolute path, a drive, a
    NUL, a `..` part, and for a link that leads out, also a dangling one. The answer is true at the moment of
    asking: a caller that writes must not follow a link made afterwards. `path_too_deep` is a path that folders could
    not be made for one by one.
    """
    if "\0" in path or path.startswith(("/", "\\")) or _DRIVE.match(path):
        raise _outside(path)
    relative = Path(path)
    if relative.is_absolute() or relative.drive or ".." in relative.parts:
        raise _outside(path)
    if len(relative.parts) > MAX_DEPTH:
        raise DomainError(
            "invalid",
            "path_too_deep",
            f"A path in a workspace has at most {MAX_DEPTH} parts. Use a shorter one.",
        )
    try:
        base = root.resolve()
        resolved = (base / relative).resolve()
        looped = _is_loop(resolved)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name too long, a lone surrogate
        raise _outside(path) from error
    if looped or not resolved.is_relative_to(base):
        raise _outside(path)
    return resolved


def _is_loop(resolved: Path) -> bool:
    """Whether links are left in it that lead to each other: from Python 3.13 on `resolve` leaves them as they are."""
    try:
        resolved.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def plain_name(name: str) -> str:
    """A name as the most lenient file system compares it: two that may be one file somewhere become equal.

    Case, composition, compatible forms (a full-width dot) and marks nobody sees make no difference, nor do dots and
    spaces at the end or a stream of the file. The short names that Windows makes up become the long ones.
    """
    folded = _IGNORED.sub("", unicodedata.normalize("NFKC", name)).casefold()
    plain = folded.partition(":")[0].rstrip(". ") or folded
    short = _SHORT.match(plain)
    return {"git": ".git", "holabo": ".holaboss", "openbo": ".openboa"}[short[1]] if short else plain


class NotAFileError(OSError):
    """What is there is a folder, a pipe or a device."""


def open_regular(path: Path) -> BinaryIO:
    """Open, for reading, a path that `resolve_inside` gave. Raises `OSError`, `NotAFileError` for all but files.

    A link made since is not followed, and nothing that could make a reader wait or read for ever is opened.
    """
    descriptor = os.open(path, _READING)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFileError(errno.EINVAL, "it is not a file")
    return os.fdopen(descriptor, "rb")


def _outside(path: str) -> DomainError:
    shown = path[:200].encode("utf-8", "backslashreplace").decode()
    return DomainError(
        "invalid",
        "path_outside_workspace",
        f"{shown!r} does not lead to a place inside the workspace. Use a path relative to its folder.",
    )
