"""What was sent with a message can be looked at again, and nothing else of the workspace's own state."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from holaboss_client.attachments import StageAttachment
from holaboss_client.workspaces import CreateWorkspace, PutFile
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.inputs import InputRecords
from holaboss_runtime.workspace.attachments import WorkspaceAttachments
from tests.runtime.workspace.conftest import Space

pytestmark = pytest.mark.anyio
STAGING = ".holaboss/input-attachments"


@pytest.fixture
async def folder(space: Space) -> Path:
    made = await space.registry.create(CreateWorkspace(name="w", workspace_id="w"))
    return Path(made.workspace_path)


async def staged(space: Space, content: bytes) -> str:
    body = StageAttachment(name="notes.txt", content_base64=base64.b64encode(content).decode())
    return (await attachments(space).stage("w", body)).workspace_path


def attachments(space: Space) -> WorkspaceAttachments:
    return WorkspaceAttachments(space.registry, InputRecords(space.database))


async def code_of(awaitable: object) -> str:
    with pytest.raises(DomainError) as raised:
        await awaitable  # type: ignore[misc]
    return raised.value.code


async def test_a_staged_file_is_read_and_never_written(space: Space, folder: Path) -> None:
    path = await staged(space, b"what was sent")
    assert (await space.files.read("w", path)).content == "what was sent"
    body = PutFile(content_base64=base64.b64encode(b"other").decode())
    assert await code_of(space.files.write("w", path, body)) == "path_reserved"
    assert (folder / path).read_bytes() == b"what was sent"
    assert await code_of(space.files.list("w", STAGING)) == "path_reserved"


async def test_a_link_among_staged_files_leads_nowhere_else(space: Space, folder: Path) -> None:
    place = (folder / await staged(space, b"x")).parent
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "hidden").write_text("secret")
    (place / "a").symlink_to(folder / ".git" / "hidden")
    (place / "b").symlink_to(folder / ".holaboss" / "workspace_id")
    for name in ("a", "b"):
        assert await code_of(space.files.read("w", f"{STAGING}/{place.name}/{name}")) == "path_reserved"


@pytest.mark.parametrize("path", [f"{STAGING}/../workspace_id", ".holaboss/workspace_id", STAGING])
async def test_the_rest_of_the_state_stays_private(space: Space, folder: Path, path: str) -> None:
    await staged(space, b"x")
    assert await code_of(space.files.read("w", path)) in (
        "path_outside_workspace",
        "path_reserved",
        "not_a_file",
    )


async def test_a_staged_file_is_discarded_and_its_folder_with_the_last(space: Space, folder: Path) -> None:
    first, second = await staged(space, b"one"), await staged(space, b"two")
    batch, name = first.split("/")[-2:]
    for _ in range(2):  # a second time there is nothing to do
        attachments(space).discard("w", batch, name)
    assert not (folder / first).parent.exists()
    assert (folder / second).read_bytes() == b"two"


async def test_nothing_else_can_be_discarded(space: Space, folder: Path) -> None:
    place = (folder / await staged(space, b"x")).parent
    (folder / "mine").mkdir()
    (folder / "mine" / "plan.md").write_text("mine")
    (place / "link").symlink_to(folder / "mine" / "plan.md")
    (place.parent / "linked").symlink_to(folder / "mine")
    (place / "below").mkdir()
    wrong = [
        (place.name, ".."),
        ("..", "workspace_id"),
        (place.name, "link"),
        ("linked", "plan.md"),
        (place.name, "below"),
        (place.name, "."),
        (place.name, "a/b"),
        (place.name, "a\\b"),
        (place.name, "x" * 300),
    ]
    for batch, name in wrong:
        with pytest.raises(DomainError):
            attachments(space).discard("w", batch, name)
    assert (folder / "mine" / "plan.md").read_text() == "mine"
    assert sorted(path.name for path in place.iterdir()) == ["below", "link", "notes.txt"]
