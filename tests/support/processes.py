"""What `/proc` says about a tree of processes. Without `/proc` (macOS) every tree looks empty.

It deliberately starts and signals nothing.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PATIENCE_S = 60.0
"""How long to wait for what should have happened long ago. It guards against a hang and measures nothing."""

OF_ANY_KIND = 0x40000000 if sys.platform == "linux" else 0  # __WALL: also children that send no SIGCHLD


@dataclass(frozen=True, slots=True)
class Process:
    """One row of the process table; `command` is its argv, or its name when it is a zombie."""

    pid: int
    parent: int
    state: str
    command: str


def process_table() -> dict[int, Process]:
    found = (_read(pid) for pid in _pids())
    return {process.pid: process for process in found if process is not None}


def has_children() -> bool:
    """Whether this very process has any child, running or not yet waited for. Asks the kernel, reads nothing."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | OF_ANY_KIND)
    except ChildProcessError:
        return False
    return True


def descendants(pid: int, *, without: Iterable[int] = ()) -> list[Process]:
    """Children, grandchildren and so on, parents first; no zombies, no subtrees of `without`."""
    skipped = set(without)
    children: dict[int, list[int]] = {}
    for candidate in _pids():
        if (fields := _stat(candidate)) is not None:
            children.setdefault(int(fields[1]), []).append(candidate)
    found: list[int] = []
    parents = [pid]
    while parents:
        below = [child for child in children.get(parents.pop(), []) if child not in skipped]
        found += below
        parents += below
    # Only what belongs to the tree is read closely: a machine has hundreds of processes, a tree a few.
    processes = (_read(child) for child in found)
    return [process for process in processes if process is not None and process.state != "Z"]


def is_running(pid: int) -> bool:
    process = _read(pid)
    return process is not None and process.state not in "ZX"


def wait_for_commands(
    pid: int, words: str, count: int = 1, timeout_s: float = PATIENCE_S, *, exactly: bool = False
) -> list[int]:
    """The processes below `pid` with `words` in their command (or as their whole command), once there are `count`;
    `/proc` can only be polled."""

    def named() -> list[int]:
        commands = ((child.pid, child.command) for child in descendants(pid))
        return [child for child, command in commands if (words == command if exactly else words in command)]

    deadline = time.monotonic() + timeout_s
    while len(found := named()) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(found)} of {count} processes with {words!r} appeared")
        time.sleep(0.01)
    return found


def wait_until_gone(pids: Iterable[int], timeout_s: float = PATIENCE_S) -> list[int]:
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


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()] if PROC.is_dir() else []


def _stat(pid: int) -> list[str] | None:
    """What follows the name of a process in its line: state, parent and so on; None when it is gone."""
    try:
        handle = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY)
        try:
            line = os.read(handle, 1024)
        finally:
            os.close(handle)
    except OSError:
        return None
    return line.rpartition(b")")[2].decode("ascii").split()


def _read(pid: int) -> Process | None:
    try:
        name, _, rest = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")
        argv = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    state, parent = rest.split()[:2]
    command = argv.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return Process(pid, int(parent), state, command or name.partition("(")[2])
