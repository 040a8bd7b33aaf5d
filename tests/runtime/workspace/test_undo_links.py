"""A workspace folder may come from anywhere: links in the record of undo lead to nothing that is removed or written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holaboss_runtime.workspace.undo.model import Turn
from holaboss_runtime.workspace.undo.recording import Recorder
from holaboss_runtime.workspace.undo.store import UndoStore, _short

MB = 1 << 20
TURN = Turn("input", "session")


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A folder of the person's, outside of the workspace."""
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "a.txt").write_text("mine")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace that makes the record grow enough to be tidied."""
    folder = tmp_path / "workspace"
    (folder / ".holaboss" / "undo" / "blobs").mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(os.urandom(3 * MB))
    return folder


def test_a_link_in_the_place_of_the_staging_folder_empties_nothing(folder: Path, letters: Path) -> None:
    (folder / ".holaboss" / "undo" / "staging").symlink_to(letters)

    with pytest.raises(OSError, match="staging is a link"):
        Recorder(folder).before_any(TURN)

    assert [path.name for path in letters.iterdir()] == ["a.txt"]


def test_a_link_among_the_contents_empties_nothing(folder: Path, letters: Path) -> None:
    blobs = folder / ".holaboss" / "undo" / "blobs"
    (blobs / "zz").symlink_to(letters)
    (blobs / "yy").mkdir()
    with (blobs / "yy" / "large").open("wb") as file:
        file.truncate(300 * MB)
    recorder = Recorder(folder)

    recorder.before_any(TURN)
    recorder.after_any(TURN)
    recorder.close()

    assert not (blobs / "yy" / "large").exists()
    assert (letters / "a.txt").read_text() == "mine"


def test_a_link_in_the_place_of_the_lock_makes_no_file(folder: Path, letters: Path) -> None:
    (folder / ".holaboss" / "undo" / "lock").symlink_to(letters / "new")

    with pytest.raises(OSError, match="symbolic link"):
        Recorder(folder).before_any(TURN)

    assert not (letters / "new").exists()


def test_numbers_nobody_can_count_with_are_no_record(folder: Path) -> None:
    row = '[Infinity, 1, 1, 1, 1, true, "file", "", "", "", ""]'
    (folder / ".holaboss" / "undo" / "index.json").write_text(f'{{"version": 1, "entries": {{"a": {row}}}}}')
    recorder = Recorder(folder)

    recorder.before_any(TURN)
    (folder / "new").write_text("new")
    recorder.after_any(TURN)

    assert list((folder / ".holaboss" / "undo" / "turns").glob("*.json"))


def test_a_record_that_could_not_be_begun_claims_no_file(folder: Path) -> None:
    """The disk refuses for a moment. What a later call does to the same file is recorded all the same."""
    recorder = Recorder(folder)
    in_the_way = folder / ".holaboss" / "undo" / "turns" / f"now-{_short(TURN.input_id)}.json"
    in_the_way.mkdir(parents=True)
    with pytest.raises(OSError, match=r"directory|denied"):
        recorder.before_named(TURN, ["a.txt"])
    in_the_way.rmdir()

    recorder.before_any(TURN)
    (folder / "a.txt").write_text("new")
    recorder.after_any(TURN)

    turns = UndoStore(folder).turns()
    assert [list(turn.changes) for turn in turns] == [["a.txt"]]
