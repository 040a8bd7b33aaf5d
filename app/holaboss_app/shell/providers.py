"""What the whole window knows of providers: the catalogue, and the way of their keys from the keychain to
the runtime.

Editing a provider is the settings page's work.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from holaboss_app.services.keychain import Keychain, KeychainError
from holaboss_app.services.secret_handover import SecretHandover
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.config import LocalServer, ProviderCatalogue, PutProvider
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.problems import ProblemError, RuntimeUnreachableError

AWAY = (ProblemError, RuntimeUnreachableError)


class Providers(QObject):
    changed = Signal(object)
    """The new `ProviderCatalogue`."""
    told = Signal(str)
    """A sentence the person should see: the keychain did not give a key, the configuration was kept aside."""
    found = Signal(list)
    """`LocalServer`s that answer on this computer."""

    def __init__(self, keychain: Keychain, report: Report, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._keychain = keychain
        self._tasks = Tasks(report)
        self._handover = SecretHandover(keychain, self.told.emit, self._tasks)
        self._client: RuntimeClient | None = None
        self._notices: set[str] = set()
        self.catalogue: ProviderCatalogue | None = None

    @property
    def any_connected(self) -> bool:
        return self.catalogue is not None and any(item.connected for item in self.catalogue.providers)

    async def attach(self, client: RuntimeClient) -> None:
        """Load the catalogue; keys follow by themselves, because a keychain may take its time.

        Raises:
            RuntimeUnreachableError: the runtime went away meanwhile.
        """
        self._client = client
        self.take(await client.providers())
        self._tasks.start(self._send_keys(client), key="keys")
        self._handover.attach(client)

    def detach(self) -> None:
        self._client = None
        self._tasks.cancel("keys")
        self._handover.detach()

    def take(self, catalogue: ProviderCatalogue) -> None:
        """A newer catalogue, from wherever it came."""
        for notice in catalogue.notices:
            if notice not in self._notices:
                self._notices.add(notice)
                self.told.emit(notice)
        if catalogue != self.catalogue:
            self.catalogue = catalogue
            self.changed.emit(catalogue)

    def on_change(self, event: ChangeEvent) -> None:
        self._handover.on_change(event)
        if event.kind in (Change.CONFIG, Change.RESET):
            self._tasks.start(self._refresh(), key="refresh")

    def look_for_local_servers(self) -> None:
        self._tasks.start(self._look(), key="look")

    async def connect_found(self, provider_id: str, server: LocalServer | None) -> None:
        """Connect a server found on this computer, or, without one, the provider as the catalogue knows it.

        Raises:
            ProblemError, RuntimeUnreachableError: it is not connected; the text says why.
        """
        if self._client is None:
            raise RuntimeUnreachableError(self.tr("The runtime is not running at the moment."))
        body = PutProvider()
        if server is not None:
            body = PutProvider(
                name=server.name, kind="openai_compatible", base_url=server.base_url, models=server.models
            )
        self.take(await self._client.put_provider(provider_id, body))

    async def close(self) -> None:
        await self._tasks.close()

    async def _send_keys(self, client: RuntimeClient) -> None:
        if self.catalogue is None:
            return
        waiting = [item for item in self.catalogue.providers if item.key_state == "keychain_missing"]
        try:
            for provider in waiting:
                if (value := await self._keychain.read(provider.id)) is not None:
                    await client.put_secret(provider.id, value)
        except KeychainError as error:
            self.told.emit(str(error))
        except AWAY:
            return  # attached again, they are sent again
        await self._refresh()

    async def _refresh(self) -> None:
        if self._client is None:
            return
        try:
            self.take(await self._client.providers())
        except RuntimeUnreachableError:
            return

    async def _look(self) -> None:
        if self._client is None:
            self.found.emit([])
            return
        try:
            self.found.emit((await self._client.local_servers()).items)
        except AWAY:
            self.found.emit([])
