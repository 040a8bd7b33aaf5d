"""What a helper process runs: its limits first, then the one thing it is for. Imports nothing it does not need."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

MEMORY_BYTES = 1024 * 1024 * 1024
CPU_S = 60


def main(name: str) -> int:
    """The exit status; 2 for a name nobody knows."""
    _limit()
    match name:
        case "search":
            from holaboss_runtime.harness.host.search.child import main as search

            return search()
        case "web-search":
            from holaboss_runtime.harness.host.web.keyless_child import main as web_search

            return web_search()
        case _:
            sys.stderr.write("there is no such helper\n")
            return 2


def _limit() -> None:
    """Bounds of the system, below those of whoever asked: they hold when that one is gone."""
    if os.name != "posix":
        return
    import resource

    from holaboss_runtime.processes import die_with_parent

    die_with_parent(signal.SIGKILL)
    for what, most in (
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a lower one is there already, or the system knows none
            resource.setrlimit(what, (most, most))
