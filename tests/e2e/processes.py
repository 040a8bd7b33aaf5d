"""What /proc says: which processes belong to a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import PATIENCE_S

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """`started` tells a process from a later one with the same pid."""

    pid: int
    started: str
    argv: str

    @property
    def alive(self) -> bool:
        now = _process(self.pid)  # which may have become another program since
        return now is not None and now.started == self.started


def _process(pid: int) -> Process | None:
    try:
        stat = (PROC / str(pid) / "stat").read_text()
        argv = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else Process(pid, fields[19], argv)


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return parents


def children(pid: int) -> list[Process]:
    """Every living child of `pid`."""
    found = [_process(child) for child, parent in _parents().items() if parent == pid]
    return [process for process in found if process is not None]


def descendants(pid: int) -> list[Process]:
    """Every living descendant of `pid`, itself excluded."""
    parents = _parents()
    family = {pid}
    grew = True
    while grew:
        more = {child for child, parent in parents.items() if parent in family} - family
        family |= more
        grew = bool(more)
    return [process for child in family - {pid} if (process := _process(child)) is not None]


def of_home(home: Path) -> list[Process]:
    """Every living process whose environment names `home`, whoever its parent is by now."""
    needle = str(home).encode()
    found: list[Process] = []
    for folder in PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if needle in environment and (process := _process(int(folder.name))) is not None:
            found.append(process)
    return found


def eventually(condition: Callable[[], object], *, what: str) -> None:
    """Wait for a condition of the outside world that nothing announces."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(0.05)
