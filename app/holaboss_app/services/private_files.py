"""Files that only their owner may read: created so, replaced in one step, kept aside when unreadable."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def make_private_directory(path: Path) -> Path:
    """Create `path` and what is missing above it; the directory itself ends with mode 0700."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, mode 0600; a crash leaves the old file or the new one, never a mix."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def keep_aside(path: Path) -> Path:
    """Move an unreadable file to `<name>.bak`, replacing an older one, and return where it is now."""
    return path.replace(path.with_name(f"{path.name}.bak"))
