"""What a run has seen of files, so that it does not overwrite what it does not know.

Kept for one run, in memory, as a short hash of each file; the oldest are forgotten.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path

MAX_FILES = 2_000


class SeenFiles:
    """The content of files as this run last read or wrote them."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, bytes] = OrderedDict()

    def remember(self, path: Path, content: bytes) -> None:
        self._known[path] = _hash(content)
        self._known.move_to_end(path)
        if len(self._known) > MAX_FILES:
            self._known.popitem(last=False)

    def has_changed(self, path: Path, content: bytes | None) -> bool:
        """Whether a file the run knows is different by now (None: gone). Said once, then forgotten."""
        known = self._known.get(path)
        if known is None or (content is not None and known == _hash(content)):
            return False
        del self._known[path]
        return True


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
