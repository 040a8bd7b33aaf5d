"""Nothing that a server starts stays behind as a dead entry in the process table, however long the server lives."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime import processes
from tests.support.processes import PATIENCE_S
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")

COMMANDS = 4


def _state(pid: int) -> str:
    """`Z` for a dead process that nobody has collected, empty for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _dead(pid: int) -> list[int]:
    """The dead below a process. Threads and processes come and go while they are looked at."""
    children = list[int]()
    with suppress(OSError):
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                children += map(int, listed.read_text("utf-8").split())
    return [child for child in children if _state(child) == "Z"] + [
        dead for child in children for dead in _dead(child)
    ]


async def _run(client: RuntimeClient, workspace_id: str, text: str) -> None:
    queued = await client.queue(QueueRequest(workspace_id=workspace_id, text=text))
    stream = client.output_stream(
        workspace_id, queued.session_id, input_id=queued.input_id, after_event_id=0, stop_on_terminal=True
    )
    kinds = [event.event_type async for event in stream if event is not None]
    assert "tool_call" in kinds
    assert kinds[-1] == "run_completed"


@pytest.mark.anyio
async def test_commands_leave_no_dead_behind(tmp_path: Path) -> None:
    async with RuntimeProcess(tmp_path / "root") as runtime, runtime.client() as client:
        await client.put_provider("demo", PutProvider())
        workspace = await client.create_workspace(CreateWorkspace(name="w"))
        for _ in range(COMMANDS):
            await _run(client, workspace.id, "list files")
        async with asyncio.timeout(PATIENCE_S):
            # Some may be dying at this very moment; the next command collects them.
            while len(_dead(runtime.pid)) > 1:
                await _run(client, workspace.id, "list files")


ADOPTING = """
import os, subprocess, sys
from holaboss_runtime.processes import become_subreaper, sweep

become_subreaper()
isolated = [sys.argv[1], "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--new-session", "true"]
subprocess.run(isolated, check=True)
try:
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)  # until what was left to us is dead, too late for its mark
except ChildProcessError:
    raise SystemExit("nothing was adopted")
sweep("a mark that nobody bears")
try:
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
except ChildProcessError:
    print("collected")
"""


def test_what_was_adopted_and_died_by_itself_is_collected_at_once() -> None:
    program = shutil.which("bwrap")
    if program is None:
        pytest.skip("there is no bubblewrap")
    ended = subprocess.run(
        [sys.executable, "-c", ADOPTING, program], capture_output=True, text=True, timeout=PATIENCE_S
    )
    if "nothing was adopted" in ended.stderr or "Operation not permitted" in ended.stderr:
        pytest.skip("bubblewrap leaves nobody here")
    assert (ended.stdout, ended.stderr) == ("collected\n", "")


def test_a_dead_child_is_left_to_whoever_started_it_until_nobody_can_be_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    processes.collect_adopted()
    processes.collect_adopted()
    assert _state(child.pid) == "Z"
    monkeypatch.setattr(processes, "UNCLAIMED_S", -1.0)
    processes.collect_adopted()
    assert _state(child.pid) == ""
    child.wait()
