"""Drives the first-run page: whether it is needed, which step, and what its buttons do."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from holaboss_app.services.tasks import Report, Tasks
from holaboss_app.shell.first_run import FirstRunPage
from holaboss_app.shell.providers import AWAY, Providers
from holaboss_app.shell.workspaces import Workspaces
from holaboss_client.config import LocalServer


class FirstStart(QObject):
    moved_on = Signal()
    """A step is done or skipped; look again what is to be shown."""

    def __init__(
        self, page: FirstRunPage, providers: Providers, workspaces: Workspaces, report: Report
    ) -> None:
        super().__init__(page)
        self._page = page
        self._providers = providers
        self._workspaces = workspaces
        self._tasks = Tasks(report)
        self._skipped = False
        self._choosing = False
        """Back at the first step, although something is connected."""
        self._looked = False
        page.connect_requested.connect(self._connect)
        page.create_requested.connect(self._create)
        page.skipped.connect(self._skip)
        page.back_requested.connect(self._go_back)
        page.look_again_requested.connect(providers.look_for_local_servers)
        providers.found.connect(self._found)

    @property
    def needed(self) -> bool:
        """Only while there is no workspace: later, the composer itself asks for a model."""
        return not self._workspaces.items

    def show_step(self) -> None:
        self._page.show_notices(self._notices())
        done = self._providers.any_connected or self._skipped
        if done and not self._choosing:
            self._page.show_workspace_step()
        elif self._providers.catalogue is not None:
            self._page.show_providers(self._providers.catalogue)
            if not self._looked:
                self._looked = True
                self._providers.look_for_local_servers()

    async def close(self) -> None:
        await self._tasks.close()

    def _notices(self) -> list[str]:
        catalogue = self._providers.catalogue
        if catalogue is None:
            return []
        names = [item.name for item in catalogue.providers if item.key_state == "literal"]
        if not names:
            return catalogue.notices
        told = self.tr("The key of {names} is written in plain text in runtime-config.json.")
        if len(names) > 1:
            told = self.tr("The keys of {names} are written in plain text in runtime-config.json.")
        return [*catalogue.notices, told.format(names=", ".join(names))]

    def _found(self, servers: list[LocalServer]) -> None:
        self._page.show_local_servers(servers)

    def _connect(self, provider_id: str, server: LocalServer | None) -> None:
        self._tasks.start(self._connecting(provider_id, server), key="connect")

    async def _connecting(self, provider_id: str, server: LocalServer | None) -> None:
        try:
            await self._providers.connect_found(provider_id, server)
        except AWAY as error:
            self._page.fail(str(error))
        else:
            self._choosing = False
            self.moved_on.emit()

    def _create(self, name: str) -> None:
        self._tasks.start(self._creating(name), key="create")

    async def _creating(self, name: str) -> None:
        try:
            await self._workspaces.create(name)
        except AWAY as error:
            self._page.fail(str(error))
        else:
            self.moved_on.emit()

    def _skip(self) -> None:
        self._skipped, self._choosing = True, False
        self.moved_on.emit()

    def _go_back(self) -> None:
        self._choosing = True
        self.moved_on.emit()
