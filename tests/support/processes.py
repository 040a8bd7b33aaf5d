"""What `/proc` says about a tree of processes. Without `/proc` (macOS) every tree looks empty.

It deliberately starts and signals nothing.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One row of the process table; `command` is its argv, or its name when it is a zombie."""

    pid: int
    parent: int
    state: str
    command: str


def process_table() -> dict[int, Process]:
    if not PROC.is_dir():
        return {}
    found = (_read(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit())
    return {process.pid: process for process in found if process is not None}


def descendants(pid: int, *, without: Iterable[int] = ()) -> list[Process]:
    """Children, grandchildren and so on, parents first; no zombies, no subtrees of `without`."""
    skipped = set(without)
    children: dict[int, list[Process]] = {}
    for process in process_table().values():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    parents = [pid]
    while parents:
        for child in children.get(parents.pop(), []):
            if child.pid not in skipped:
                found.append(child)
                parents.append(child.pid)
    return [process for process in found if process.state != "Z"]


def is_running(pid: int) -> bool:
    process = _read(pid)
    return process is not None and process.state not in "ZX"


def wait_until_gone(pids: Iterable[int], timeout_s: float) -> list[int]:
    """Wait until none of these runs, whoever their parent is; returns the ones that still do."""
    deadline = time.monotonic() + timeout_s
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except (ProcessLookupError, AttributeError):
            continue
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        finally:
            os.close(handle)
    return [pid for pid in pids if is_running(pid)]


def pss_mib(pid: int) -> float:
    """Proportional set size: private memory plus a fair share of what is shared."""
    for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no Pss line")


def cpu_seconds(pid: int, *, with_reaped: bool = False) -> float:
    """User plus system time of one process, `with_reaped` including the children it has waited for."""
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11 : 15 if with_reaped else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def _read(pid: int) -> Process | None:
    try:
        name, _, rest = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")
        argv = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    state, parent = rest.split()[:2]
    command = argv.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return Process(pid, int(parent), state, command or name.partition("(")[2])
