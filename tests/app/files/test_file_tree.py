"""The tree: lazy, in step with the disk, and gentle to what is expanded and selected."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLabel

from holaboss_app.panes.files.tree_model import FileTreeModel
from holaboss_client.base import utc_now
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.workspaces import FolderListing
from tests.app.files.conftest import Shelf, workspace


def listing(path: str, *names: str) -> FolderListing:
    entries = [
        {
            "name": name.rstrip("/"),
            "path": f"{path}/{name}".strip("/"),
            "kind": "folder" if name.endswith("/") else "file",
            "size": 1,
            "modified_at": "",
        }
        for name in names
    ]
    return FolderListing.model_validate({"path": path, "entries": entries})


def test_the_model_is_sound_whatever_the_listings_say(qapp: QApplication) -> None:
    model = FileTreeModel()
    wanted: list[str] = []
    model.folder_wanted.connect(wanted.append)
    # Complains through Qt's log, which fails a test; it also opens every folder it finds.
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning)
    model.set_folder(listing("", "a/", "b/", "c", "d"))
    assert wanted == ["a", "b"]
    model.set_folder(listing("a", "x/", "y"))
    model.set_folder(listing("a/x", "deep"))
    model.set_folder(listing("", "a/", "aa", "d", "c"))
    assert [model.entry(model.index(row, 0)).name for row in range(model.rowCount())] == ["a", "aa", "d", "c"]
    assert model.entry(model.index_of("a/x/deep")).name == "deep"
    assert model.index_of("b").row() == -1
    model.set_folder(listing("", "d/", "a"))
    assert not model.index_of("a/x").isValid()
    model.set_folder(listing("gone/elsewhere", "z"))
    assert model.loaded_folders() == [""]
    model.clear()
    assert model.rowCount() == 0
    tester.deleteLater()


def test_only_folders_that_are_opened_are_asked_for(shelf: Shelf) -> None:
    shelf.open()
    assert shelf.rows() == ["notes", "AGENTS.md", "picture.png", "workspace.yaml"]
    assert shelf.runtime.calls == [("GET", "one:")]
    shelf.expand("notes")
    assert shelf.rows("notes") == ["deep", "today.md"]
    assert shelf.runtime.calls[1:] == [("GET", "one:notes")]


def test_a_change_reads_only_the_folder_it_is_in_and_keeps_the_rest(shelf: Shelf) -> None:
    shelf.open()
    shelf.expand("notes")
    tree, model = shelf.pane.tree, shelf.pane.model
    tree.setCurrentIndex(model.index_of("notes/today.md"))
    shelf.runtime.calls.clear()
    shelf.runtime.files |= {"notes/another.md": b"", "notes/zebra.md": b""}
    del shelf.runtime.files["notes/deep/far.txt"]
    shelf.changed("notes/another.md")
    assert shelf.runtime.calls == [("GET", "one:notes")]
    assert shelf.rows("notes") == ["another.md", "today.md", "zebra.md"]
    assert model.entry(tree.currentIndex()).path == "notes/today.md"
    assert tree.isExpanded(model.index_of("notes"))


def test_a_change_in_a_folder_that_is_new_shows_that_folder(shelf: Shelf) -> None:
    shelf.open()
    shelf.runtime.files |= {"plans/2027/spring.md": b""}
    shelf.changed("plans/2027/spring.md")
    assert "plans" in shelf.rows()
    shelf.runtime.files |= {"notes/deep/deeper/x.md": b""}
    shelf.runtime.calls.clear()
    shelf.changed("notes/deep/deeper/x.md")
    assert shelf.runtime.calls == [("GET", "one:")], "nobody has opened anything below"


def test_a_file_that_becomes_a_folder_is_shown_as_one(shelf: Shelf) -> None:
    shelf.open()
    del shelf.runtime.files["AGENTS.md"]
    shelf.runtime.files["AGENTS.md/inside.md"] = b""
    shelf.changed()
    shelf.expand("AGENTS.md")
    assert shelf.rows("AGENTS.md") == ["inside.md"]


def test_every_loaded_folder_is_read_again_after_a_reset_and_on_return(shelf: Shelf) -> None:
    shelf.open()
    shelf.expand("notes")
    shelf.runtime.calls.clear()
    shelf.changed(kind=Change.RESET)
    assert shelf.runtime.calls == [("GET", "one:"), ("GET", "one:notes")]
    shelf.do(lambda: shelf.pane.changeEvent(QEvent(QEvent.Type.ActivationChange)))
    expected = 4 if shelf.pane.isActiveWindow() else 2
    assert len(shelf.runtime.calls) == expected
    shelf.do(shelf.pane.refresh.click)
    assert len(shelf.runtime.calls) == expected + 2


def test_changes_of_another_workspace_mean_nothing_here(shelf: Shelf) -> None:
    shelf.open()
    shelf.runtime.calls.clear()
    shelf.changed("AGENTS.md", space="two")
    assert shelf.runtime.calls == []


def test_a_folder_that_could_not_be_read_can_be_opened_again(shelf: Shelf) -> None:
    shelf.open()
    shelf.runtime.down = True
    shelf.expand("notes")
    assert "does not answer" in shelf.pane.problem.label.text()
    shelf.runtime.down = False
    shelf.do(lambda: shelf.pane.tree.collapse(shelf.pane.model.index_of("notes")))
    shelf.expand("notes")
    assert shelf.rows("notes") == ["deep", "today.md"]


def test_missing_empty_and_absent_workspaces_are_said(shelf: Shelf) -> None:
    words = shelf.pane.findChild(QLabel, "files-empty")
    assert words is not None
    assert words.text() == "Open a workspace to see its files."
    shelf.open(workspace("gone", folder_state="missing"))
    assert words.text() == "The folder of this workspace is missing: /w/gone"
    assert shelf.runtime.calls == []
    shelf.runtime.files.clear()
    shelf.switch(workspace("bare"))
    assert words.text() == "This workspace has no files yet."
    shelf.runtime.files["new.md"] = b""
    shelf.changed("new.md", space="bare")
    assert not words.isVisible()
    assert shelf.rows() == ["new.md"]


def test_a_late_answer_of_the_workspace_that_was_left_is_dropped(shelf: Shelf) -> None:
    shelf.open()

    async def hurry() -> None:
        shelf.runtime.gate = asyncio.Event()
        shelf.presenter.on_change(ChangeEvent(id=1, kind=Change.RESET, created_at=utc_now()))
        await asyncio.sleep(0)
        await shelf.presenter.show_workspace(None)
        shelf.runtime.gate.set()
        await shelf.settle()

    shelf.qloop.run(hurry())
    assert ("GET", "one:") in shelf.runtime.calls[1:]
    assert shelf.rows() == []
