"""Taking turns back: what comes back, what is refused, what is left out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_runtime.workspace.undo.store import UndoStore
from tests.support.undo_bench import (
    Bench,
    create,
    delete,
    edit,
    kinds,
    links,
    make_bench,
    permissions,
    rename,
    why,
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path.resolve() / "workspace")


DEEDS = [edit, delete, create, permissions, links, kinds, rename]


@pytest.mark.parametrize("deed", DEEDS)
def test_whatever_a_command_did_is_taken_back_and_brought_again(
    bench: Bench, deed: Callable[[Path], None]
) -> None:
    before = bench.files()
    with bench.call():
        deed(bench.root)
    after = bench.files()
    assert after != before

    assert bench.undo().conflicts == []
    assert bench.files() == before
    turn = bench.turn()
    assert turn is not None
    assert turn.state == "undone"

    assert bench.redo().conflicts == []
    assert bench.files() == after
    assert bench.undo().conflicts == []
    assert bench.files() == before


def test_a_call_that_names_its_files_is_recorded_without_a_look_at_the_others(bench: Bench) -> None:
    before = bench.files()
    with bench.call("t1", "made/by/me.txt"):
        (bench.root / "made" / "by").mkdir(parents=True)
        (bench.root / "made" / "by" / "me.txt").write_text("x\ny\n")
        (bench.root / "notes.md").write_text("a person, meanwhile")
    assert bench.changes() == {"made": "created", "made/by": "created", "made/by/me.txt": "created"}
    turn = bench.turn()
    assert turn is not None
    assert (turn.changes["made/by/me.txt"].added, turn.changes["made/by/me.txt"].removed) == (2, 0)
    bench.undo()
    assert set(bench.files()) == set(before)
    assert (bench.root / "notes.md").read_text() == "a person, meanwhile"


def test_a_turn_without_changes_leaves_no_record(bench: Bench) -> None:
    with bench.call():
        pass
    with bench.call():
        (bench.root / "tmp").write_text("x")
    with bench.call():
        (bench.root / "tmp").unlink()
    assert bench.turn() is None
    assert bench.store.turns() == []


def test_what_is_left_out_is_not_recorded(bench: Bench) -> None:
    for folder in (".git", "node_modules/x", ".venv", "sub/.git", ".holaboss"):
        (bench.root / folder).mkdir(parents=True, exist_ok=True)
    (bench.root / ".gitignore").write_text("local/\n")
    with bench.call():
        for folder in (".git", "node_modules/x", ".venv", "sub/.git", ".holaboss"):
            (bench.root / folder / "file").write_text("x")
        (bench.root / "local").mkdir()
        (bench.root / "local" / "kept.txt").write_text("x")
    assert bench.changes() == {"local": "created", "local/kept.txt": "created"}


def test_what_changed_since_is_not_overwritten(bench: Bench) -> None:
    with bench.call():
        edit(bench.root)
        (bench.root / "new.txt").write_text("made")
        (bench.root / "picture.png").unlink()
    (bench.root / "notes.md").write_text("by a person")
    (bench.root / "picture.png").write_bytes(b"another one")
    found = bench.files()

    refused = bench.undo()
    assert why(refused) == {"notes.md": "changed", "picture.png": "changed"}
    assert refused.turn is None
    assert bench.files() == found

    assert bench.undo(paths=["new.txt"]).paths == ["new.txt"]
    turn = bench.turn()
    assert turn is not None
    assert turn.state == "partly_undone"

    assert bench.undo(force=True).conflicts == []
    assert (bench.root / "notes.md").read_text() == "one\ntwo\n"
    assert bench.redo().conflicts == []
    assert (bench.root / "notes.md").read_text() == "by a person"
    assert (bench.root / "picture.png").read_bytes() == b"another one"


def test_a_later_turn_is_named(bench: Bench) -> None:
    with bench.call("t1"):
        (bench.root / "notes.md").write_text("first")
    with bench.call("t2"):
        (bench.root / "notes.md").write_text("second")
    refused = bench.undo("t1")
    assert [(one.path, one.reason, one.input_id) for one in refused.conflicts] == [
        ("notes.md", "later_turn", "t2")
    ]
    bench.undo("t2")
    bench.undo("t1")
    assert (bench.root / "notes.md").read_text() == "one\ntwo\n"
    assert why(bench.redo("t2")) == {"notes.md": "changed"}
    bench.redo("t1")
    bench.redo("t2")
    assert (bench.root / "notes.md").read_text() == "second"


def test_a_change_of_somebody_else_in_the_middle_of_a_turn_is_a_conflict(bench: Bench) -> None:
    with bench.call():
        (bench.root / "notes.md").write_text("first")
    (bench.root / "notes.md").write_text("by a person")
    with bench.call():
        (bench.root / "notes.md").write_text("second")
    assert why(bench.undo()) == {"notes.md": "interleaved"}
    bench.undo(force=True)
    assert (bench.root / "notes.md").read_text() == "one\ntwo\n"


def test_a_folder_somebody_put_something_into_stays(bench: Bench) -> None:
    with bench.call():
        (bench.root / "made").mkdir()
        (bench.root / "made" / "a").write_text("a")
    (bench.root / "made" / "mine").write_text("by a person")
    assert bench.undo().conflicts == []
    assert [path.name for path in (bench.root / "made").iterdir()] == ["mine"]


def test_something_in_the_way_is_a_conflict(bench: Bench) -> None:
    with bench.call():
        (bench.root / "src" / "run.sh").unlink()
        (bench.root / "src").rmdir()
    (bench.root / "src").write_text("a file of a person")
    assert set(why(bench.undo()).values()) <= {"changed", "in_the_way"}
    assert (bench.root / "src").read_text() == "a file of a person"
    with bench.call("t2"):
        (bench.root / "picture.png").unlink()
        (bench.root / "picture.png").mkdir()
    (bench.root / "picture.png" / "mine").write_text("by a person")
    assert why(bench.undo("t2", force=True)) == {"picture.png": "in_the_way"}


def test_a_link_put_into_the_path_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "run.sh").write_text("echo\n")
    with bench.call():
        (bench.root / "src" / "run.sh").write_text("changed\n")
    (bench.root / "src" / "run.sh").unlink()
    (bench.root / "src").rmdir()
    (bench.root / "src").symlink_to(outside)
    assert why(bench.undo(force=True)) == {"src/run.sh": "in_the_way"}
    assert (outside / "run.sh").read_text() == "echo\n"
    with bench.call("t2"):
        (outside / "run.sh").write_text("somewhere else")
    assert bench.changes("t2") == {}


def test_no_step_of_a_path_follows_a_link(bench: Bench, tmp_path: Path) -> None:
    """Also one that is put there after everything was looked at."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("safe")
    (bench.root / "door").symlink_to(outside)
    staged = tmp_path / "staged"
    staged.write_text("harm")
    tree = bench.store.tree
    attempts: list[Callable[[], object]] = [
        lambda: tree.open("door/file"),
        lambda: tree.remove("door/file"),
        lambda: tree.put_file("door/file", staged, 0o644),
        lambda: tree.put_link("door/other", "x"),
        lambda: tree.make_folder("door/new"),
        lambda: list(tree.entries("door")),
        lambda: tree.open("door"),
    ]
    for attempt in attempts:
        with pytest.raises(OSError, match=r"in the way|symbolic"):
            attempt()
    assert tree.stat("door/file") is None
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("file", "safe")]


