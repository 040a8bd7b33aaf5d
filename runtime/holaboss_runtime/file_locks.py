"""Locks of the operating system on files: held by an open descriptor, gone when its process is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        """Raises `OSError` when somebody else holds it."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def is_only_looked_at(descriptor: int) -> bool:
        """Nobody can tell a look from a lock here."""
        return False

    _look = lock
else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Raises `OSError` when somebody else holds it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def is_only_looked_at(descriptor: int) -> bool:
        """Whether those who keep us from the lock hold it only to see whether it is free, and let go at once."""
        try:
            _look(descriptor)
        except OSError:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return True

    def _look(descriptor: int) -> None:
        """Shared, so that two who look do not take each other for its holder."""
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of a file; a file that is not there is not locked."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        _look(descriptor)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
