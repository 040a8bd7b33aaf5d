"""A secret is found in files that are being written at this moment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from tests.support.exposure import carries, files_holding

MARKER = "sk-marker-7d1c"


def test_files_that_come_and_go_while_they_are_looked_at(tmp_path: Path) -> None:
    over = threading.Event()

    def write_all() -> None:
        for number in range(20):
            fresh = tmp_path / f"{number}.new"
            fresh.write_text(MARKER)
            fresh.replace(tmp_path / str(number))

    def write() -> None:
        while not over.is_set():
            write_all()

    write_all()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        found = [files_holding(tmp_path, MARKER) for _ in range(10)]
    finally:
        over.set()
        writing.join()
    assert {path.name for path in found[-1]} >= {str(number) for number in range(20)}
    assert files_holding(tmp_path, "something else") == []


def test_a_process_that_has_ended_exposes_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()", MARKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"KEY": MARKER},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # until then there may be neither to look at
        assert carries(process.pid, MARKER) == ["argv", "environment"]
        process.communicate(b"\n")
    assert carries(process.pid, MARKER) == []
