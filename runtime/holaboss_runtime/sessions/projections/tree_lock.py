"""One writer per agent tree: an operating system lock, which ends with the process however that ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

from holaboss_runtime.errors import DomainError
from holaboss_runtime.file_locks import lock

PATIENCE_S = 5.0
_PAUSE_S = 0.005


class TreeLock:
    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        self._path = path
        self._patience_s = patience_s
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Waits for another process a moment; call it in a thread.

        Raises `OSError` when the file cannot be made, `DomainError` `projection_busy` when the other does not let go.
        """
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path, flags, 0o600)
        until = time.monotonic() + self._patience_s
        while True:
            try:
                lock(descriptor)
            except OSError as error:
                if time.monotonic() < until:
                    time.sleep(_PAUSE_S)
                    continue
                os.close(descriptor)
                raise DomainError(
                    "unavailable",
                    "projection_busy",
                    f"Another process keeps {self._path} locked; the files of this agent follow once it lets go.",
                ) from error
            self._descriptor = descriptor
            return

    def release(self) -> None:
        """Harmless when nothing was acquired."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
