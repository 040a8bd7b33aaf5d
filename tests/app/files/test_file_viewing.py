"""Pictures in tabs, files that something else asks for, and rows that are dragged out of the tree."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QTabBar

from holaboss_app.core.attachments import PATHS_MIME
from holaboss_app.panes.files.editor import FileEditor
from holaboss_app.panes.files.picture import PictureView
from tests.app.files.conftest import Shelf, workspace


def png(colour: str, width: int = 640, height: int = 480) -> bytes:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(buffer.data().data())


@pytest.fixture
def gallery(shelf: Shelf) -> Shelf:
    shelf.runtime.files["art.png"] = png("#2277cc")
    shelf.open()
    return shelf


def shown(shelf: Shelf) -> PictureView:
    view = shelf.pane.tabs.currentWidget()
    assert isinstance(view, PictureView)
    return view


def facts(view: PictureView) -> str:
    return view.findChild(QLabel).text()


def test_a_picture_is_shown_in_a_tab(gallery: Shelf) -> None:
    gallery.activate("art.png")
    view = shown(gallery)
    assert facts(view).startswith("640 × 480 pixels, ")
    assert view.accessibleName().startswith("art.png, 640 × 480")
    shot = view.grab().toImage()
    assert shot.pixelColor(shot.width() // 2, shot.height() // 2) == QColor("#2277cc")
    assert view.hasFocus()
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert gallery.pane.tree.hasFocus()


def test_a_picture_follows_its_file_and_says_when_it_is_gone(gallery: Shelf) -> None:
    gallery.activate("art.png")
    gallery.runtime.files["art.png"] = png("#cc3300", 20, 10)
    gallery.changed("art.png")
    assert facts(shown(gallery)).startswith("20 × 10 pixels")
    del gallery.runtime.files["art.png"]
    gallery.changed("art.png")
    assert facts(shown(gallery)) == "This file is not there any more."


def test_what_only_looks_like_a_picture_is_refused_in_words(gallery: Shelf) -> None:
    gallery.runtime.files["fake.png"] = b"\x89PNG\r\n\x1a\n garbage \xff"
    gallery.changed("fake.png")
    gallery.activate("fake.png")
    assert (
        gallery.pane.problem.label.text() == "fake.png: This is not a text file, so it cannot be shown here."
    )
    assert gallery.pane.tabs.count() == 0


def test_a_picture_of_enormous_size_is_not_decoded(gallery: Shelf) -> None:
    gallery.runtime.files["huge.png"] = png("#000000", 20_000, 2_001)
    gallery.changed("huge.png")
    gallery.activate("huge.png")
    assert gallery.pane.tabs.count() == 0


def test_a_tab_with_a_picture_is_closed_and_opened_again(gallery: Shelf) -> None:
    gallery.activate("art.png")
    close = gallery.pane.tabs.tabBar().tabButton(0, QTabBar.ButtonPosition.RightSide)
    assert isinstance(close, QAbstractButton)
    gallery.do(close.click)
    assert gallery.pane.tabs.count() == 0
    gallery.activate("art.png")
    gallery.activate("art.png")
    assert gallery.pane.tabs.count() == 1
    gallery.switch(workspace("two"))
    assert gallery.pane.tabs.count() == 0


def test_a_file_that_the_chat_speaks_of_is_opened_and_found_in_the_tree(gallery: Shelf) -> None:
    gallery.do(lambda: gallery.presenter.open_path("AGENTS.md"))
    assert gallery.editor.document.path == "AGENTS.md"
    assert gallery.pane.model.entry(gallery.pane.tree.currentIndex()).path == "AGENTS.md"
    gallery.do(lambda: gallery.presenter.open_path("notes/deep/far.txt"))
    assert gallery.editor.document.path == "notes/deep/far.txt", "also where its folder was never opened"
    gallery.do(lambda: gallery.presenter.open_path("AGENTS.md"))
    assert gallery.pane.tabs.count() == 2
    gallery.do(lambda: gallery.presenter.open_path("gone.md"))
    assert gallery.pane.problem.label.text().startswith("gone.md: There is no file")


def test_a_folder_that_the_chat_speaks_of_is_opened_in_the_tree(gallery: Shelf) -> None:
    gallery.do(lambda: gallery.presenter.open_path("notes"))
    assert gallery.pane.tree.isExpanded(gallery.pane.model.index_of("notes"))
    assert gallery.pane.tabs.count() == 0


def test_a_file_of_a_message_cannot_be_changed(gallery: Shelf) -> None:
    path = ".holaboss/input-attachments/b/notes.txt"
    gallery.runtime.files[path] = b"what was sent"
    gallery.do(lambda: gallery.presenter.open_path(path))
    editor = gallery.pane.tabs.currentWidget()
    assert isinstance(editor, FileEditor)
    assert editor.area.isReadOnly()
    assert "sent with a message" in editor.read_only.label.text()


def test_rows_are_dragged_as_paths(gallery: Shelf) -> None:
    model = gallery.pane.model
    data = model.mimeData([model.index_of("AGENTS.md"), model.index_of("notes")])
    assert bytes(data.data(PATHS_MIME).data()).decode() == "AGENTS.md\nnotes/"
    assert model.flags(model.index_of("AGENTS.md")) & Qt.ItemFlag.ItemIsDragEnabled
    assert gallery.pane.tree.dragEnabled()


def current(shelf: Shelf) -> str:
    """The row that is selected in the tree, which must be on screen."""
    tree = shelf.pane.tree
    shelf.do(tree.doItemsLayout)
    index = tree.currentIndex()
    assert tree.viewport().rect().contains(tree.visualRect(index)), "it is in view"
    return shelf.pane.model.entry(index).path


def test_a_file_in_folders_nobody_has_opened_is_found_in_the_tree(gallery: Shelf) -> None:
    for number in range(80):
        gallery.runtime.files[f"many/file-{number:02}.txt"] = b"x"
    gallery.changed("many/file-00.txt")
    gallery.do(lambda: gallery.presenter.open_path("many/file-77.txt"))
    assert current(gallery) == "many/file-77.txt"
    assert gallery.editor.area.hasFocus(), "the keyboard is in the file"
    gallery.do(lambda: gallery.presenter.open_path("notes/deep/far.txt"))
    assert current(gallery) == "notes/deep/far.txt"
    listed = [path for _, path in gallery.runtime.calls if path in ("one:notes", "one:notes/deep")]
    assert listed == ["one:notes", "one:notes/deep"], "each folder is read once"


def test_a_file_that_was_just_made_is_found_too(gallery: Shelf) -> None:
    gallery.expand("notes")
    gallery.runtime.files["notes/new/report.md"] = b"# New"
    gallery.do(lambda: gallery.presenter.open_path("notes/new/report.md"))
    assert current(gallery) == "notes/new/report.md"
    gallery.do(lambda: gallery.presenter.open_path("notes/deep"))
    assert current(gallery) == "notes/deep"
    assert gallery.pane.tree.isExpanded(gallery.pane.model.index_of("notes/deep"))
    assert gallery.pane.tree.hasFocus()


def test_what_no_folder_lists_is_opened_without_a_row(gallery: Shelf) -> None:
    path = ".holaboss/input-attachments/b/notes.txt"
    gallery.runtime.files[path] = b"sent"
    hidden = gallery.runtime._folder
    gallery.runtime._folder = lambda folder: (  # the runtime keeps its own state out of listings
        hidden(folder) | {"entries": [row for row in hidden(folder)["entries"] if row["name"] != ".holaboss"]}
    )
    gallery.do(lambda: gallery.presenter.open_path(path))
    assert gallery.editor.document.path == path
    assert not gallery.pane.tree.currentIndex().isValid()


def test_another_workspace_that_comes_meanwhile_keeps_its_tree(gallery: Shelf) -> None:
    gallery.runtime.gate = asyncio.Event()
    gate = gallery.runtime.gate

    async def run() -> None:
        gallery.presenter.open_path("notes/deep/far.txt")
        switch = asyncio.ensure_future(gallery.presenter.show_workspace(workspace("two")))
        await asyncio.sleep(0)
        gate.set()
        await switch
        await gallery.settle()

    gallery.qloop.run(run())
    assert gallery.pane.tabs.count() == 0
    assert not gallery.pane.tree.currentIndex().isValid()


def test_a_file_that_is_open_is_shown_without_waiting_for_the_tree(gallery: Shelf) -> None:
    gallery.do(lambda: gallery.presenter.open_path("notes/today.md"))
    gallery.activate("AGENTS.md")
    gallery.do(gallery.pane.model.clear)
    gallery.runtime.down = True
    gallery.do(lambda: gallery.presenter.open_path("notes/today.md"))
    assert gallery.editor.document.path == "notes/today.md"
