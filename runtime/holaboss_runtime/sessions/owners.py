"""Who works on a database: each process that runs wakes holds an OS lock of its own for as long as it lives.

A lease names its owner, so whoever finds a lease can ask at once whether that owner is still there, instead of waiting
for the lease to run out. Neither process ids, which come back, nor clocks, which go back, are trusted.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from holaboss_client.base import new_id
from holaboss_runtime.file_locks import is_locked, lock

SERVER = "server"
CLI = "cli"


class Owners:
    """The owners of one database; `folder` lies beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: dict[str, tuple[int, Path]] = {}

    @classmethod
    def of_database(cls, path: Path) -> Owners:
        return cls(path.with_name(f"{path.name}-owners"))

    def register(self, kind: str) -> str:
        """A new owner that lives until `release`, or until this process ends, however it ends."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._sweep()
        while True:
            name = f"{kind}:{os.getpid()}:{new_id()}"
            path = self._file(name)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            with suppress(OSError):
                lock(descriptor)
                if _is_there(path, descriptor):
                    self._mine[name] = (descriptor, path)
                    return name
            os.close(descriptor)  # somebody swept between the two steps

    def is_alive(self, owner: str) -> bool:
        """Anything that is not the name of an owner is nobody."""
        return owner in self._mine or (owner.count(":") == 2 and is_locked(self._file(owner)))

    def release(self, owner: str) -> None:
        held = self._mine.pop(owner, None)
        if held is not None:
            descriptor, path = held
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)

    def _file(self, owner: str) -> Path:
        return self._folder / f"{owner.rpartition(':')[2]}.lock"

    def _sweep(self) -> None:
        """Remove what dead owners left, under their own lock: nobody can be alive in what is removed."""
        for path in self._folder.glob("*.lock"):
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDWR)
                try:
                    lock(descriptor)
                    path.unlink()
                finally:
                    os.close(descriptor)


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
