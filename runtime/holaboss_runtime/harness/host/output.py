"""What commands print, bounded: the two ends of it for a model, the whole of it up to a limit, or what is new."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from holaboss_runtime.harness.host.text import plain_text

MAX_OUTPUT_BYTES = 30 * 1024
MAX_WHOLE_BYTES = 8 * 1024 * 1024
MAX_UNREAD_BYTES = 256 * 1024


@dataclass
class Ends:
    """The first and the last half of `MAX_OUTPUT_BYTES`, and the beginning up to `MAX_WHOLE_BYTES`."""

    begun: bytearray = field(default_factory=bytearray)
    tail: deque[bytes] = field(default_factory=deque[bytes])
    tail_bytes: int = 0
    total: int = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        self.begun += chunk[: MAX_WHOLE_BYTES - len(self.begun)]
        self.tail.append(chunk)
        self.tail_bytes += len(chunk)
        while self.tail_bytes - len(self.tail[0]) >= MAX_OUTPUT_BYTES // 2:
            self.tail_bytes -= len(self.tail.popleft())

    @property
    def is_cut(self) -> bool:
        """Whether `text` leaves something out."""
        return self.total > MAX_OUTPUT_BYTES

    def text(self) -> str:
        if not self.is_cut:
            return plain_text(bytes(self.begun))
        half = MAX_OUTPUT_BYTES // 2
        note = f"\n[… {self.total - 2 * half:,} bytes of output left out …]\n"
        return plain_text(bytes(self.begun[:half])) + note + plain_text(b"".join(self.tail)[-half:])

    def whole(self) -> str:
        """Everything, as far as it was kept."""
        left_out = self.total - len(self.begun)
        note = f"\n[… {left_out:,} more bytes were not kept …]\n" if left_out else ""
        return plain_text(bytes(self.begun)) + note


@dataclass
class Unread:
    """What was printed since somebody last looked, the newest `MAX_UNREAD_BYTES` of it."""

    pieces: deque[bytes] = field(default_factory=deque[bytes])
    size: int = 0
    lost: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, chunk: bytes) -> None:
        self.pieces.append(chunk)
        self.size += len(chunk)
        while self.size > MAX_UNREAD_BYTES:
            oldest = self.pieces.popleft()
            self.size -= len(oldest)
            self.lost += len(oldest)
        self.news.set()

    def take(self) -> str:
        """The oldest `MAX_OUTPUT_BYTES` of it, with a note in front of it about what was lost before."""
        content = b"".join(self.pieces)
        taken, left = content[:MAX_OUTPUT_BYTES], content[MAX_OUTPUT_BYTES:]
        note = f"[… {self.lost:,} bytes of output were not kept …]\n" if self.lost else ""
        more = f"\n[{len(left):,} more bytes; ask again]" if left else ""
        self.pieces = deque([left] if left else [])
        self.size, self.lost = len(left), 0
        if not left:
            self.news.clear()
        return note + plain_text(taken) + more
