"""The figures of `tests.bench.transcript`, each run of it in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from statistics import median

from tests.bench.figures import Figure

COMMAND = (sys.executable, "-m", "tests.bench.transcript")


def transcript(samples: int) -> list[Figure]:
    """Medians over `samples` runs of opening, scrolling and following a conversation of 10,000 messages."""
    runs = [_run() for _ in range(samples)]

    def of(name: str) -> float:
        return median(run[name] for run in runs)

    return [
        Figure("open 10,000 messages at the end", of("open"), "ms", limit=80),
        Figure("memory of the opened conversation", of("mb_after_scrolling"), "MB", limit=25),
        Figure("wheel step, p95", max(of("wheel_up_p95"), of("wheel_down_p95")), "ms", limit=10),
        Figure("flush while 50 KB stream", of("flush_p50"), "ms", limit=4),
        Figure("its last 50 flushes over the median", of("flush_last_50") / of("flush_p50"), "×", limit=1.5),
        Figure("200 deltas/s live, of one core", of("live_cpu_percent"), "%", limit=15),
        Figure("200 deltas/s live, worst stall", of("stall_max"), "ms", limit=25),
    ]


def _run() -> dict[str, float]:
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
