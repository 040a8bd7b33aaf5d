"""What happens when a command is given, from a menu, a shortcut, a button or the palette."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from holaboss_app.core.shortcuts import Action
from holaboss_app.services.profile import Profile
from holaboss_app.services.tasks import Report, Tasks
from holaboss_app.shell.appearance import Appearance
from holaboss_app.shell.command_palette import Command, CommandPalette
from holaboss_app.shell.commands import Do, entries
from holaboss_app.shell.dialogs import ConfirmQuestion, NameQuestion, Question
from holaboss_app.shell.main_window import MainWindow
from holaboss_app.shell.presenter import AppPresenter
from holaboss_app.shell.providers import AWAY
from holaboss_app.shell.space import Space
from holaboss_app.shell.workspaces import Workspaces
from holaboss_client.workspaces import Workspace


class CommandRunner(QObject):
    quit_requested = Signal()

    def __init__(
        self,
        window: MainWindow,
        presenter: AppPresenter,
        workspaces: Workspaces,
        space: Space,
        appearance: Appearance,
        profile: Profile,
        report: Report,
    ) -> None:
        super().__init__(window)
        self._tasks = Tasks(report)
        self._window = window
        self._presenter = presenter
        self._workspaces = workspaces
        self._space = space
        self._profile = profile
        self._busy = False
        self._table: dict[str, Callable[[], object]] = {
            Action.NEW_SESSION: space.chat.new_session,
            Action.FOCUS_COMPOSER: partial(self._in_space, window.focus_chat),
            Action.FOCUS_REQUEST: partial(self._in_space, space.chat.focus_request),
            Action.PALETTE: self._open_palette,
            Action.SETTINGS: partial(presenter.open_settings, "models"),
            Action.SWITCH_WORKSPACE: partial(self._in_space, window.switcher.open_popover),
            Action.ZOOM_IN: partial(appearance.zoom, 1),
            Action.ZOOM_OUT: partial(appearance.zoom, -1),
            Action.ZOOM_RESET: partial(appearance.set_scale, 1.0),
            Action.NEW_WORKSPACE: self._ask_new,
            Do.RENAME_WORKSPACE: partial(self._with_current, self._ask_rename),
            Do.DELETE_WORKSPACE: partial(self._with_current, self._ask_delete),
            Action.TOGGLE_FILES: space.toggle_files,
            Do.SPACE: presenter.open_space,
            Do.RESTART_RUNTIME: presenter.restart_runtime,
            Do.OPEN_LOG: self._open_log,
            Do.ABOUT: partial(presenter.open_settings, "about"),
            Action.QUIT: self._ask_quit,
        }
        self._wire(space)

    def run(self, command: str) -> None:
        self._table[command]()

    async def close(self) -> None:
        await self._tasks.close()

    def _wire(self, space: Space) -> None:
        window = self._window
        window.commanded.connect(self.run)
        window.close_requested.connect(self._ask_quit)
        window.boot.quit_requested.connect(self.quit_requested)
        for source in (window.boot, window.rail.dot):
            source.open_log_requested.connect(self._open_log)
        window.boot.open_folder_requested.connect(_open_folder)
        switcher = window.switcher
        switcher.open_requested.connect(self._workspaces.open)
        switcher.create_requested.connect(self._ask_new)
        switcher.rename_requested.connect(self._ask_rename)
        switcher.delete_requested.connect(self._ask_delete)
        space.chat.busy_changed.connect(self._set_busy)
        space.chat.open_url_requested.connect(QDesktopServices.openUrl)

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy

    def _in_space(self, then: Callable[[], object]) -> None:
        self._presenter.open_space()
        then()

    def _open_log(self) -> None:
        _open_folder(self._profile.log_dir)

    def _open_palette(self) -> None:
        commands = [
            Command(entry.title, partial(self.run, entry.command), entry.icon, entry.keys)
            for entry in entries()
            if entry.command != Action.PALETTE
        ]
        commands += [
            Command(
                self.tr("Open {name}").format(name=workspace.name),
                partial(self._workspaces.open, workspace.id),
                "folder",
            )
            for workspace in self._workspaces.items
        ]
        CommandPalette(commands, self._window).show()

    def _found(self, workspace_id: str) -> Workspace | None:
        return next((item for item in self._workspaces.items if item.id == workspace_id), None)

    def _with_current(self, ask: Callable[[str], None]) -> None:
        if self._workspaces.current is not None:
            ask(self._workspaces.current.id)

    def _attempt(self, dialog: Question, change: Callable[[], Awaitable[object]]) -> None:
        left: list[int] = []
        dialog.finished.connect(left.append)  # it may be left while the change is on its way

        async def attempt() -> None:
            try:
                await change()
            except AWAY as error:
                if left:
                    self._window.toasts.show(str(error), level="warning")
                else:
                    dialog.fail(str(error))
            else:
                if not left:
                    dialog.accept()

        self._tasks.start(attempt())

    def _ask_new(self) -> None:
        title, action = self.tr("New workspace"), self.tr("Create")
        dialog = NameQuestion(self._window, "new-workspace", title, action, with_folder=True)

        def create(name: str, folder: str) -> None:
            self._attempt(dialog, partial(self._workspaces.create, name, folder))

        dialog.submitted.connect(create)
        dialog.open()

    def _ask_rename(self, workspace_id: str) -> None:
        if (workspace := self._found(workspace_id)) is None:
            return
        title, action = self.tr("Rename workspace"), self.tr("Rename")
        dialog = NameQuestion(self._window, "rename-workspace", title, action, text=workspace.name)

        def rename(name: str, _folder: str) -> None:
            self._attempt(dialog, partial(self._workspaces.rename, workspace_id, name))

        dialog.submitted.connect(rename)
        dialog.open()

    def _ask_delete(self, workspace_id: str) -> None:
        if (workspace := self._found(workspace_id)) is None:
            return
        title = self.tr("Delete {name}?").format(name=workspace.name)
        text = self.tr("Its conversations are deleted. The folder {path} stays unless you say otherwise.")
        option = self.tr("Delete the folder and all its files too")
        dialog = ConfirmQuestion(
            self._window,
            "delete-workspace",
            title,
            text.format(path=workspace.workspace_path),
            self.tr("Delete"),
            option=option,
        )

        def delete(with_files: bool) -> None:
            delete = partial(self._workspaces.delete, workspace_id, keep_files=not with_files)
            self._attempt(dialog, delete)

        dialog.confirmed.connect(delete)
        dialog.open()

    def _ask_quit(self) -> None:
        unsaved = self._space.files.unsaved()
        if unsaved:
            title = self.tr("Not every file is saved")
            text = self.tr("Quitting loses the changes in {files}.").format(files=", ".join(unsaved))
        elif self._busy:
            title = self.tr("An answer is still being written")
            text = self.tr("Quitting stops it. What it has said so far is kept.")
        else:
            self.quit_requested.emit()
            return
        dialog = ConfirmQuestion(self._window, "quit", title, text, self.tr("Quit"))
        dialog.confirmed.connect(self.quit_requested)
        dialog.open()


def _open_folder(folder: Path) -> None:
    """`folder`, or what is left of the way to it."""
    there = next((path for path in (folder, *folder.parents) if path.is_dir()), folder)
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(there)))
