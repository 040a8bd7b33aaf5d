"""Undo when a disk, a process or a stranger does harm: nothing is lost, nothing half done."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_runtime.workspace.undo.model import Turn
from holaboss_runtime.workspace.undo.moving import recover
from holaboss_runtime.workspace.undo.store import BusyError, UndoStore
from tests.support.undo_bench import (
    Bench,
    create,
    delete,
    edit,
    kinds,
    links,
    make_bench,
    why,
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path.resolve() / "workspace")


def test_content_that_is_lost_or_damaged_is_never_put_back(bench: Bench) -> None:
    with bench.call():
        edit(bench.root)
    turn = bench.turn()
    assert turn is not None
    blob = bench.store.blobs.path_of(turn.changes["notes.md"].before.digest)
    blob.write_text("something else")
    with pytest.raises(OSError, match="damaged"):
        bench.undo()
    assert (bench.root / "notes.md").read_text() == "one\n2\nthree\n"
    assert bench.store.read("journal.json") is None
    blob.unlink()
    assert why(bench.undo()) == {"notes.md": "content_lost"}


def test_an_error_on_the_way_is_rolled_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench.call():
        edit(bench.root)
        delete(bench.root)
        create(bench.root)
    after = bench.files()
    staged, calls = bench.store.blobs.staged_copy, 0

    def fails_once(digest: str) -> Path:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError("no space left on device")
        return staged(digest)

    monkeypatch.setattr(bench.store.blobs, "staged_copy", fails_once)
    with pytest.raises(OSError, match="no space"):
        bench.undo()
    assert bench.files() == after
    monkeypatch.undo()
    assert bench.undo().conflicts == []


def _much(root: Path) -> None:
    for deed in (edit, delete, create, links):
        deed(root)


@pytest.mark.parametrize(
    ("deed", "done"), [(deed, done) for deed, steps in ((_much, 12), (kinds, 8)) for done in range(steps)]
)
def test_a_kill_in_the_middle_is_finished_at_the_next_opening(
    bench: Bench, deed: Callable[[Path], None], done: int
) -> None:
    """A process is killed before its n-th change of the disk."""
    before = bench.files()
    with bench.call():
        deed(bench.root)
    after = bench.files()
    child = subprocess.run([sys.executable, "-c", KILLED, str(bench.root), str(done)], check=False)
    assert child.returncode in (-signal.SIGKILL, 0)
    if child.returncode:
        assert bench.store.read("journal.json") is not None
    with bench.store.held():
        recover(bench.store)
    turn = bench.turn()
    assert turn is not None
    assert bench.files() == (before if turn.state == "undone" else after)
    assert turn.state == "undone"
    assert bench.redo().conflicts == []
    assert bench.files() == after


KILLED = """
import os, signal, sys
from pathlib import Path
from holaboss_runtime.workspace.undo import moving, tree
from holaboss_runtime.workspace.undo.store import UndoStore

left = int(sys.argv[2])

def counted(name):
    real = getattr(tree.Tree, name)
    def wrapper(*args, **kwargs):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **kwargs)
    setattr(tree.Tree, name, wrapper)

for name in ("put_file", "put_link", "remove", "remove_folder", "make_folder"):
    counted(name)
store = UndoStore(Path(sys.argv[1]))
with store.held():
    moving.move(store, "t1", "undo", None, force=False)
"""


def test_a_kill_during_a_command_is_attributed_but_not_trusted(bench: Bench) -> None:
    turn = Turn("t1", "s1")
    bench.recorder.before_any(turn)
    edit(bench.root)  # and then the process is gone
    later = Bench(bench.root)
    with later.call("t2"):
        pass
    assert later.changes() == {"notes.md": "changed"}
    assert later.turn("t2") is None
    assert why(later.undo()) == {"notes.md": "interleaved"}
    later.undo(force=True)
    assert (bench.root / "notes.md").read_text() == "one\ntwo\n"


def test_a_kill_during_a_named_write_is_attributed_but_not_trusted(bench: Bench) -> None:
    bench.recorder.before_named(Turn("t1", "s1"), ["notes.md"])
    edit(bench.root)
    later = Bench(bench.root)
    with later.call("t2", "other.md"):
        pass
    assert later.changes() == {"notes.md": "changed"}
    assert why(later.undo()) == {"notes.md": "interleaved"}


def test_two_runs_in_one_workspace_each_get_their_own(bench: Bench) -> None:
    """A command of one runs while the other writes a file."""
    one, two = Turn("t1", "s1"), Turn("t2", "s2")
    bench.recorder.before_any(one)
    states = bench.recorder.before_named(two, ["by-two.txt"])
    (bench.root / "by-two.txt").write_text("2")
    (bench.root / "by-one.txt").write_text("1")
    bench.recorder.after_any(one)
    bench.recorder.after_named(two, states)
    assert bench.changes("t1") == {"by-one.txt": "created"}
    assert bench.changes("t2") == {"by-two.txt": "created"}


def test_only_one_works_with_a_store_at_a_time(bench: Bench) -> None:
    with bench.store.held(), pytest.raises(BusyError), UndoStore(bench.root).held():
        pass


def test_a_record_of_somebody_else_leads_nowhere(bench: Bench, tmp_path: Path) -> None:
    """A workspace may come from anywhere, with a manifest in it."""
    with bench.call():
        (bench.root / "a.txt").write_text("x")
    outside = tmp_path / "outside.txt"
    outside.write_text("safe")
    record = next((bench.store.folder / "turns").iterdir())
    honest = json.loads(record.read_text())
    for path in ("../outside.txt", str(outside), ".git/hooks/x", ".holaboss/workspace_id", "a/../../x", ""):
        forged = json.loads(json.dumps(honest))
        forged["changes"][0]["path"] = path
        record.write_text(json.dumps(forged))
        with pytest.raises(ValueError, match="not a path"):
            bench.undo(force=True)
    for damaged in ("{", "[]", '{"version": 2}', json.dumps(honest)[:-20]):
        record.write_text(damaged)
        assert bench.turn() is None
    assert outside.read_text() == "safe"
    (bench.store.folder / "turns").rename(tmp_path / "elsewhere")
    (bench.store.folder / "turns").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link"), bench.store.held():
        pass
