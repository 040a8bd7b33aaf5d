"""What a terminal prints, as pieces of text: decoded, and put together so that a flood is some rows and not thousands.

The first piece after a rest goes out at once; what follows waits for its window. While a window is full nothing is
read, and the program has to wait.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable

WINDOW_S = 0.03
PIECE_CHARS = 4 * 1024
WINDOW_BYTES = 64 * 1024


class Output:
    """`emit` gets the pieces of a window; `full` and `free` say when to stop reading and when to go on."""

    def __init__(
        self, emit: Callable[[list[str]], None], full: Callable[[], None], free: Callable[[], None]
    ) -> None:
        self._emit = emit
        self._full = full
        self._free = free
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: list[str] = []
        self._bytes = 0
        self._window: asyncio.TimerHandle | None = None

    def add(self, chunk: bytes) -> None:
        self._waiting.append(self._decoder.decode(chunk))
        self._bytes += len(chunk)
        if self._window is None:
            self._flush()
            self._window = asyncio.get_running_loop().call_later(WINDOW_S, self._next)
        elif self._bytes >= WINDOW_BYTES:
            self._full()

    def finish(self) -> None:
        """Emit what is left; there is nothing to come."""
        if self._window is not None:
            self._window.cancel()
            self._window = None
        self._waiting.append(self._decoder.decode(b"", final=True))
        self._flush()

    def _next(self) -> None:
        self._window = None
        if self._bytes:
            self._window = asyncio.get_running_loop().call_later(WINDOW_S, self._next)
            self._flush()
            self._free()

    def _flush(self) -> None:
        text, self._waiting, self._bytes = "".join(self._waiting), [], 0
        if text:
            self._emit([text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)])
