"""What a server says beside the protocol: kept in a small ring in memory and in a file that cannot grow.

Lines are cleaned of terminal control and of the secrets the server was given before they are kept anywhere.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holaboss_runtime.harness.host.text import plain_text
from holaboss_runtime.redaction import redact

RING_BYTES = 64 * 1024
FILE_BYTES = 256 * 1024
LONGEST_LINE = 4 * 1024


class Logbook:
    """One per stream of a server. `place` says which file it is; it is asked off the loop, and None is no file."""

    def __init__(self, place: Callable[[], Path | None], secrets: list[str]) -> None:
        self._place = place
        self._secrets = secrets
        self._lines: deque[str] = deque()
        self._kept = 0
        self._open = b""
        self._unwritten: list[str] = []
        self._writing = asyncio.Lock()

    def add(self, chunk: bytes) -> None:
        """Any piece of the stream; what is no whole line yet waits for its end."""
        *lines, self._open = (self._open + chunk).split(b"\n")
        for line in lines:
            self._keep(line)
        if len(self._open) > LONGEST_LINE:
            self._keep(self._open)
            self._open = b""

    def end(self) -> None:
        if self._open:
            self._keep(self._open)
            self._open = b""

    def tail(self, limit: int = RING_BYTES) -> str:
        """The newest text, at most about `limit` characters."""
        return "\n".join(self._lines)[-limit:]

    async def flush(self) -> None:
        """Bring the file up to date; a disk that refuses loses only the file."""
        async with self._writing:
            unwritten, self._unwritten = self._unwritten, []
            if unwritten:
                await asyncio.to_thread(self._write, "".join(f"{line}\n" for line in unwritten))

    def _write(self, text: str) -> None:
        with suppress(OSError):
            if (path := self._place()) is not None:
                _append(path, text)

    def _keep(self, line: bytes) -> None:
        shown = redact(plain_text(line), self._secrets)
        if len(shown) > LONGEST_LINE:
            shown = f"{shown[:LONGEST_LINE]} […]"
        self._lines.append(shown)
        self._kept += len(shown) + 1
        while self._kept > RING_BYTES:
            self._kept -= len(self._lines.popleft()) + 1
        self._unwritten.append(shown)
        if len(self._unwritten) > len(self._lines):  # nobody writes as fast as this one talks
            del self._unwritten[: -len(self._lines) or None]


def _append(path: Path, text: str) -> None:
    """A file that would grow beyond its bound starts anew with its last half. Links are not followed."""
    data = text.encode("utf-8", "replace")[-FILE_BYTES // 2 :]
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size + len(data) > FILE_BYTES:
            file.seek(max(0, size - FILE_BYTES // 2))
            data = (file.read(FILE_BYTES // 2) or b"")[-(FILE_BYTES - len(data)) :] + data
            file.truncate(0)
        file.write(data)
