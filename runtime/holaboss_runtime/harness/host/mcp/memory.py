"""How much memory a server takes, with everything it has started."""

from __future__ import annotations

import sys


def memory_of(pid: int) -> int | None:
    """Bytes of a process and its descendants; None when it is gone. Blocking.

    On Linux their fair share of what they share with others, elsewhere what is resident.
    """
    import psutil

    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.Error:
        return None
    return sum(_bytes(process) for process in tree)


def _bytes(process: object) -> int:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        return process.memory_full_info().pss if sys.platform == "linux" else process.memory_info().rss
    except psutil.Error:
        return 0
