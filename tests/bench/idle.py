"""What costs when nobody does anything: memory and processor time of every process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.bench.figures import Figure, middle
from tests.bench.rig import warm_rig
from tests.bench.startup import display
from tests.support.processes import Process, cpu_seconds, descendants, pss_mib

SETTLE_S = 5.0
BUDGETS = {"desktop": 110.0, "runtime": 65.0, "warm host": 130.0}


async def server(samples: int) -> list[Figure]:
    """A runtime and its host, after one run."""
    async with warm_rig() as rig:
        members = {"runtime": rig.runtime.pid}
        host = next(child for child in rig.runtime.descendants() if "harness-host" in child.command)
        members["warm host"] = host.pid
        await asyncio.sleep(SETTLE_S)
        return await asyncio.to_thread(_at_rest, members, samples)


def desktop(samples: int) -> list[Figure]:
    """The window with the demo workspace open; its runtime is measured by `server`. The middle of several starts."""
    starts = [_one_desktop(samples) for _ in range(max(1, samples // 2))]
    return [
        replace(same[0], ours=middle([figure.ours for figure in same])) for same in zip(*starts, strict=True)
    ]


def _one_desktop(samples: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder, display() as environment:
        command = [
            sys.executable,
            "-m",
            "holaboss_app",
            "--demo",
            "--profile-dir",
            str(Path(folder) / "profile"),
        ]
        with subprocess.Popen(command, env=environment) as process:
            try:
                _wait_for(process.pid, "harness-host")
                time.sleep(2 * SETTLE_S)
                return _at_rest({"desktop": process.pid}, samples)
            finally:
                process.terminate()


def _wait_for(pid: int, command: str, patience_s: float = 60.0) -> Process:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        for process in descendants(pid):
            if command in process.command:
                return process
        time.sleep(0.2)
    raise TimeoutError(f"no {command} below process {pid} after {patience_s} s")


def _at_rest(members: dict[str, int], samples: int) -> list[Figure]:
    seconds = max(2, samples)
    before = {name: cpu_seconds(pid) for name, pid in members.items()}
    time.sleep(seconds)
    used = {name: cpu_seconds(pid) - before[name] for name, pid in members.items()}
    memory = [
        Figure(f"{name}: idle memory (PSS)", pss_mib(pid), "MiB", limit=BUDGETS[name])
        for name, pid in members.items()
    ]
    # One clock tick is the least that can be seen; a budget of nothing means less than that.
    tick = 100 / os.sysconf("SC_CLK_TCK") / seconds
    busy = [
        Figure(f"{name}: idle CPU over {seconds} s", used[name] / seconds * 100, "%", limit=tick / 2)
        for name in members
    ]
    return memory + busy