def test_big_files_are_named_instead_of_kept(bench: Bench) -> None:
    with bench.call():
        (bench.root / "big.bin").write_bytes(b"x" * (5 << 20))
        (bench.root / "small.txt").write_text("x")
    moved = bench.undo()
    assert (moved.paths, moved.skipped) == (["small.txt"], ["big.bin"])
    assert (bench.root / "big.bin").exists()
    turn = bench.turn()
    assert turn is not None
    assert turn.changes["big.bin"].problem == "too_large"
    assert turn.state == "undone"


def test_only_files_and_folders_of_ours_and_for_us_alone(bench: Bench) -> None:
    with bench.call():
        create(bench.root)
        edit(bench.root)
    bench.recorder.close()
    for path in bench.store.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_oldest_turns_go_first_when_room_is_short(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    store = UndoStore(root, quota=400_000)
    bench = Bench(root)
    for number in range(6):
        with bench.call(f"t{number}"):
            (root / "data").write_bytes(bytes([number]) * 100_000)
    with store.held():
        store.collect([], now=True)
    assert [turn.input_id for turn in store.turns()] == ["t5", "t4", "t3"]
    assert sum(store.blobs.sizes().values()) <= 400_000
    assert bench.undo("t5").conflicts == []
    assert (root / "data").read_bytes() == bytes([4]) * 100_000


def test_an_unchanged_workspace_is_not_read_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in bench.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, ns=(1, 1))
    clock = __import__("time").time_ns() + 10**9
    monkeypatch.setattr("holaboss_runtime.workspace.undo.index.time.time_ns", lambda: clock)
    with bench.call():
        pass
    opened: list[str] = []
    real = type(bench.store.tree).open
    monkeypatch.setattr(
        type(bench.store.tree), "open", lambda tree, path: opened.append(path) or real(tree, path)
    )
    with bench.call():
        pass
    assert opened == []
