"""A real host keeps what its runs change, through every kind of tool, and whatever becomes of the run."""

# ruff: noqa: ASYNC110, ASYNC240 — a test may block its own loop, and /proc and folders can only be polled

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.workspace.undo.moving import move
from holaboss_runtime.workspace.undo.store import BusyError, UndoStore
from tests.runtime.harness.asking import bash, calls, ending
from tests.runtime.harness.conftest import BuildPackage, Cancel, Listener
from tests.support.processes import PATIENCE_S
from tests.support.scripted_provider import ScriptedProvider, ToolCall, say

pytestmark = pytest.mark.anyio


def changes(workspace: Path, input_id: str = "input") -> dict[str, str]:
    turn = UndoStore(workspace.resolve()).load(input_id)
    return {} if turn is None else {path: change.kind for path, change in turn.changes.items()}


def undo(workspace: Path, input_id: str = "input") -> list[str]:
    store = UndoStore(workspace.resolve())
    while True:  # the host may still be closing its record
        try:
            with store.held():
                moved = move(store, input_id, "undo", None, force=False)
        except BusyError:
            continue
        assert moved is not None
        assert moved.conflicts == []
        return moved.paths


async def test_what_tools_do_to_files_can_be_taken_back(
    listener: Listener, package: BuildPackage, provider: ScriptedProvider, workspace: Path
) -> None:
    (workspace / "old.txt").write_text("old\n")
    (workspace / "gone.txt").write_text("gone\n")
    provider.enqueue(
        calls(
            ToolCall("write", {"path": "/workspace/made/by/write.txt", "content": "new\n"}),
            ToolCall("edit", {"path": "old.txt", "old_text": "old", "new_text": "newer"}),
            bash("rm gone.txt; echo x > by-bash.txt; exit 3"),
            ToolCall("read", {"path": "old.txt"}),
        ),
        say("done"),
    )
    status, _ = ending(await listener.run(package(input_id="i1")))
    assert status == "success"
    assert changes(workspace, "i1") == {
        "made": "created",
        "made/by": "created",
        "made/by/write.txt": "created",
        "old.txt": "changed",
        "gone.txt": "deleted",
        "by-bash.txt": "created",
    }
    undo(workspace, "i1")
    assert (workspace / "old.txt").read_text() == "old\n"
    assert sorted(path.name for path in workspace.iterdir()) == [".holaboss", "gone.txt", "old.txt"]


async def test_nothing_is_recorded_of_a_run_that_only_looks(
    listener: Listener, package: BuildPackage, provider: ScriptedProvider, workspace: Path
) -> None:
    provider.enqueue(calls(ToolCall("ls", {}), ToolCall("grep", {"pattern": "x"})), say("done"))
    ending(await listener.run(package()))
    assert not (workspace / ".holaboss" / "undo").exists()


async def test_what_is_mounted_elsewhere_is_not_ours(
    listener: Listener, package: BuildPackage, provider: ScriptedProvider, workspace: Path, tmp_path: Path
) -> None:
    shelf = tmp_path.resolve() / "shelf"
    shelf.mkdir()
    mount = Mount(mount_path="/shelf", source=str(shelf), access="read_write")
    provider.enqueue(calls(ToolCall("write", {"path": "/shelf/a.txt", "content": "x"})), say("done"))
    ending(await listener.run(package(mounts=[mount])))
    assert (shelf / "a.txt").read_text() == "x"
    assert changes(workspace) == {}


async def test_what_a_cancelled_command_did_is_kept(
    listener: Listener, package: BuildPackage, provider: ScriptedProvider, workspace: Path
) -> None:
    cancel = Cancel()
    provider.enqueue(calls(bash("echo x > half.txt; sleep 1000")))
    events = []
    async for event in listener.harness.run(package(), cancel):
        events.append(event)
        if event.payload.get("phase") == "started":
            while not (workspace / "half.txt").exists():
                await asyncio.sleep(0)
            cancel.pull()
    assert ending(events)[0] == "paused"
    async with asyncio.timeout(PATIENCE_S):  # a stop waits a moment only for what is still being recorded
        while changes(workspace) != {"half.txt": "created"}:
            await asyncio.sleep(0.01)
    assert undo(workspace) == ["half.txt"]


async def test_runs_of_one_workspace_are_kept_apart(
    listener: Listener, package: BuildPackage, provider: ScriptedProvider, workspace: Path
) -> None:
    for name in ("one", "two"):
        provider.enqueue(calls(bash(f"echo {name} >> shared.txt")), say("done"))
        ending(await listener.run(package(input_id=name)))
    assert changes(workspace, "one") == {"shared.txt": "created"}
    assert changes(workspace, "two") == {"shared.txt": "changed"}
    undo(workspace, "two")
    assert (workspace / "shared.txt").read_text() == "one\n"
    undo(workspace, "one")
    assert not (workspace / "shared.txt").exists()
