"""Small files a session keeps for itself, under `.holaboss/state/<kind>/` of its workspace: where each lies, and how it
is read and replaced.

It knows no content. A link anywhere on the way is refused: such a folder was not made by the runtime.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from holaboss_runtime.workspace.marker import STATE_FOLDER
from holaboss_runtime.workspace.paths import open_regular

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def session_file(folder: Path, kind: str, session_id: str, suffix: str) -> Path:
    """Where the file of a session lies; it need not be there. A session id that is no plain name is hashed.

    Raises `OSError` when a link leads somewhere else.
    """
    plain = _PLAIN_NAME.fullmatch(session_id)
    name = session_id if plain else hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()[:40]
    path = folder.resolve() / STATE_FOLDER / "state" / kind / f"{name}{suffix}"
    if path.parent.resolve() != path.parent:
        raise OSError(errno.ELOOP, "the folder of the runtime's own files leads elsewhere")
    return path


def read_file(path: Path, limit: int) -> bytes | None:
    """At most `limit + 1` bytes, so that more than `limit` can be told; None when nothing is there."""
    try:
        with open_regular(path) as file:
            return file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None


def replace_file(path: Path, content: bytes) -> None:
    """In one step: whoever reads at the same time sees the old or the new content. Only the owner may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(partial).replace(path)
    except OSError:
        with suppress(OSError):
            Path(partial).unlink()
        raise
