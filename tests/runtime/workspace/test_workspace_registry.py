"""Creating, moving and deleting workspaces: nothing that is not ours is ever touched."""

# ruff: noqa: ASYNC221, ASYNC240 — a test may block its own loop

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from holaboss_client.workspaces import CreateWorkspace, PatchWorkspace
from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.plan import load_plan, read_policy
from tests.runtime.workspace.conftest import Space

pytestmark = pytest.mark.anyio


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def refused(awaitable: object, kind: str, code: str) -> None:
    with pytest.raises(DomainError) as raised:
        await awaitable  # type: ignore[misc]
    assert (raised.value.kind, raised.value.code) == (kind, code)


async def test_a_new_workspace_can_run_at_once(space: Space) -> None:
    made = await space.registry.create(CreateWorkspace(name="  My: «first» # one  "))
    folder = space.registry.folder(made.id)
    assert folder == space.root / "workspace" / made.id
    assert (made.name, made.status, made.folder_state) == ("My: «first» # one", "active", "healthy")
    assert load_plan(folder).name == "My: «first» # one"
    assert load_plan(folder).model is None
    assert "My: «first» # one" in read_policy(folder)
    assert (folder / "skills").is_dir()
    assert (folder / ".holaboss" / "workspace_id").read_text().strip() == made.id
    assert [event.kind for event in space.told()] == ["workspace"]


async def test_it_has_a_repository_with_one_commit_and_none_of_our_state_in_it(space: Space) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    folder = space.registry.folder(made.id)

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", folder, *arguments], check=True, capture_output=True, text=True
        ).stdout

    assert (
        git("log", "--format=%s|%an|%ae")
        == "agent: initialize workspace|Holaboss Agent|agent@holaboss.local\n"
    )
    assert git("ls-files").split() == ["AGENTS.md", "workspace.yaml"]
    assert git("status", "--porcelain") == ""
    assert git("branch", "--show-current") == "main\n"


async def test_without_git_a_workspace_is_made_all_the_same(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(space.root))
    made = await space.registry.create(CreateWorkspace(name="w"))
    assert not (space.registry.folder(made.id) / ".git").exists()


async def test_the_persons_git_configuration_stays_out_of_it(space: Space, home: Path) -> None:
    (home / ".gitconfig").write_text("[commit]\n\tgpgsign = true\n[user]\n\tname = Somebody\n")
    made = await space.registry.create(CreateWorkspace(name="w"))
    log = subprocess.run(
        ["git", "-C", made.workspace_path, "log", "--format=%an"], check=True, capture_output=True, text=True
    )
    assert log.stdout == "Holaboss Agent\n"


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (CreateWorkspace(name="  "), "unprocessable", "name_invalid"),
        (CreateWorkspace(name="x" * 201), "unprocessable", "name_invalid"),
        (CreateWorkspace(name="w", harness="other"), "unprocessable", "harness_unknown"),
        (CreateWorkspace(name="w", status="deleted"), "unprocessable", "status_invalid"),
        (CreateWorkspace(name="w", workspace_id="../up"), "unprocessable", "workspace_id_invalid"),
        (CreateWorkspace(name="w", workspace_id="taken"), "conflict", "workspace_exists"),
        (CreateWorkspace(name="w", workspace_path="relative/path"), "invalid", "workspace_path_invalid"),
        (CreateWorkspace(name="w", workspace_path="/a\0b"), "invalid", "workspace_path_invalid"),
        (CreateWorkspace(name="w", workspace_path="/"), "invalid", "workspace_path_invalid"),
        (CreateWorkspace(name="w", workspace_path="/proc/nowhere"), "invalid", "workspace_path_invalid"),
    ],
)
async def test_a_refused_creation_leaves_nothing(
    space: Space, body: CreateWorkspace, kind: str, code: str
) -> None:
    await space.registry.create(CreateWorkspace(name="taken", workspace_id="taken"))
    before, told = tree(space.root), len(space.told())
    await refused(space.registry.create(body), kind, code)
    assert tree(space.root) == before
    assert space.registry.list().total == 1
    assert len(space.told()) == told


