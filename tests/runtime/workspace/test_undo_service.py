"""When a client may not take something back, and what it is told."""

# ruff: noqa: ASYNC240 — a test may block its own loop

from __future__ import annotations

from pathlib import Path

import pytest

from holaboss_client.undo import UndoRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.undo.model import Turn
from holaboss_runtime.workspace.undo.recording import Recorder
from holaboss_runtime.workspace.undo.service import WorkspaceUndo
from tests.runtime.workspace.conftest import Space

pytestmark = pytest.mark.anyio


async def changed(space: Space) -> tuple[str, Path]:
    """A workspace in which the turn `t1` made a file."""
    workspace = await space.registry.create(CreateWorkspace(name="Undo"))
    root = Path(workspace.workspace_path).resolve()
    recorder = Recorder(root)
    recorder.before_any(turn := Turn("t1", "s1"))
    (root / "made.txt").write_text("x")
    recorder.after_any(turn)
    return workspace.id, root


async def refusal(undo: WorkspaceUndo, workspace_id: str) -> str:
    with pytest.raises(DomainError) as refused:
        await undo.move(workspace_id, "t1", "undo", UndoRequest(force=True))
    assert refused.value.kind == "conflict"
    return refused.value.code


async def test_nothing_is_moved_while_something_runs(space: Space) -> None:
    workspace_id, root = await changed(space)
    undo = WorkspaceUndo(space.registry, space.changes)
    space.registry.in_use = lambda _: True
    assert await refusal(undo, workspace_id) == "workspace_busy"
    assert (root / "made.txt").exists()
    space.registry.in_use = lambda _: False
    reply = await undo.move(workspace_id, "t1", "undo", UndoRequest())
    assert reply.paths == ["made.txt"]
    assert space.told()[-1].payload == {"paths": ["made.txt"]}


async def test_whoever_records_is_waited_for_but_not_for_ever(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_id, root = await changed(space)
    undo = WorkspaceUndo(space.registry, space.changes)
    monkeypatch.setattr("holaboss_runtime.workspace.undo.store.PATIENCE_S", 0.0)
    with Recorder(root)._store.held():
        assert await refusal(undo, workspace_id) == "workspace_busy"
    assert (await undo.move(workspace_id, "t1", "undo", UndoRequest())).turn.state == "undone"


async def test_a_forged_record_is_a_named_failure(space: Space) -> None:
    workspace_id, root = await changed(space)
    record = next((root / ".holaboss" / "undo" / "turns").iterdir())
    record.write_text(record.read_text().replace("made.txt", "../../x.txt"))
    assert await refusal(WorkspaceUndo(space.registry, space.changes), workspace_id) == "undo_failed"


async def test_paths_nobody_changed_move_nothing(space: Space) -> None:
    workspace_id, root = await changed(space)
    undo = WorkspaceUndo(space.registry, space.changes)
    reply = await undo.move(workspace_id, "t1", "undo", UndoRequest(paths=["AGENTS.md", "../x"]))
    assert (reply.paths, reply.turn.state) == ([], "applied")
    assert (root / "made.txt").exists()
