"""The list of workspaces and the one that is open. Knows the runtime and the settings file, draws nothing."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.problems import RuntimeUnreachableError
from holaboss_client.workspaces import CreateWorkspace, PatchWorkspace, Workspace


class Workspaces(QObject):
    """Lists stay as they were while the runtime is away."""

    listed = Signal(list)
    """All of them, by name."""
    opened = Signal(object)
    """The open one changed, in itself or for another; `Workspace` or None."""

    def __init__(self, settings: SettingsStore, report: Report, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._tasks = Tasks(report)
        self._client: RuntimeClient | None = None
        self.items: list[Workspace] = []
        self.current: Workspace | None = None

    async def attach(self, client: RuntimeClient) -> None:
        """Load the list and open the workspace of last time, or the first.

        Raises:
            RuntimeUnreachableError: the runtime went away meanwhile.
        """
        self._client = client
        await self.refresh()

    def detach(self) -> None:
        self._client = None

    async def refresh(self) -> None:
        if self._client is None:
            return
        self._list((await self._client.workspaces()).items)
        wanted = self.current.id if self.current is not None else self._settings.settings.last_workspace
        self._open(self._found(wanted) or (self.items[0] if self.items else None))

    def open(self, workspace_id: str) -> None:
        """Switch. An id that is not in the list is ignored."""
        if (workspace := self._found(workspace_id)) is not None:
            self._open(workspace)

    async def create(self, name: str, folder: str = "") -> Workspace:
        """Make a workspace and open it. `folder` is absolute, or empty to let the runtime choose.

        Raises:
            ProblemError, RuntimeUnreachableError: there is none; the text says why.
        """
        client = self._present()
        made = await client.create_workspace(CreateWorkspace(name=name, workspace_path=folder or None))
        self._list([*(item for item in self.items if item.id != made.id), made])
        self._open(made)
        return made

    async def rename(self, workspace_id: str, name: str) -> None:
        """Give it another name.

        Raises:
            ProblemError, RuntimeUnreachableError: it keeps the old one; the text says why.
        """
        await self._present().patch_workspace(workspace_id, PatchWorkspace(name=name))
        await self.refresh()

    async def delete(self, workspace_id: str, *, keep_files: bool) -> None:
        """Remove it and its conversations; its folder goes too unless `keep_files`.

        Raises:
            ProblemError, RuntimeUnreachableError: it is still there; the text says why.
        """
        await self._present().delete_workspace(workspace_id, keep_files=keep_files)
        await self.refresh()

    def on_change(self, event: ChangeEvent) -> None:
        if event.kind in (Change.WORKSPACE, Change.RESET):
            self._tasks.start(self._refresh_quietly(), key="refresh")

    async def close(self) -> None:
        await self._tasks.close()

    def _present(self) -> RuntimeClient:
        if self._client is None:
            raise RuntimeUnreachableError(
                self.tr("The runtime is away at the moment. Try again when it is back.")
            )
        return self._client

    def _list(self, items: list[Workspace]) -> None:
        self.items = sorted(items, key=lambda item: (item.name.casefold(), item.id))
        self.listed.emit(self.items)

    async def _refresh_quietly(self) -> None:
        try:
            await self.refresh()
        except RuntimeUnreachableError:
            return  # attached again, it is loaded anew

    def _open(self, workspace: Workspace | None) -> None:
        if workspace == self.current:
            return
        self.current = workspace
        if workspace is not None:
            self._settings.update(last_workspace=workspace.id)
        self.opened.emit(workspace)

    def _found(self, workspace_id: str | None) -> Workspace | None:
        return next((item for item in self.items if item.id == workspace_id), None)