async def test_places_that_are_not_for_workspaces(space: Space, tmp_path: Path) -> None:
    other = await space.registry.create(
        CreateWorkspace(name="o", workspace_path=str(tmp_path / "mine" / "other"))
    )
    full = tmp_path / "full"
    full.mkdir()
    (full / "letter.txt").write_text("mine")
    (tmp_path / "link").symlink_to(space.root)
    inside = Path(other.workspace_path) / "inside"
    for path in (tmp_path, space.root, space.root / "state", space.root / "workspace", full, inside):
        await refused(
            space.registry.create(CreateWorkspace(name="w", workspace_path=str(path))),
            "invalid",
            "workspace_path_invalid",
        )
    for path in (tmp_path / "mine", tmp_path / "link" / "state", full / "letter.txt"):
        await refused(
            space.registry.create(CreateWorkspace(name="w", workspace_path=str(path))),
            "invalid",
            "workspace_path_invalid",
        )
    assert tree(full) == {"letter.txt": b"mine"}


async def test_a_chosen_folder_may_be_new_or_empty(space: Space, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / ".DS_Store").touch()
    for path in (empty, tmp_path / "new" / "one"):
        made = await space.registry.create(CreateWorkspace(name="w", workspace_path=str(path)))
        assert space.registry.folder(made.id) == path


async def test_deleting_takes_what_was_ours_and_no_more(space: Space, tmp_path: Path) -> None:
    managed = await space.registry.create(CreateWorkspace(name="managed"))
    chosen = await space.registry.create(
        CreateWorkspace(name="chosen", workspace_path=str(tmp_path / "chosen"))
    )
    kept = await space.registry.create(CreateWorkspace(name="kept"))
    wiped = await space.registry.create(CreateWorkspace(name="wiped", workspace_path=str(tmp_path / "wiped")))
    await space.registry.delete(managed.id)
    await space.registry.delete(chosen.id)
    await space.registry.delete(kept.id, keep_files=True)
    await space.registry.delete(wiped.id, keep_files=False)
    assert not Path(managed.workspace_path).exists()
    assert not Path(wiped.workspace_path).exists()
    for left in (chosen, kept):
        assert (Path(left.workspace_path) / "AGENTS.md").exists()
        assert not (Path(left.workspace_path) / ".holaboss").exists()
    assert space.registry.list().total == 0
    assert space.registry.list(include_deleted=True).total == 4
    await refused(space.registry.delete(managed.id), "not_found", "workspace_not_found")


async def test_a_folder_without_our_marker_is_never_deleted(space: Space) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    folder = Path(made.workspace_path)
    for marker in (None, "somebody-else"):
        shutil.rmtree(folder / ".holaboss", ignore_errors=True)
        if marker is not None:
            (folder / ".holaboss").mkdir()
            (folder / ".holaboss" / "workspace_id").write_text(marker)
        before = tree(folder)
        for keep_files in (None, True, False):
            await refused(
                space.registry.delete(made.id, keep_files=keep_files),
                "conflict",
                "workspace_identity_mismatch",
            )
        assert tree(folder) == before
        assert space.registry.get(made.id).status == "active"


async def test_nothing_is_deleted_under_a_run(space: Space) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    space.registry.in_use = lambda workspace_id: workspace_id == made.id
    await refused(space.registry.delete(made.id), "conflict", "workspace_busy")
    assert Path(made.workspace_path).is_dir()


async def test_deleting_does_not_follow_links_out_of_the_folder(space: Space, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "letter.txt").write_text("mine")
    made = await space.registry.create(CreateWorkspace(name="w"))
    (Path(made.workspace_path) / "link").symlink_to(outside)
    await space.registry.delete(made.id)
    assert tree(outside) == {"letter.txt": b"mine"}


async def test_a_folder_that_is_gone_is_said_so_and_not_made_again(space: Space) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    shutil.rmtree(made.workspace_path)
    assert space.registry.get(made.id).folder_state == "missing"
    assert [item.folder_state for item in space.registry.list().items] == ["missing"]
    with pytest.raises(DomainError) as raised:
        space.registry.folder(made.id)
    assert (raised.value.kind, raised.value.code) == ("conflict", "workspace_folder_missing")
    assert raised.value.context["workspace_path"] == made.workspace_path
    await refused(space.files.list(made.id, ""), "conflict", "workspace_folder_missing")
    await space.registry.delete(made.id)
    assert not Path(made.workspace_path).exists()


