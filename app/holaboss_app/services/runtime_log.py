"""The runtime's own words, kept in five files of five megabytes, and the last lines of them for an error
card."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

KEPT_FILES = 5
FILE_LIMIT_BYTES = 5 * 1024 * 1024
TAIL_LINES = 200
LONGEST_LINE = 2_000


class RuntimeLog:
    """`runtime.log` and its predecessors `runtime.log.1` to `.4`, mode 0600."""

    def __init__(self, path: Path, *, limit: int = FILE_LIMIT_BYTES) -> None:
        self.path = path
        self._limit = limit
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._rest = b""
        self._file: int | None = None
        self._size = 0

    def append(self, content: bytes) -> None:
        """Add bytes as they come; a line may arrive in pieces."""
        if self._file is None:
            self._open()
        elif self._size + len(content) > self._limit:
            self._rotate()
        assert self._file is not None
        os.write(self._file, content)
        self._size += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        self._rest = self._rest[-LONGEST_LINE:]
        self._tail.extend(line.decode("utf-8", "replace")[:LONGEST_LINE] for line in lines if line.strip())

    def tail(self, lines: int = 40) -> list[str]:
        """The last lines, oldest first."""
        return list(self._tail)[-lines:]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._file).st_size
        if self._size > self._limit:
            self._rotate()

    def _rotate(self) -> None:
        self.close()
        for number in range(KEPT_FILES - 1, 0, -1):
            older = self.path if number == 1 else self.path.with_name(f"{self.path.name}.{number - 1}")
            if older.exists():
                older.replace(self.path.with_name(f"{self.path.name}.{number}"))
        self._open()
