"""When the milestones of a start were reached, in milliseconds since the process was created."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

_IMPORTED = time.monotonic()


class StartTimes:
    """Marks by name; a milestone is reached once."""

    def __init__(self) -> None:
        self._began = _process_start()
        self._marks: dict[str, int] = {}

    def mark(self, name: str) -> None:
        self._marks.setdefault(f"{name}_ms", round((_now() - self._began) * 1000))

    def as_json(self) -> str:
        return json.dumps(self._marks)


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def _process_start() -> float:
    """On the clock of `_now`; to 10 ms on Linux, elsewhere the import of this module."""
    if sys.platform != "linux":
        return _IMPORTED
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")