async def test_a_moved_folder_is_followed_to_where_its_marker_is(space: Space, tmp_path: Path) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    moved, strange = tmp_path / "moved", tmp_path / "strange"
    strange.mkdir()
    (strange / "x").touch()
    move = PatchWorkspace(workspace_path=str(moved))
    await refused(space.registry.patch(made.id, move), "invalid", "workspace_path_invalid")
    shutil.move(made.workspace_path, moved)
    await refused(
        space.registry.patch(made.id, PatchWorkspace(workspace_path=str(strange))),
        "invalid",
        "workspace_path_invalid",
    )
    patched = await space.registry.patch(made.id, move)
    assert (patched.workspace_path, patched.folder_state) == (str(moved), "healthy")


async def test_a_lost_folder_may_start_afresh(space: Space, tmp_path: Path) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    shutil.rmtree(made.workspace_path)
    patched = await space.registry.patch(made.id, PatchWorkspace(workspace_path=str(tmp_path / "afresh")))
    assert patched.folder_state == "healthy"
    assert load_plan(tmp_path / "afresh").name == "w"


async def test_patching(space: Space) -> None:
    made = await space.registry.create(CreateWorkspace(name="w"))
    patched = await space.registry.patch(
        made.id, PatchWorkspace(name=" New ", icon="star", icon_color="teal")
    )
    assert (patched.name, patched.icon, patched.icon_color) == ("New", "star", "teal")
    patched = await space.registry.patch(made.id, PatchWorkspace(icon=""))
    assert (patched.name, patched.icon, patched.icon_color) == ("New", None, "teal")
    await refused(space.registry.patch(made.id, PatchWorkspace(name=" ")), "unprocessable", "name_invalid")
    await refused(
        space.registry.patch("nobody", PatchWorkspace(name="x")), "not_found", "workspace_not_found"
    )


async def test_a_renamed_folder_and_a_forgotten_row_are_found_again(space: Space) -> None:
    renamed = await space.registry.create(CreateWorkspace(name="renamed"))
    forgotten = await space.registry.create(CreateWorkspace(name="forgotten"))
    deleted = await space.registry.create(CreateWorkspace(name="deleted"))
    await space.registry.delete(deleted.id, keep_files=True)
    folder = Path(renamed.workspace_path)
    folder.rename(folder.with_name("by hand"))
    space.database.execute("DELETE FROM workspaces WHERE id = ?", (forgotten.id,))
    space.registry.discover()
    assert space.registry.folder(renamed.id).name == "by hand"
    assert space.registry.get(forgotten.id).name == "forgotten"
    assert {item.id for item in space.registry.list().items} == {renamed.id, forgotten.id}


async def test_the_list_is_paged_newest_first(space: Space) -> None:
    ids = [
        (await space.registry.create(CreateWorkspace(name=f"w{n}", workspace_id=f"w{n}"))).id
        for n in range(3)
    ]
    space.database.execute("UPDATE workspaces SET updated_at = created_at || id")
    await space.registry.patch(ids[0], PatchWorkspace(name="touched", status="error"))
    space.database.execute("UPDATE workspaces SET updated_at = 'z' WHERE id = ?", (ids[0],))
    page = space.registry.list(limit=2)
    assert (page.total, page.items[0].id, len(page.items)) == (3, ids[0], 2)
    assert len(space.registry.list(limit=2, offset=2).items) == 1
    assert [item.id for item in space.registry.list(status="error").items] == [ids[0]]


async def test_a_folder_that_was_moved_to_a_place_of_the_persons_is_kept(
    space: Space, tmp_path: Path
) -> None:
    made = await space.registry.create(CreateWorkspace(name="n"))
    chosen = tmp_path / "Documents"
    Path(made.workspace_path).rename(chosen)
    await space.registry.patch(made.id, PatchWorkspace(workspace_path=str(chosen)))
    await space.registry.delete(made.id)
    assert (chosen / "AGENTS.md").exists()
    assert not (chosen / ".holaboss").exists()


async def test_an_id_is_one_line(space: Space) -> None:
    with pytest.raises(DomainError) as raised:
        await space.registry.create(CreateWorkspace(name="n", workspace_id="abc\n"))
    assert raised.value.code == "workspace_id_invalid"


async def test_a_full_disk_is_said_so_and_leaves_no_half_made_workspace(space: Space) -> None:
    space.database.execute("PRAGMA max_page_count = 1")
    body = CreateWorkspace(name="n", workspace_id="w", error_message="é" * 4_000)
    await refused(space.registry.create(body), "unavailable", "disk_full")
    assert space.registry.list().total == 0
    assert not (space.root / "workspace" / "w").exists()
    space.registry.discover()
    assert space.registry.list().total == 0
