"""Opening, saving, conflicts, and that typed text is never lost by accident."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.app.files.conftest import Shelf, workspace


def test_a_file_is_opened_once_edited_and_saved(shelf: Shelf, qtbot: QtBot) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.activate("AGENTS.md")
    assert shelf.pane.tabs.count() == 1
    assert shelf.editor.text == "# Policy\n\nBe kind.\n"
    assert not shelf.editor.save.isEnabled()
    shelf.type("# Policy\n\nBe brave.\n")
    assert shelf.pane.tabs.tabText(0) == "● AGENTS.md"
    assert shelf.presenter.unsaved() == ["AGENTS.md"]
    shelf.do(lambda: qtbot.keyClick(shelf.editor.area, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier))
    assert shelf.runtime.files["AGENTS.md"] == b"# Policy\n\nBe brave.\n"
    assert shelf.pane.tabs.tabText(0) == "AGENTS.md"
    assert shelf.editor.state.text() == "Saved"
    shelf.type("again")
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"] == b"again"


def test_windows_line_ends_stay(shelf: Shelf) -> None:
    shelf.open()
    shelf.expand("notes")
    shelf.activate("notes/today.md")
    shelf.type("one\ntwo\nthree\n")
    shelf.click("save-file")
    assert shelf.runtime.files["notes/today.md"] == b"one\r\ntwo\r\nthree\r\n"


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("picture.png", b"\x89PNG\0", "picture.png: This is not a text file, so it cannot be shown here."),
        ("big.txt", b"x" * 3_000_000, "big.txt: This file is 2.9 MB. Text up to 2.0 MB can be opened here."),
    ],
)
def test_what_cannot_be_shown_is_said(shelf: Shelf, path: str, content: bytes, words: str) -> None:
    shelf.runtime.files[path] = content
    shelf.open()
    shelf.activate(path)
    assert shelf.pane.problem.label.text() == words
    assert shelf.pane.tabs.count() == 0


def test_links_are_not_followed(shelf: Shelf) -> None:
    shelf.runtime.links.add("escape")
    shelf.open()
    shelf.runtime.calls.clear()
    shelf.activate("escape")
    assert "Links are not followed" in shelf.pane.problem.label.text()
    assert shelf.runtime.calls == []


def test_an_unedited_file_follows_the_disk(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.runtime.files["AGENTS.md"] = b"by the agent"
    shelf.changed("AGENTS.md")
    assert shelf.editor.text == "by the agent"
    assert not shelf.editor.dirty


def conflict(shelf: Shelf) -> None:
    """Both sides changed the file; the save finds out."""
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")
    shelf.runtime.files["AGENTS.md"] = b"theirs"
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"] == b"theirs"
    assert shelf.editor.in_conflict
    assert shelf.editor.text == "mine"


def test_a_conflict_can_be_decided_for_mine(shelf: Shelf) -> None:
    conflict(shelf)
    shelf.click("keep-mine")
    assert shelf.runtime.files["AGENTS.md"] == b"mine"
    assert not shelf.editor.in_conflict
    assert not shelf.editor.dirty


def test_keeping_mine_overwrites_only_what_was_seen(shelf: Shelf) -> None:
    conflict(shelf)
    shelf.runtime.files["AGENTS.md"] = b"newer still"
    shelf.click("keep-mine")
    assert shelf.runtime.files["AGENTS.md"] == b"newer still"
    assert shelf.editor.in_conflict
    shelf.click("keep-mine")
    assert shelf.runtime.files["AGENTS.md"] == b"mine"


def test_a_conflict_can_be_decided_for_theirs(shelf: Shelf) -> None:
    conflict(shelf)
    shelf.click("load-theirs")
    assert shelf.editor.text == "theirs"
    assert not shelf.editor.dirty
    assert not shelf.editor.in_conflict


def test_both_versions_can_be_seen(shelf: Shelf) -> None:
    conflict(shelf)
    shelf.click("show-both")
    assert shelf.editor.other.isVisible()
    assert shelf.editor.other.toPlainText() == "theirs"
    assert shelf.editor.other.isReadOnly()
    assert shelf.editor.text == "mine"
    assert shelf.editor.in_conflict


def test_a_change_on_disk_warns_before_any_save(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")
    shelf.runtime.files["AGENTS.md"] = b"theirs"
    shelf.changed("AGENTS.md")
    assert shelf.editor.in_conflict
    assert shelf.editor.text == "mine"


def test_the_same_change_on_both_sides_is_no_conflict(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("same")
    shelf.runtime.files["AGENTS.md"] = b"same"
    shelf.changed("AGENTS.md")
    assert not shelf.editor.in_conflict
    assert not shelf.editor.dirty


def test_a_removed_file_stays_open_and_saving_makes_it_again(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    kept = shelf.editor.text
    del shelf.runtime.files["AGENTS.md"]
    shelf.changed("AGENTS.md")
    assert shelf.editor.problem.label.text() == "This file was removed. Saving makes it again."
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"].decode() == kept


def test_saving_over_a_removed_file_asks_first(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")
    del shelf.runtime.files["AGENTS.md"]
    shelf.click("save-file")
    assert "AGENTS.md" not in shelf.runtime.files
    assert shelf.editor.problem.label.text() == "This file was removed. Saving makes it again."
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"] == b"mine"


def test_a_save_without_a_runtime_keeps_the_text(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")
    shelf.do(lambda: shelf.presenter.detach("The runtime is restarting."))
    shelf.click("save-file")
    assert "does not answer" in shelf.editor.problem.label.text()
    assert shelf.editor.text == "mine"
    shelf.attach()
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"] == b"mine"


def test_typing_during_a_save_stays_unsaved(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("first")
    editor = shelf.editor
    shelf.runtime.before_write = lambda: editor.area.insertPlainText(" and more")
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"] == b"first"
    assert editor.text == "first and more"
    assert editor.dirty


def close_tab(shelf: Shelf) -> None:
    button = shelf.pane.findChild(QAbstractButton, "close-file")
    assert button is not None
    shelf.do(button.click)


def test_closing_an_unsaved_file_asks(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")
    close_tab(shelf)
    assert shelf.pane.tabs.count() == 1
    shelf.click("keep-open")
    close_tab(shelf)
    shelf.click("save-and-close")
    assert shelf.pane.tabs.count() == 0
    assert shelf.runtime.files["AGENTS.md"] == b"mine"
    shelf.activate("AGENTS.md")
    shelf.type("other")
    close_tab(shelf)
    shelf.click("discard")
    assert shelf.pane.tabs.count() == 0
    assert shelf.runtime.files["AGENTS.md"] == b"mine"
    assert shelf.pane.tabs.isHidden()


def test_unsaved_text_waits_while_another_workspace_is_open(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")
    shelf.switch(workspace("two"))
    assert shelf.pane.tabs.count() == 0
    assert shelf.presenter.unsaved() == ["AGENTS.md"]
    shelf.switch(workspace("one"))
    assert shelf.editor.text == "mine"
    assert shelf.editor.dirty
    assert not shelf.editor.in_conflict
    shelf.click("save-file")
    assert shelf.runtime.files["AGENTS.md"] == b"mine"


def test_switching_there_and_back_at_once_ends_with_the_last(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")

    async def hurry() -> None:
        for name in ("two", "one", "two", "one"):
            await shelf.presenter.show_workspace(workspace(name))
        await shelf.settle()

    shelf.qloop.run(hurry())
    assert shelf.editor.text == "mine"
    assert shelf.pane.tabs.count() == 1
    assert "AGENTS.md" in shelf.rows()


def test_a_save_is_finished_before_the_workspace_is_left(shelf: Shelf) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    shelf.type("mine")

    async def hurry() -> None:
        shelf.editor.save.click()
        await shelf.presenter.show_workspace(workspace("two"))
        await shelf.settle()

    shelf.qloop.run(hurry())
    assert shelf.runtime.files["AGENTS.md"] == b"mine"
    assert ("PUT", "one:AGENTS.md") in shelf.runtime.calls
    assert shelf.presenter.unsaved() == []


def test_everything_that_takes_the_focus_has_a_name(shelf: Shelf) -> None:
    conflict(shelf)
    shelf.click("show-both")
    nameless = [
        f"{type(widget).__name__} {widget.objectName()}"
        for widget in shelf.pane.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
    ]
    assert nameless == []


def test_escape_leads_from_the_text_back_to_the_tree(shelf: Shelf, qtbot: QtBot) -> None:
    shelf.open()
    shelf.activate("AGENTS.md")
    left: list[bool] = []
    shelf.editor.left.connect(lambda: left.append(True))
    qtbot.keyClick(shelf.editor.area, Qt.Key.Key_Escape)
    assert left == [True]
    assert shelf.pane.findChild(QPushButton, "save-file") is not None
