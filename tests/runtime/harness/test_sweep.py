"""Ending what a command left: found by its mark, whatever it is doing at that moment, and gone afterwards."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holaboss_runtime.processes import OWNER_VARIABLE, become_subreaper, owner_of, sweep
from tests.runtime.harness.conftest import sleepers
from tests.support.processes import descendants, is_running

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")]
MARK = f"{owner_of(os.getpid())}1."
MARKED = {OWNER_VARIABLE: MARK, "PATH": os.environ["PATH"]}


async def test_a_sweep_takes_what_bears_the_mark_and_nothing_else() -> None:
    become_subreaper()
    fled = await asyncio.create_subprocess_exec("sh", "-c", "setsid sleep 1000 &", env=MARKED)
    await fled.wait()
    other = await asyncio.create_subprocess_exec(
        "sleep", "1000", env={**MARKED, OWNER_VARIABLE: f"{MARK[:-1]}1."}
    )
    await sleepers(os.getpid(), 2)
    await asyncio.to_thread(sweep, MARK)
    assert [process.pid for process in descendants(os.getpid())] == [other.pid]
    assert is_running(other.pid)
    other.kill()
    await other.wait()


def test_what_is_just_becoming_another_program_is_not_overlooked(tmp_path: Path) -> None:
    """For a moment such a process has no environment to look into: about one in twenty of these was left."""
    again = tmp_path / "again"
    again.write_text('#!/bin/sh\nexec "$0"\n')
    again.chmod(0o700)
    for _ in range(200):
        with subprocess.Popen([again], env=MARKED, start_new_session=True) as process:
            sweep(MARK)
            left = is_running(process.pid)
            process.kill()
        assert not left


def test_what_was_dying_already_is_waited_for() -> None:
    filling = "import sys; held = b'x' * 2**28; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", filling], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=MARKED
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()  # giving so much memory back takes it a while
        sweep("a mark that nobody bears")
        assert not is_running(process.pid)


def test_what_was_killed_and_had_no_turn_since_is_waited_for() -> None:
    """On a busy machine: it has not even begun to exit then."""
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            os.sched_setaffinity(busy.pid, {core})
            left = [_is_left_by_a_sweep_that_finds_it_waiting_for(core) for _ in range(5)]
        finally:
            busy.kill()
    assert not any(left)


def _is_left_by_a_sweep_that_finds_it_waiting_for(core: int) -> bool:
    with subprocess.Popen(["sleep", "1000"]) as process:
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        os.sched_setaffinity(process.pid, {core})
        process.kill()
        sweep("a mark that nobody bears")
        return is_running(process.pid)
