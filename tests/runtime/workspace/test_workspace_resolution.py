"""Where a workspace is: its row, then its marker, then a search; and the workspaces that agents own."""

# ruff: noqa: ASYNC240 — a test may block its own loop

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holaboss_client.workspaces import CreateWorkspace, Workspace
from holaboss_runtime.errors import DomainError
from tests.runtime.workspace.conftest import Space

pytestmark = pytest.mark.anyio


async def made(space: Space, name: str) -> Workspace:
    return await space.registry.create(CreateWorkspace(name=name, workspace_id=name))


def rename(folder: Path, name: str) -> Path:
    return folder.rename(folder.with_name(name))


@pytest.mark.parametrize("ask", ["folder", "get", "list"])
async def test_a_folder_renamed_while_we_run_is_found_when_it_is_asked_for(space: Space, ask: str) -> None:
    one = await made(space, "one")
    now = rename(Path(one.workspace_path), "renamed")
    if ask == "folder":
        assert space.registry.folder("one") == now
    elif ask == "get":
        assert space.registry.get("one").workspace_path == str(now)
    else:
        assert [(item.workspace_path, item.folder_state) for item in space.registry.list().items] == [
            (str(now), "healthy")
        ]
    told = len(space.told())
    assert space.registry.folder("one") == now
    assert len(space.told()) == told  # it is where it is said to be: nothing changed again


async def test_exchanged_folders_are_told_apart_by_their_markers(space: Space) -> None:
    one, two = await made(space, "one"), await made(space, "two")
    first, second = Path(one.workspace_path), Path(two.workspace_path)
    between = rename(first, "between")
    second.rename(first)
    between.rename(second)
    assert (space.registry.folder("one"), space.registry.folder("two")) == (second, first)
    assert space.registry.get("one").folder_state == space.registry.get("two").folder_state == "healthy"


async def test_the_folder_of_another_workspace_is_never_taken_for_ours(space: Space) -> None:
    one, two = await made(space, "one"), await made(space, "two")
    shutil.rmtree(one.workspace_path)
    shutil.copytree(two.workspace_path, one.workspace_path)
    with pytest.raises(DomainError) as raised:
        space.registry.folder("one")
    assert (raised.value.kind, raised.value.code) == ("conflict", "workspace_identity_mismatch")
    assert space.registry.get("one").folder_state == "missing"
    assert space.registry.folder("two") == Path(two.workspace_path)


async def test_a_folder_without_a_marker_is_used_where_it_is_registered(space: Space) -> None:
    one = await made(space, "one")
    shutil.rmtree(Path(one.workspace_path) / ".holaboss")
    assert space.registry.folder("one") == Path(one.workspace_path)


async def test_deleting_a_renamed_workspace_takes_the_renamed_folder(space: Space) -> None:
    one = await made(space, "one")
    now = rename(Path(one.workspace_path), "renamed")
    await space.registry.delete("one")
    assert not now.exists()


async def test_a_deleted_workspace_is_not_looked_for(space: Space) -> None:
    one = await made(space, "one")
    await space.registry.delete("one", keep_files=True)
    (Path(one.workspace_path) / ".holaboss").mkdir()
    (Path(one.workspace_path) / ".holaboss" / "workspace_id").write_text("one")
    space.registry.discover()
    with pytest.raises(DomainError):
        space.registry.folder("one")
    assert space.registry.find("one") is space.registry.find("none") is None
    found = space.registry.find("one", include_deleted=True)
    assert found is not None
    assert (found.folder_state, found.workspace_path.startswith("__deleted__")) == ("missing", True)


async def test_an_agent_owns_a_workspace_that_is_a_row_and_nothing_else(space: Space) -> None:
    folder = space.root / ".openboa" / "agents" / "writer" / "workspace"
    folder.mkdir(parents=True)
    assert space.registry.register_agent("writer", folder, "Writer") == "writer"
    assert space.registry.register_agent("writer", folder, "Writer") == "writer"
    assert list(folder.iterdir()) == []
    assert space.registry.folder("writer") == folder
    assert space.registry.agent_workspace("writer")
    assert space.registry.list().total == 0
    assert [item.id for item in space.registry.list(include_agents=True).items] == ["writer"]
    await made(space, "plain")
    assert not space.registry.agent_workspace("plain")
    with pytest.raises(DomainError) as raised:
        await space.registry.delete("writer")
    assert raised.value.code == "workspace_identity_mismatch"


async def test_an_agent_whose_name_is_taken_gets_another_id(space: Space) -> None:
    await made(space, "writer")
    folder = space.root / ".openboa" / "agents" / "writer" / "workspace"
    folder.mkdir(parents=True)
    given = space.registry.register_agent("writer", folder, "Writer")
    assert given != "writer"
    assert space.registry.register_agent("writer", folder, "Writer") == given
    other = folder.parent.with_name("b")
    assert space.registry.register_agent("two words", other, "") not in ("two words", given)


async def test_a_tree_that_was_moved_keeps_its_agents(space: Space, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert space.registry.register_agent("writer", first, "Writer") == "writer"
    assert space.registry.register_agent("writer", second, "Writer") == "writer"
    second.mkdir()
    assert space.registry.folder("writer") == second


async def test_the_folder_of_a_workspace_is_not_an_agents(space: Space) -> None:
    one = await made(space, "one")
    with pytest.raises(DomainError) as raised:
        space.registry.register_agent("writer", Path(one.workspace_path), "Writer")
    assert raised.value.code == "workspace_path_invalid"


async def test_the_tree_of_the_agents_is_not_discovered(space: Space) -> None:
    hidden = space.root / "workspace" / ".openboa"
    (hidden / ".holaboss").mkdir(parents=True)
    (hidden / ".holaboss" / "workspace_id").write_text("hidden")
    space.registry.discover()
    assert space.registry.list(include_agents=True).total == 0
