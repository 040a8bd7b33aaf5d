"""A session core that handed work out is killed before and after every commit, and started again on what it left."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.sessions.places import MEMORY

ROOT = Path(__file__).parents[3]
LEAST = 30


@pytest.mark.timeout(1200)  # a hundred lives: a guard against hangs has to leave room for a slow machine
def test_killed_at_any_commit_every_result_comes_home_once() -> None:
    with tempfile.TemporaryDirectory(prefix="holaboss-kill-", dir=MEMORY) as folder:
        ended = subprocess.run(
            [sys.executable, "-m", "tests.runtime.sessions.subagent_kill_child", folder],
            cwd=ROOT,
            env={"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "HOME": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    said: list[dict[str, Any]] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert (said[0]["problems"], said[0]["log"]) == ([], "")
    killed = [line for line in said if line.get("killed")]
    assert len(killed) >= LEAST
    broken = [f"{line.get('point')}: {line['problems']}\n{line['log']}" for line in said if line["problems"]]
    assert not broken, "\n".join(broken[:5])
