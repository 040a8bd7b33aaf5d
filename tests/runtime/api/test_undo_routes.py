"""Undo and staged attachments over HTTP, in front of a real server."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.attachments import PIECE_BYTES
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import QueueRequest
from holaboss_client.undo import UndoRequest
from holaboss_client.workspaces import CreateWorkspace, Workspace
from holaboss_runtime.workspace.undo.model import Turn
from holaboss_runtime.workspace.undo.recording import Recorder
from tests.runtime.api.conftest import Reply
from tests.support.server import RuntimeProcess
from tests.support.undo_bench import look_patiently

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def patient_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    look_patiently(monkeypatch)


@pytest.fixture
async def wire(runtime: RuntimeProcess) -> AsyncIterator[RuntimeClient]:
    async with RuntimeClient(runtime.url, runtime.token) as client:
        yield client


@pytest.fixture
async def workspace(wire: RuntimeClient) -> Workspace:
    return await wire.create_workspace(CreateWorkspace(name="Undo"))


def turn(workspace: Workspace, input_id: str, work: Callable[[Path], Any], session_id: str = "s1") -> None:
    root = Path(workspace.workspace_path).resolve()
    recorder = Recorder(root)
    recorder.before_any(record := Turn(input_id, session_id))
    work(root)
    recorder.after_any(record)
    recorder.close()


async def refused(call: Any) -> tuple[int, str, dict[str, Any]]:
    with pytest.raises(ProblemError) as caught:
        await call
    problem = caught.value.problem
    return problem.status, problem.code, problem.model_extra or {}


async def test_turns_are_listed_shown_taken_back_and_brought_again(
    wire: RuntimeClient, workspace: Workspace
) -> None:
    root = Path(workspace.workspace_path)
    policy = (root / "AGENTS.md").read_text()
    turn(workspace, "i1", lambda folder: (folder / "AGENTS.md").write_text("new\n"))
    turn(workspace, "i2", lambda folder: (folder / "pic.bin").write_bytes(b"\0"), "s2")

    listed = await wire.turn_changes(workspace.id)
    assert [item.input_id for item in listed.items] == ["i2", "i1"]
    first = listed.items[1]
    assert (first.state, first.file_count, first.files[0].change) == ("applied", 1, "changed")
    assert (first.added, first.removed) == (1, len(policy.splitlines()))
    assert [item.input_id for item in (await wire.turn_changes(workspace.id, session_id="s2")).items] == [
        "i2"
    ]
    assert len((await wire.turn_changes(workspace.id, limit=1)).items) == 1

    shown = await wire.turn_diff(workspace.id, "i1")
    assert "+new" in (shown.files[0].diff or "")
    assert (await wire.turn_diff(workspace.id, "i2")).files[0].diff is None

    reply = await wire.undo(workspace.id, "i1")
    assert (reply.paths, reply.turn.state) == (["AGENTS.md"], "undone")
    assert (root / "AGENTS.md").read_text() == policy
    assert (await wire.redo(workspace.id, "i1")).turn.state == "applied"
    assert (root / "AGENTS.md").read_text() == "new\n"


async def test_a_changed_file_is_a_conflict_that_names_it(wire: RuntimeClient, workspace: Workspace) -> None:
    root = Path(workspace.workspace_path)
    turn(workspace, "i1", lambda folder: (folder / "a.txt").write_text("agent"))
    (root / "a.txt").write_text("person")
    status, code, extra = await refused(wire.undo(workspace.id, "i1"))
    assert (status, code, extra["conflicts"]) == (
        409,
        "undo_conflict",
        [{"path": "a.txt", "reason": "changed"}],
    )
    assert (root / "a.txt").read_text() == "person"
    await wire.undo(workspace.id, "i1", UndoRequest(force=True))
    assert not (root / "a.txt").exists()
    await wire.redo(workspace.id, "i1")
    assert (root / "a.txt").read_text() == "person"


async def test_the_change_feed_tells_of_it(wire: RuntimeClient, workspace: Workspace) -> None:
    turn(workspace, "i1", lambda folder: (folder / "a.txt").write_text("agent"))
    async for change in wire.changes():
        if change is None:
            await wire.undo(workspace.id, "i1")
        elif change.kind == Change.FILES and change.workspace_id == workspace.id:
            assert change.payload == {"paths": ["a.txt"]}
            return


async def test_what_is_not_there(wire: RuntimeClient, workspace: Workspace) -> None:
    assert (await wire.turn_changes(workspace.id)).items == []
    assert (await refused(wire.turn_diff(workspace.id, "nobody")))[:2] == (404, "changes_not_found")
    assert (await refused(wire.undo(workspace.id, "nobody")))[:2] == (404, "changes_not_found")
    assert (await refused(wire.turn_changes("nobody")))[:2] == (404, "workspace_not_found")
    assert not (Path(workspace.workspace_path) / ".holaboss" / "undo").exists()


async def test_attachments_are_staged_in_pieces(wire: RuntimeClient, workspace: Workspace) -> None:
    content = bytes(range(256)) * 40_000
    staged = await wire.stage_attachment(workspace.id, "../../Ünï: report.PNG", content)
    assert (staged.kind, staged.size) == ("image", len(content))
    assert staged.name == "Ünï_ report.PNG"
    assert staged.workspace_path == f".holaboss/input-attachments/{staged.batch}/{staged.name}"
    path = Path(workspace.workspace_path) / staged.workspace_path
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o077 == 0
    again = await wire.stage_attachment(workspace.id, "Ünï_ report.PNG", b"x", batch=staged.batch)
    assert again.name == "Ünï_ report-2.PNG"


async def test_bad_attachments(
    wire: RuntimeClient, workspace: Workspace, send: Callable[..., Reply], tmp_path: Path
) -> None:
    staged = await wire.stage_attachment(workspace.id, "a.txt", b"12345")
    (Path(workspace.workspace_path) / "plain.txt").write_text("x")

    def post(**body: Any) -> tuple[int, str]:
        body = {"content_base64": base64.b64encode(b"more").decode()} | body
        reply = send("POST", f"/api/v1/workspaces/{workspace.id}/attachments", body=json.dumps(body).encode())
        return reply.status, reply.body.get("code", "")

    assert post(name="x", content_base64="%%%") == (422, "content_invalid")
    assert post() == (422, "name_required")
    assert post(name="x", offset=1) == (422, "name_required")
    assert post(name="x", batch="../up") == (422, "batch_invalid")
    assert post(workspace_path=staged.workspace_path, offset=4) == (409, "offset_wrong")
    assert post(workspace_path=staged.workspace_path, offset=5)[0] == 200
    assert post(workspace_path="plain.txt", offset=1) == (422, "attachment_invalid")
    assert post(workspace_path=".holaboss/workspace_id", offset=1) == (422, "attachment_invalid")
    escape = f".holaboss/input-attachments/{staged.batch}/../a.txt"
    assert post(workspace_path=escape, offset=1)[0] in (400, 422)
    assert post(workspace_path=f".holaboss/input-attachments/{staged.batch}/b.txt") == (
        404,
        "attachment_missing",
    )


async def test_a_file_is_discarded_until_a_message_names_it(
    wire: RuntimeClient, workspace: Workspace
) -> None:
    root = Path(workspace.workspace_path)
    kept, gone = [await wire.stage_attachment(workspace.id, f"Ü {name}.txt", b"x") for name in "ab"]
    for _ in range(2):
        await wire.discard_attachment(workspace.id, gone.workspace_path)
    assert not (root / gone.workspace_path).exists()

    session = (await wire.ensure_main_session(workspace.id)).session_id
    attached = [{"workspace_path": f".holaboss/./input-attachments/{kept.batch}/{kept.name}"}]
    await wire.queue(
        QueueRequest(workspace_id=workspace.id, session_id=session, text="Look", attachments=attached)
    )
    assert await refused(wire.discard_attachment(workspace.id, kept.workspace_path)) == (
        409,
        "attachment_in_use",
        {},
    )
    assert (root / kept.workspace_path).read_bytes() == b"x"


async def test_what_is_refused_in_the_middle_leaves_nothing(
    wire: RuntimeClient, workspace: Workspace
) -> None:
    content = bytes((50 << 20) + 1)
    status, code, _ = await refused(wire.stage_attachment(workspace.id, "film.mp4", content))
    assert (status, code) == (413, "attachment_too_large")
    assert len(content) > PIECE_BYTES
    assert list((Path(workspace.workspace_path) / ".holaboss" / "input-attachments").iterdir()) == []
