"""Stands for the settings page until somebody opens it.

Most days nobody does, and the page with all its cards would cost every start its time and every hour its memory. Until
then this remembers what the page will have to know; afterwards it only passes things on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal

from holaboss_app.services.keychain import Keychain
from holaboss_app.services.profile import Profile
from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.services.tasks import Report
from holaboss_app.shell.main_window import MainWindow
from holaboss_client.client import RuntimeClient
from holaboss_client.config import ProviderCatalogue
from holaboss_client.events import ChangeEvent
from holaboss_client.workspaces import Workspace

if TYPE_CHECKING:
    from holaboss_app.panes.settings.presenter import SettingsPresenter


FRAME_MS: Final = 20
"""Until the page has been painted; building the cards of all providers takes longer than building the page."""


class SettingsDoor(QObject):
    """Signals and calls are those of `SettingsPresenter`; `show_section` is what opens it."""

    catalogue_changed = Signal(object)
    """A `ProviderCatalogue`."""
    theme_requested = Signal(str)
    scale_requested = Signal(float)
    closed = Signal()

    def __init__(
        self,
        window: MainWindow,
        keychain: Keychain,
        settings: SettingsStore,
        profile: Profile,
        report: Report,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._keychain = keychain
        self._settings = settings
        self._profile = profile
        self._report = report
        self._client: RuntimeClient | None = None
        self._gone: str | None = None
        """Why there is no client; None before the first runtime came or failed to."""
        self._workspace: Workspace | None = None
        self._catalogue: ProviderCatalogue | None = None
        self._presenter: SettingsPresenter | None = None

    def show_section(self, path: str) -> None:
        """As `SettingsPresenter.show_section`. From the first call on the window has the page."""
        if self._presenter is None:
            self._presenter = self._build()
        self._presenter.show_section(path)

    def attach(self, client: RuntimeClient) -> None:
        self._client, self._gone = client, None
        if self._presenter is not None:
            self._presenter.attach(client)

    def detach(self, reason: str) -> None:
        self._client, self._gone = None, reason
        if self._presenter is not None:
            self._presenter.detach(reason)

    def show_workspace(self, workspace: Workspace | None) -> None:
        self._workspace = workspace
        if self._presenter is not None:
            self._presenter.show_workspace(workspace)

    def know(self, catalogue: ProviderCatalogue) -> None:
        """The newest catalogue anybody has read. The page reads its own; this is what it begins with."""
        self._catalogue = catalogue

    def on_change(self, event: ChangeEvent) -> None:
        if self._presenter is not None:
            self._presenter.on_change(event)

    async def close(self) -> None:
        if self._presenter is not None:
            await self._presenter.close()

    def _build(self) -> SettingsPresenter:
        from holaboss_app.panes.settings.page import SettingsPage
        from holaboss_app.panes.settings.presenter import SettingsPresenter

        page = self._window.add_settings(SettingsPage)
        presenter = SettingsPresenter(page, self._keychain, self._settings, self._report)
        presenter.catalogue_changed.connect(self.catalogue_changed)
        presenter.theme_requested.connect(self.theme_requested)
        presenter.scale_requested.connect(self.scale_requested)
        presenter.closed.connect(self.closed)
        presenter.show_profile(self._profile)
        presenter.show_workspace(self._workspace)
        if self._client is not None:
            presenter.attach(self._client)
        elif self._gone is not None:
            presenter.detach(self._gone)
        if self._catalogue is not None:
            QTimer.singleShot(FRAME_MS, presenter, partial(presenter.start_with, self._catalogue))
        return presenter
