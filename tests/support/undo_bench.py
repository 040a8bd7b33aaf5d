"""A workspace with things in it, a recorder, and turns that change and take back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holaboss_runtime.workspace.undo.index import Index
from holaboss_runtime.workspace.undo.model import Turn
from holaboss_runtime.workspace.undo.moving import Direction, Moved, move
from holaboss_runtime.workspace.undo.recording import Recorder
from holaboss_runtime.workspace.undo.store import UndoStore
from tests.support.processes import PATIENCE_S


def look_patiently(patch: pytest.MonkeyPatch) -> None:
    """A look at a workspace may take as long as a slow machine does, and still reads everything."""
    patch.setitem(Index.__init__.__kwdefaults__ or {}, "longest_s", PATIENCE_S)


class Bench:
    """A workspace, its recorder, and turns that change it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = UndoStore(root)
        self.recorder = Recorder(root)

    @contextmanager
    def call(self, input_id: str = "t1", *paths: str) -> Iterator[None]:
        """A call that names `paths`, or one that may touch anything."""
        turn = self.turn(input_id) or Turn(input_id, "s1")
        if paths:
            states = self.recorder.before_named(turn, paths)
            yield
            self.recorder.after_named(turn, states)
        else:
            self.recorder.before_any(turn)
            yield
            self.recorder.after_any(turn)

    def turn(self, input_id: str = "t1") -> Turn | None:
        return self.store.load(input_id)

    def changes(self, input_id: str = "t1") -> dict[str, str]:
        turn = self.turn(input_id)
        return {} if turn is None else {path: change.kind for path, change in turn.changes.items()}

    def move(
        self,
        direction: Direction,
        input_id: str = "t1",
        paths: list[str] | None = None,
        *,
        force: bool = False,
    ) -> Moved:
        with self.store.held():
            moved = move(self.store, input_id, direction, paths, force=force)
        assert moved is not None
        return moved

    def undo(self, input_id: str = "t1", paths: list[str] | None = None, *, force: bool = False) -> Moved:
        return self.move("undo", input_id, paths, force=force)

    def redo(self, input_id: str = "t1", *, force: bool = False) -> Moved:
        return self.move("redo", input_id, force=force)

    def files(self) -> dict[str, str]:
        found = (path for path in sorted(self.root.rglob("*")) if ".holaboss" not in path.parts)
        return {path.relative_to(self.root).as_posix(): _shown(path) for path in found}


def _shown(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return "folder" if path.is_dir() else f"{path.stat().st_mode & 0o777:o} {path.read_bytes()!r}"


def why(moved: Moved) -> dict[str, str]:
    return {conflict.path: conflict.reason for conflict in moved.conflicts}


def make_bench(root: Path) -> Bench:
    """Text, a program, something binary, a link and an empty folder."""
    root.mkdir()
    (root / "notes.md").write_text("one\ntwo\n")
    (root / "src").mkdir()
    (root / "src" / "run.sh").write_text("echo\n")
    (root / "src" / "run.sh").chmod(0o755)
    (root / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (root / "link").symlink_to("notes.md")
    (root / "empty").mkdir()
    return Bench(root)


def edit(root: Path) -> None:
    (root / "notes.md").write_text("one\n2\nthree\n")


def delete(root: Path) -> None:
    (root / "src" / "run.sh").unlink()
    (root / "src").rmdir()
    (root / "empty").rmdir()
    (root / "picture.png").unlink()


def create(root: Path) -> None:
    (root / "new" / "deep").mkdir(parents=True)
    (root / "new" / "deep" / "a.txt").write_text("a")
    (root / "new" / "b.bin").write_bytes(b"\0\1")
    (root / "other").symlink_to("/etc/hostname")


def permissions(root: Path) -> None:
    (root / "src" / "run.sh").chmod(0o644)


def links(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("src/run.sh")


def kinds(root: Path) -> None:
    """A file becomes a folder, a folder a file, a link a file."""
    (root / "notes.md").unlink()
    (root / "notes.md").mkdir()
    (root / "notes.md" / "inner").write_text("x")
    (root / "src" / "run.sh").unlink()
    (root / "src").rmdir()
    (root / "src").write_text("now a file")
    (root / "link").unlink()
    (root / "link").write_text("now a file")


def rename(root: Path) -> None:
    (root / "src").rename(root / "sources")
