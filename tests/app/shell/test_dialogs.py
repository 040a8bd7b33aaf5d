"""The questions of the shell: what Enter does, and a change that ends after its dialog was left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QWidget

from holaboss_app.core.shortcuts import Action
from holaboss_app.desktop import Desktop
from holaboss_app.services.diagnostics import Diagnostics
from holaboss_app.services.profile import Profile
from holaboss_app.shell.dialogs import ConfirmQuestion, NameQuestion
from holaboss_app.shell.main_window import MainWindow
from holaboss_app.shell.switcher import WorkspacePopover
from holaboss_client.workspaces import Workspace
from tests.app.conftest import QLoop
from tests.app.shell.conftest import workspace_record

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def window(qapp: QApplication) -> Iterator[MainWindow]:
    window = MainWindow()
    window.set_panes(QWidget(), QWidget())
    window.show()
    yield window
    window.boot.settle()
    window.hide()
    window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_enter_does_not_destroy(window: MainWindow) -> None:
    dialog = ConfirmQuestion(window, "delete-workspace", "Delete?", "Text", "Delete")
    confirmed: list[bool] = []
    ended: list[int] = []
    dialog.confirmed.connect(confirmed.append)
    dialog.finished.connect(ended.append)
    dialog.open()
    assert dialog.focusWidget() is dialog.findChild(QPushButton, "delete-workspace-cancel")
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert (confirmed, ended) == ([], [0])


def test_enter_in_a_name_is_the_action(window: MainWindow) -> None:
    dialog = NameQuestion(window, "rename-workspace", "Rename", "Rename", text="Alpha")
    named: list[str] = []
    dialog.submitted.connect(lambda name, _folder: named.append(name))
    dialog.open()
    QTest.keyClick(dialog.findChild(QLineEdit, "rename-workspace-name"), Qt.Key.Key_Return)
    assert named == ["Alpha"]
    dialog.reject()


def test_a_name_that_is_too_long_is_whole_in_the_tip_and_never_markup(window: MainWindow) -> None:
    long = "<b>A workspace</b> " + "with a very long name " * 4
    items = [Workspace.model_validate(workspace_record(1, long))]
    window.switcher.show_workspaces(items, items[0])
    assert "&lt;b&gt;A workspace" in window.switcher.toolTip()
    popover = WorkspacePopover(items, items[0], window)
    tips = [child.toolTip() for child in popover.findChildren(QWidget)]
    assert any(tip.startswith("<p>&lt;b&gt;A workspace") for tip in tips)
    window.switcher.show_workspaces([], None)
    assert "&lt;" not in window.switcher.toolTip()
    assert "Switch workspace" in window.switcher.toolTip()
    popover.deleteLater()


@pytest.mark.allow_log("holaboss_app.qt", "propagateSizeHints")  # the screen in memory says so of dialogs
@pytest.mark.parametrize("name", ["Alpha", "Taken"])
def test_a_change_that_ends_after_its_dialog_was_left_is_no_error(
    qloop: QLoop, qapp: QApplication, tmp_path: Path, name: str
) -> None:
    profile = Profile.at(tmp_path / "profile")
    profile.create()
    errors: list[BaseException] = []

    async def scenario() -> None:
        desktop = Desktop(qapp, profile, diagnostics)
        await desktop.open()
        try:
            await desktop.ready.wait()
            diagnostics.on_error = errors.append
            folder = tmp_path / "full"
            folder.mkdir()
            (folder / "something").write_text("")
            desktop.commands.run(Action.NEW_WORKSPACE)
            dialog = desktop.window.findChild(NameQuestion, "new-workspace")
            assert dialog is not None
            if name == "Taken":
                dialog._chosen(str(folder))
            dialog.findChild(QLineEdit, "new-workspace-name").setText(name)
            dialog.submit()
            dialog.reject()
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            while desktop.commands._tasks._tasks:
                await asyncio.wait(set(desktop.commands._tasks._tasks))
            made = [item.name for item in desktop.workspaces.items]
            toasts = [toast.text for toast in desktop.window.toasts._shown]
            assert (made, len(toasts)) == (([], 1) if name == "Taken" else (["Alpha"], 0))
        finally:
            await desktop.close()

    diagnostics = Diagnostics(profile.log_dir)
    try:
        qloop.run(scenario())
    finally:
        diagnostics.close()
    assert errors == []
