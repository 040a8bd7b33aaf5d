"""Where a secret can be read, asked while programs still write files and processes come and go."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import PROC


def files_holding(root: Path, marker: str) -> list[Path]:
    """The files below `root` that contain `marker`. One that disappears meanwhile may go on under another name, so that
    everything is looked at again."""
    while True:
        try:
            return [
                path for path in root.rglob("*") if path.is_file() and marker.encode() in path.read_bytes()
            ]
        except FileNotFoundError:
            continue


def carries(pid: int, marker: str) -> list[str]:
    """Where a process exposes `marker`: among `argv`, `environment`; nowhere when it has ended."""
    places = {"argv": "cmdline", "environment": "environ"}
    exposed: list[str] = []
    for place, name in places.items():
        try:
            if marker.encode() in (PROC / str(pid) / name).read_bytes():
                exposed.append(place)
        except OSError:
            continue
    return exposed
