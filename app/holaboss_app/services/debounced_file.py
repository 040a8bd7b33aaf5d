"""A small file that follows a value in memory: written off the GUI thread, a moment after the last change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from holaboss_app.services.private_files import keep_aside, write_private

PAUSE_S = 0.5


class DebouncedFile:
    """Holds no value itself: `encode` returns what the file should contain now."""

    def __init__(self, path: Path, encode: Callable[[], bytes]) -> None:
        self._path = path
        self._encode = encode
        self._timer: asyncio.TimerHandle | None = None
        self._write: asyncio.Task[None] | None = None
        self._dirty = False

    def read(self) -> bytes | None:
        """What is there now, or None when there is nothing."""
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None

    def keep_aside(self) -> Path:
        return keep_aside(self._path)

    def schedule(self) -> None:
        """The value changed; write it soon. Must be called from the loop that runs."""
        self._dirty = True
        if self._timer is None and self._write is None:
            self._timer = asyncio.get_running_loop().call_later(PAUSE_S, self._start)

    async def close(self) -> None:
        """Write what is still unwritten, and wait for it.

        Raises:
            OSError: the file cannot be written.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._write is not None:
            await asyncio.wait([self._write])
            self._write = None
        if self._dirty:
            await self._write_once()

    def _start(self) -> None:
        self._timer = None
        self._write = asyncio.get_running_loop().create_task(self._write_once())
        self._write.add_done_callback(self._written)

    async def _write_once(self) -> None:
        self._dirty = False
        await asyncio.to_thread(write_private, self._path, self._encode())

    def _written(self, task: asyncio.Task[None]) -> None:
        self._write = None
        if not task.cancelled() and (error := task.exception()) is not None:
            # Left dirty: the next change or the end of the program tries again.
            self._dirty = True
            context = {"message": f"{self._path} could not be written", "exception": error}
            task.get_loop().call_exception_handler(context)
        elif self._dirty:
            self.schedule()
