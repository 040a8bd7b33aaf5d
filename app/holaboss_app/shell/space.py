"""The space: file pane and chat pane of the open workspace. Switching is one transaction; the latest switch
wins."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject

from holaboss_app.panes.chat.presenter import ChatPresenter
from holaboss_app.panes.files.presenter import FilesPresenter
from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.services.tasks import Report, Tasks
from holaboss_app.shell.main_window import MainWindow
from holaboss_client.client import RuntimeClient
from holaboss_client.events import ChangeEvent
from holaboss_client.workspaces import Workspace


class Space(QObject):
    """Owns both pane presenters and how their panes are laid out."""

    def __init__(
        self,
        window: MainWindow,
        files: FilesPresenter,
        chat: ChatPresenter,
        settings: SettingsStore,
        report: Report,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._tasks = Tasks(report)
        self._workspace: Workspace | None = None
        self._switching: asyncio.Task[None] | None = None
        self.files = files
        self.chat = chat
        window.splitter.splitterMoved.connect(self._keep_layout)
        chat.file_requested.connect(self._show_file)

    def attach(self, client: RuntimeClient) -> None:
        self.files.attach(client)
        self.chat.attach(client)

    def detach(self, reason: str) -> None:
        self.files.detach(reason)
        self.chat.detach(reason)

    def show(self, workspace: Workspace | None) -> None:
        """Switch both panes. A workspace that only got another name is not loaded again."""
        older, self._workspace = self._workspace, workspace
        if older is not None and workspace is not None and _same_place(older, workspace):
            return
        if workspace is not None:
            layout = self._settings.layout(workspace.id)
            self._window.arrange(files_visible=layout.files_visible, sizes=layout.sizes)
        self._switching = self._tasks.start(self._switch(workspace), key="switch")

    async def settled(self) -> None:
        """Wait until the latest switch is on screen."""
        if self._switching is not None:
            await asyncio.wait([self._switching])

    def toggle_files(self) -> None:
        if self._workspace is None:
            return
        layout = self._settings.layout(self._workspace.id)
        changed = layout.model_copy(update={"files_visible": not layout.files_visible})
        self._settings.save_layout(self._workspace.id, changed)
        self._window.arrange(files_visible=changed.files_visible, sizes=changed.sizes)

    def _show_file(self, path: str) -> None:
        """A file that the chat speaks of, in the file pane, which comes back if it was put away."""
        if self._workspace is not None and not self._settings.layout(self._workspace.id).files_visible:
            self.toggle_files()
        self.files.open_path(path)

    def on_change(self, event: ChangeEvent) -> None:
        self.files.on_change(event)
        self.chat.on_change(event)

    async def close(self) -> None:
        await self._tasks.close()
        await self.chat.close()
        await self.files.close()

    async def _switch(self, workspace: Workspace | None) -> None:
        await self.chat.show_workspace(workspace)
        await self.files.show_workspace(workspace)

    def _keep_layout(self) -> None:
        if self._workspace is not None:
            layout = self._settings.layout(self._workspace.id)
            sizes = self._window.splitter.sizes()
            self._settings.save_layout(self._workspace.id, layout.model_copy(update={"sizes": sizes}))


def _same_place(older: Workspace, newer: Workspace) -> bool:
    return (older.id, older.folder_state, older.workspace_path) == (
        newer.id,
        newer.folder_state,
        newer.workspace_path,
    )
