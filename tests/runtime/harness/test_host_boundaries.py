"""What is wrong with one run, or with what lies in one workspace, stays there: the host and its other runs go on."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.harness.host.spill import FOLDER, QUOTA_BYTES, make_room
from holaboss_runtime.workspace.undo.store import UndoStore, _short
from tests.runtime.harness.conftest import BuildPackage, Cancel, Listener, host_pid, open_harness
from tests.support.processes import PATIENCE_S
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio


def _wait_for(path: Path) -> None:
    """A file can only be polled."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.005)


async def test_a_workspace_folder_that_leads_to_itself_fails_only_its_run(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    pid = host_pid(listener.harness)
    provider.respond_with(lambda _: say("fine"))

    broken, well = await asyncio.gather(
        listener.run(package(workspace_dir=str(tmp_path / "loop"))), listener.run(package())
    )

    assert broken[-1].event_type == RunEvent.RUN_FAILED
    assert broken[-1].payload["type"] != "harness_lost"
    assert well[-1].event_type == RunEvent.RUN_COMPLETED
    assert host_pid(listener.harness) == pid


@pytest.mark.parametrize("path", ["../out", "\ud800", "a/../../b"])
async def test_a_foreign_record_of_undo_keeps_no_tool_from_working(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path, path: str
) -> None:
    turns = workspace / ".holaboss" / "undo" / "turns"
    turns.mkdir(parents=True)
    state = {"kind": "file", "digest": "0" * 64}
    record = {
        "version": 1,
        "input_id": "foreign",
        "session_id": "session",
        "created_at": "2026-01-01T00:00:00.000Z",
        "open": True,
        "pending": {path: state},
        "changes": [{"path": path, "before": state, "after": state}],
    }
    (turns / f"now-{_short('foreign')}.json").write_text(json.dumps(record))
    provider.enqueue(
        call("bash", command="echo it works > a.txt"), call("write", path="b.txt", content="b"), say("done")
    )

    events = await listener.run(package())

    assert events[-1].event_type == RunEvent.RUN_COMPLETED
    assert (workspace / "a.txt").read_text() == "it works\n"
    assert (workspace / "b.txt").read_text() == "b"


@pytest.mark.usefixtures("no_bubblewrap")
async def test_a_stop_that_comes_when_all_is_said_loses_nothing(
    provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    """The model is done, and what it left running is being ended at this moment."""
    stubborn = "trap ': > asked' TERM; : > ready; while :; do sleep 0.02; done"
    waiting = "while ! [ -e ready ]; do sleep 0.02; done"
    provider.enqueue(
        call("bash", command=stubborn, background=True), call("bash", command=waiting), say("All done.")
    )
    cancel = Cancel()
    async with open_harness() as harness, asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(Listener(harness).run(package(), cancel))
        await asyncio.to_thread(_wait_for, workspace / "asked")
        cancel.pull()
        last = (await running)[-1]

    assert last.payload["status"] == "success"
    assert last.result is not None
    assert last.result.assistant_text == "All done."
    assert last.result.history is not None


def test_room_for_results_is_never_made_behind_a_link(tmp_path: Path) -> None:
    """A workspace folder may come from anywhere, with links where results are kept."""
    letters = tmp_path / "home" / "letters"
    letters.mkdir(parents=True)
    (letters / "a.txt").write_text("mine")
    top = tmp_path / "workspace" / FOLDER
    (top / "bash").mkdir(parents=True)
    (top / "read").symlink_to(tmp_path / "home")
    (top / "bash" / "session").symlink_to(letters)
    (top / "grep" / "session").mkdir(parents=True)
    large = top / "grep" / "session" / "z.txt"
    with large.open("wb") as file:
        file.truncate(QUOTA_BYTES + 1)

    make_room(top, QUOTA_BYTES)

    assert not large.exists()
    assert (letters / "a.txt").read_text() == "mine"


async def test_a_record_that_takes_long_holds_up_no_stop(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    """Somebody else works with the record of undo, and goes on doing so."""
    pid, cancel = host_pid(listener.harness), Cancel()
    provider.enqueue(call("bash", command="echo never > a.txt"))
    with UndoStore(workspace).held():
        events: list[RunnerEvent] = []
        async for event in listener.harness.run(package(), cancel):
            events.append(event)
            if event.event_type == RunEvent.TOOL_CALL:
                cancel.pull()

    assert events[-1].payload["status"] == "paused"
    assert events[-1].result is not None
    assert events[-1].result.history is not None
    assert host_pid(listener.harness) == pid
    assert not (workspace / "a.txt").exists()
