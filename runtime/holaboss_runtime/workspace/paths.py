"""`resolve_inside`: the only way from a path that somebody else wrote to a file inside a folder.

It deliberately imports almost nothing: the tools of the harness host use it for every call.
"""

from __future__ import annotations

import re
from pathlib import Path

from holaboss_runtime.errors import DomainError

_DRIVE = re.compile(r"^[A-Za-z]:($|[\\/])")


def resolve_inside(root: Path, path: str) -> Path:
    """The real location of `path` below `root`, every symbolic link followed; `""` and `"."` are the root
    itself.

    The file need not exist. Raises `DomainError` (`path_outside_workspace`) for an absolute path, a drive, a
    NUL, a `..` part, and for a link that leads out, also a dangling one. The answer is true at the moment of
    asking: a caller that writes must not follow a link made afterwards.
    """
    if "\0" in path or path.startswith(("/", "\\")) or _DRIVE.match(path):
        raise _outside(path)
    relative = Path(path)
    if relative.is_absolute() or relative.drive or ".." in relative.parts:
        raise _outside(path)
    try:
        base = root.resolve()
        resolved = (base / relative).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name too long, a lone surrogate
        raise _outside(path) from error
    if not resolved.is_relative_to(base):
        raise _outside(path)
    return resolved


def _outside(path: str) -> DomainError:
    shown = path[:200].encode("utf-8", "backslashreplace").decode()
    return DomainError(
        "invalid",
        "path_outside_workspace",
        f"{shown!r} does not lead to a place inside the workspace. Use a path relative to its folder.",
    )
