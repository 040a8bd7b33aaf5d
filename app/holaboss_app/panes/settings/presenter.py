"""Fills the settings page from the runtime, the keychain and our own settings, and carries changes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from holaboss_app.panes.settings.card_presenter import CardPresenter
from holaboss_app.panes.settings.connections_presenter import ConnectionsPresenter
from holaboss_app.panes.settings.custom_provider import NewProvider
from holaboss_app.panes.settings.key_field import KeyPlace
from holaboss_app.panes.settings.new_provider import NewProviderPresenter
from holaboss_app.panes.settings.page import SettingsPage
from holaboss_app.panes.settings.provider_actions import EXPECTED_ERRORS, ProviderActions, sentence
from holaboss_app.panes.settings.provider_card import ProviderCard
from holaboss_app.services.keychain import Keychain, KeychainState
from holaboss_app.services.profile import Profile
from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.services.tasks import Report, Tasks
from holaboss_app.theme.focus import set_waiting
from holaboss_app.theme.style import theme_notifier
from holaboss_client.client import RuntimeClient
from holaboss_client.config import (
    LocalServer,
    ModelTarget,
    PatchRuntimeConfig,
    ProviderCatalogue,
    PutBackgroundTasks,
)
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.workspaces import Workspace

CLOSING_LIMIT_S = 2.0


class SettingsPresenter(QObject):
    """The catalogue is read as soon as a runtime is attached, everything else when the page is first seen."""

    catalogue_changed = Signal(ProviderCatalogue)
    theme_requested = Signal(str)
    scale_requested = Signal(float)
    closed = Signal()

    def __init__(
        self, page: SettingsPage, keychain: Keychain, settings: SettingsStore, report: Report
    ) -> None:
        super().__init__(page)
        self._page = page
        self._settings = settings
        self._actions = ProviderActions(keychain)
        self._tasks = Tasks(report)
        self._connections = ConnectionsPresenter(page.connections, report)
        self._connections.open_url_requested.connect(QDesktopServices.openUrl)
        self._new = NewProviderPresenter(page.models.custom, self._actions, self._tasks)
        self._new.added.connect(self._added)
        self._new.key_refused.connect(self._key_refused)
        self._cards: dict[str, CardPresenter] = {}
        self._catalogue: ProviderCatalogue | None = None
        self._gone = ""
        self._seen = False
        self._wanted = ""
        """A card that was asked for before the catalogue named it."""
        self._listen()

    def _listen(self) -> None:
        page, models = self._page, self._page.models
        page.opened.connect(self._opened)
        page.closed.connect(self.closed)
        models.card_added.connect(self._card_added)
        models.reload_requested.connect(self._reload)
        models.move_keys_requested.connect(self._move_keys)
        models.keychain_check_requested.connect(self._try_keychain)
        models.local_servers.refresh_requested.connect(self._find_servers)
        models.local_servers.connect_requested.connect(self._connect_server)
        models.default_model.chosen.connect(self._choose_default)
        models.background.chosen.connect(self._choose_background)
        page.appearance.theme_chosen.connect(self.theme_requested)
        page.appearance.scale_chosen.connect(self.scale_requested)
        page.privacy.keychain_check_requested.connect(self._try_keychain)
        page.privacy.folder_requested.connect(_open_folder)
        theme_notifier().theme_changed.connect(self._show_theme)

    # What the shell tells

    def start_with(self, catalogue: ProviderCatalogue) -> None:
        """What somebody else has read already, until this has read its own."""
        if self._catalogue is None:
            self._catalogue = catalogue
            if self._page.isVisible():
                self._draw()

    def attach(self, client: RuntimeClient) -> None:
        """A runtime is there: read its catalogue, and save what could not be saved meanwhile."""
        self._actions.client = client
        self._connections.attach(client)
        self._gone = ""
        self._reload()
        if self._seen:
            self._read_facts()

    def detach(self, reason: str) -> None:
        """The runtime is gone. What is shown and typed stays; `reason` is empty where the window says it already."""
        self._actions.client = None
        self._connections.detach(reason)
        self._gone = reason
        self._tasks.cancel("load")
        self._page.models.runtime_gone(reason)
        self._page.about.show_runtime(self.tr("Not connected"))

    def show_workspace(self, workspace: Workspace | None) -> None:
        """The workspace on screen; its connections are shown."""
        self._connections.show_workspace(workspace)

    def on_change(self, event: ChangeEvent) -> None:
        self._connections.on_change(event)
        if event.kind in {Change.CONFIG, Change.RESET} and self._actions.client is not None:
            self._reload()

    def show_section(self, path: str) -> None:
        """`models`, `models/<provider id>`, `models/+`, `connections`, `appearance`, `privacy` or `about`."""
        self._draw()
        self._wanted = "" if self._page.show_section(path) else path

    def show_profile(self, profile: Profile) -> None:
        """Name the directories of this profile under Data & privacy."""
        self._page.privacy.show_places(
            (
                (self.tr("Application data"), profile.data_dir),
                (self.tr("Workspaces and runtime"), profile.sandbox_root),
                (self.tr("Logs"), profile.log_dir),
            )
        )

    async def close(self) -> None:
        """Save what still waits for its pause, then stop."""
        saves = [task for card in self._cards.values() if (task := card.flush()) is not None]
        if saves:
            await asyncio.wait(saves, timeout=CLOSING_LIMIT_S)
        await self._connections.close()
        await self._tasks.close()

    # The catalogue

    def _reload(self) -> None:
        if self._actions.client is not None:
            self._tasks.start(self._load(), key="load")

    async def _load(self) -> None:
        try:
            catalogue = None
            while catalogue is None:
                newest = self._catalogue
                catalogue = await self._actions.runtime.providers()
                if newest is not self._catalogue:
                    # A change was answered meanwhile; what was just read may be older than that.
                    catalogue = None
            self._take(catalogue)
        except EXPECTED_ERRORS as error:
            self._page.models.runtime_gone(sentence(error), can_retry=True)
            return
        for card in self._cards.values():
            card.resume()

    def _take(self, catalogue: ProviderCatalogue) -> None:
        self._catalogue = catalogue
        if self._page.isVisible():
            self._draw()
        self.catalogue_changed.emit(catalogue)

    def _draw(self) -> None:
        """Cards are made when someone looks at the page for the first time, not while the program starts."""
        catalogue = self._catalogue
        if catalogue is None:
            return
        places: dict[str, KeyPlace] = {view.id: self._actions.place(view) for view in catalogue.providers}
        self._page.models.show_catalogue(catalogue, places, self._actions.entry)
        for gone in self._cards.keys() - self._page.models.cards.keys():
            del self._cards[gone]
        if self._gone:
            self._page.models.runtime_gone(self._gone)
        if self._wanted and self._page.show_section(self._wanted):
            self._wanted = ""

    def _card_added(self, card: ProviderCard) -> None:
        self._cards[card.provider_id] = CardPresenter(card, self._actions, self._tasks, self._take)

    # When the page is looked at

    def _opened(self) -> None:
        self._show_theme()
        self._draw()
        if not self._seen:
            self._seen = True
            self._look_at_keychain()
            self._read_facts()

    def _show_theme(self) -> None:
        self._page.appearance.show_theme(self._settings.settings.theme)

    def _read_facts(self) -> None:
        if self._actions.client is not None:
            self._find_servers()
            self._tasks.start(self._reading_facts(), key="facts")

    async def _reading_facts(self) -> None:
        try:
            version = await self._actions.runtime.version()
            config = await self._actions.runtime.config()
        except EXPECTED_ERRORS:
            return
        words = self.tr("{version} (protocol {protocol}, database schema {schema})")
        self._page.about.show_runtime(
            words.format(version=version.version, protocol=version.protocol, schema=version.schema_version)
        )
        self._page.privacy.show_config(config.config_path)

    def _look_at_keychain(self) -> None:
        self._tasks.start(self._looking_at_keychain(), key="keychain")

    async def _looking_at_keychain(self) -> None:
        words = await self._actions.look_at_keychain()
        usable = self._actions.keychain_state is KeychainState.AVAILABLE
        self._page.privacy.show_keychain(words, usable=usable)
        self._page.models.keychain.say("" if usable else words)
        self._draw()
        self._page.keep_in_sight()

    def _try_keychain(self) -> None:
        self._tasks.start(self._trying_keychain(), key="keychain")

    async def _trying_keychain(self) -> None:
        """Look again; keys that it did not give out before are read once more."""
        buttons = (self._page.models.look_again, self._page.privacy.check)
        for button in buttons:
            set_waiting(button, True)
        try:
            await self._looking_at_keychain()
            if self._actions.keychain_state is KeychainState.AVAILABLE:
                await self._read_keys_again()
        finally:
            for button in buttons:
                set_waiting(button, False)

    async def _read_keys_again(self) -> None:
        providers = self._catalogue.providers if self._catalogue else []
        waiting = [view.id for view in providers if view.key_state == "keychain_missing"]
        if not waiting:
            return
        with suppress(*EXPECTED_ERRORS):  # the card of the provider still says that its key is missing
            for provider_id in waiting:
                await self._actions.send_key(provider_id)
        self._reload()

    # Choices over all providers

    def _find_servers(self) -> None:
        self._tasks.start(self._finding_servers(), key="servers")

    async def _finding_servers(self) -> None:
        card = self._page.models.local_servers
        card.set_searching()
        try:
            card.show_servers((await self._actions.runtime.local_servers()).items)
        except EXPECTED_ERRORS as error:
            card.fail(sentence(error))

    def _connect_server(self, server: LocalServer) -> None:
        card = self._page.models.cards.get(server.provider_id)
        view = card.view if card is not None else None
        fail = self._page.models.local_servers.fail
        self._change(lambda: self._actions.connect_local(server, view), fail)

    def _added(self, catalogue: ProviderCatalogue) -> None:
        self._take(catalogue)
        self._page.models.end_custom()

    def _key_refused(self, new: NewProvider, sentence: str) -> None:
        """The provider is there, its key is not: its card offers what can be done with the key."""
        self.show_section(f"models/{new.provider_id}")
        if (card := self._page.models.cards.get(new.provider_id)) is not None:
            card.form.key.take_back(new.key, sentence)

    def _move_keys(self) -> None:
        providers = self._catalogue.providers if self._catalogue else []
        ids = [view.id for view in providers if view.key_state == "literal"]
        self._tasks.start(self._moving_keys(ids), key="move")

    async def _moving_keys(self, ids: list[str]) -> None:
        async def move() -> ProviderCatalogue:
            for provider_id in ids:
                await self._actions.migrate_key(provider_id)
            return await self._actions.runtime.providers()

        button = self._page.models.move_all
        set_waiting(button, True)
        try:
            await self._changing(move, self._page.models.keychain.say)
        finally:
            set_waiting(button, False)

    def _choose_default(self, model: str) -> None:
        self._change(lambda: self._choosing_default(model), self._page.models.default_model.fail)

    async def _choosing_default(self, model: str) -> ProviderCatalogue:
        provider = model.partition("/")[0]
        patch = PatchRuntimeConfig(default_model=model, default_provider=provider)
        await self._actions.runtime.patch_config(patch)
        return await self._actions.runtime.providers()

    def _choose_background(self, target: ModelTarget) -> None:
        body = PutBackgroundTasks(provider=target.provider, model=target.model)
        fail = self._page.models.background.fail
        self._change(lambda: self._actions.runtime.put_background_tasks(body), fail)

    def _change(
        self, action: Callable[[], Awaitable[ProviderCatalogue]], fail: Callable[[str], None]
    ) -> None:
        self._tasks.start(self._changing(action, fail))

    async def _changing(
        self, action: Callable[[], Awaitable[ProviderCatalogue]], fail: Callable[[str], None]
    ) -> None:
        fail("")
        try:
            self._take(await action())
        except EXPECTED_ERRORS as error:
            fail(sentence(error))
            self._draw()


def _open_folder(folder: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
