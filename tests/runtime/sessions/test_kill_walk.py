"""A session core is killed before and after every commit of a long walk, and started again on what it left."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.sessions.places import MEMORY

ROOT = Path(__file__).parents[3]
PARTS = 4
LEAST = 25


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="holaboss-kill-", dir=MEMORY) as name:
        yield Path(name)


def start(folder: Path, part: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.runtime.sessions.kill_child", str(folder), str(part), str(PARTS)]
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "HOME": str(folder)}
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)


def walk(folder: Path, part: int) -> list[dict[str, Any]]:
    """What the part reported."""
    with start(folder, part) as process:
        output, _ = process.communicate()
        assert process.returncode == 0
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.timeout(1200)  # hundreds of lives: a guard against hangs has to leave room for a slow machine
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_commit_nothing_is_lost_doubled_or_stuck(folder: Path, part: int) -> None:
    """Each part takes every fourth commit of the same walk; together they take all."""
    said = walk(folder, part)
    (whole,) = [line for line in said if "counted" in line]
    points = [line for line in said if "point" in line]
    assert whole["log"] == ""
    killed = [line["point"] for line in points if line["killed"]]
    assert len(killed) >= LEAST
    # How many commits it takes to bring the files up to date depends on who is faster, so the last points vary.
    assert len(killed) >= 0.9 * (int(whole["counted"]) // PARTS)
    broken = [f"{line['point']}: {line['problems']}\n{line['log']}" for line in points if line["problems"]]
    assert not broken, "\n".join(broken[:5])
