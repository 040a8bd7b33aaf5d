"""The presenter of the whole window: one client, one change feed, and which page is shown.

It follows the supervisor. While a runtime is there, everything is attached to a client of it; while none is
there, everything is detached and the window says why.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from holaboss_app.services.runtime_supervisor import Connection, RuntimeState, RuntimeSupervisor, Stage
from holaboss_app.services.tasks import Report, Tasks
from holaboss_app.services.watched_transport import SILENT_AFTER_S, WatchedTransport
from holaboss_app.shell.failures import failure_of, told
from holaboss_app.shell.first_start import FirstStart
from holaboss_app.shell.main_window import MainWindow, Page
from holaboss_app.shell.providers import Providers
from holaboss_app.shell.runtime_status import title_of
from holaboss_app.shell.settings_door import SettingsDoor
from holaboss_app.shell.space import Space
from holaboss_app.shell.workspaces import Workspaces
from holaboss_client.client import RuntimeClient
from holaboss_client.config import ProviderCatalogue
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.problems import RuntimeUnreachableError
from holaboss_client.workspaces import Workspace

PROBE_PAUSES_S = (0.5, 1.0, 2.0, 5.0)
LOG_LINES = 30


class AppPresenter(QObject):
    """Created after the first paint, when the panes exist; `runtime_changed` drives it."""

    ready = Signal()
    """For the first time something can be done in the window."""

    def __init__(
        self,
        window: MainWindow,
        supervisor: RuntimeSupervisor,
        workspaces: Workspaces,
        providers: Providers,
        space: Space,
        settings: SettingsDoor,
        report: Report,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._supervisor = supervisor
        self._workspaces = workspaces
        self._providers = providers
        self._space = space
        self._settings = settings
        self._tasks = Tasks(report)
        self._connection: Connection | None = None
        self._loaded = False
        self._in_settings = False
        self._probing: asyncio.Task[None] | None = None
        self.client: RuntimeClient | None = None
        self.first_start = FirstStart(window.first_run, providers, workspaces, report)
        self._wire()

    def open_settings(self, section: str) -> None:
        """Show the settings page at `section` (`models/openai_direct`); it needs no runtime."""
        self._in_settings = True
        self._settings.show_section(section)
        self._window.show_page(Page.SETTINGS)

    def open_space(self) -> None:
        """Leave the settings for whatever is to be done now."""
        self._in_settings = False
        self._route()

    def restart_runtime(self) -> None:
        self._tasks.start(self._supervisor.restart(), key="restart")

    def suspect(self) -> None:
        """Somebody got no answer yet: find out whether the runtime is only slow. One question at a time, else
        those who ask together would never let it end."""
        asking = self._probing is not None and not self._probing.done()
        if self.client is not None and self._supervisor.state.stage == Stage.HEALTHY and not asking:
            self._probing = self._tasks.start(self._probe(self.client), key="probe")

    async def close(self) -> None:
        """Let go of everything; the runtime itself is the supervisor's."""
        await self._tasks.close()
        await self.first_start.close()
        await self._providers.close()
        await self._workspaces.close()
        await self._space.close()
        await self._settings.close()
        if self.client is not None:
            await self.client.aclose()

    # The runtime comes and goes

    def runtime_changed(self, state: RuntimeState) -> None:
        """The supervisor is somewhere else now."""
        reason = told(state, self._supervisor.root)
        self._window.rail.dot.show_state(replace(state, reason=reason))
        connection = state.connection if state.stage in (Stage.HEALTHY, Stage.DEGRADED) else None
        if connection != self._connection:
            self._detach(reason or title_of(state.stage))
            self._connection = connection
            if connection is not None:
                watched = WatchedTransport(self.suspect, after_s=SILENT_AFTER_S)
                self.client = RuntimeClient(connection.url, connection.token, transport=watched)
                self._tasks.start(self._follow_feed(self.client), key="feed")
        self._show_runtime(state, reason)

    def _show_runtime(self, state: RuntimeState, reason: str) -> None:
        if state.stage == Stage.GAVE_UP:
            log, root = self._supervisor.log, self._supervisor.root
            self._window.banner.hide()
            self._settings.detach(reason or title_of(state.stage))
            self._window.boot.show_failure(failure_of(state, log.tail(LOG_LINES), log.path, root))
            self._window.show_page(Page.BOOT)
        elif state.stage == Stage.HEALTHY:
            self._window.banner.hide()
        elif self._loaded:
            kept = self.tr("{what}. What you write is kept.").format(what=title_of(state.stage))
            self._window.banner.say(kept)
            self._route()
        else:
            self._window.boot.show_preparing(reason if state.stage == Stage.BACKOFF else "")
            self._route()

    def _detach(self, reason: str) -> None:
        for key in ("feed", "probe"):
            self._tasks.cancel(key)
        client, self.client = self.client, None
        if client is None:
            return
        self._providers.detach()
        self._workspaces.detach()
        self._space.detach(reason)
        # Once something was loaded, the banner above every page says it; a second sentence would only repeat it.
        self._settings.detach("" if self._loaded else reason)
        self._tasks.start(client.aclose())

    async def _follow_feed(self, client: RuntimeClient) -> None:
        """The one change feed. Everything is loaded once it is open, so that no change falls between."""
        loaded = False
        async for change in client.changes():  # which ends by itself after a SHUTDOWN
            if change is None:
                self._supervisor.recovered()
                if not loaded:
                    loaded = True
                    await self._load(client)
            elif change.kind != Change.SHUTDOWN:
                self._fan_out(change)

    async def _load(self, client: RuntimeClient) -> None:
        try:
            await self._providers.attach(client)
            self._space.attach(client)
            self._settings.attach(client)
            await self._workspaces.attach(client)
        except RuntimeUnreachableError:
            return  # its end is on the way through the supervisor
        self._window.boot.settle()
        first, self._loaded = not self._loaded, True
        self._route()
        await self._space.settled()
        if first:
            self.ready.emit()

    def _fan_out(self, event: ChangeEvent) -> None:
        if event.kind == Change.NOTICE:
            self._window.toasts.show(str(event.payload.get("message", "")), level="info")
        self._providers.on_change(event)
        self._workspaces.on_change(event)
        self._space.on_change(event)
        self._settings.on_change(event)

    async def _probe(self, client: RuntimeClient) -> None:
        attempt = 0
        while not await client.healthy():
            self._supervisor.degraded(self.tr("The runtime does not answer at the moment."))
            await asyncio.sleep(PROBE_PAUSES_S[min(attempt, len(PROBE_PAUSES_S) - 1)])
            attempt += 1
        self._supervisor.recovered()

    # Pages

    def _route(self) -> None:
        if self._in_settings:
            self._window.show_page(Page.SETTINGS)
        elif not self._loaded or self._supervisor.state.stage == Stage.GAVE_UP:
            self._window.show_page(Page.BOOT)
        elif self.first_start.needed:
            self.first_start.show_step()
            self._window.show_page(Page.FIRST_RUN)
        elif self._window.page != Page.SPACE:
            self._window.show_page(Page.SPACE)
            self._window.focus_chat()

    def _wire(self) -> None:
        window = self._window
        window.rail.settings_requested.connect(lambda: self.open_settings("models"))
        window.rail.space_requested.connect(self.open_space)
        for restart in (window.rail.dot, window.banner, window.boot):
            restart.restart_requested.connect(self.restart_runtime)
        window.first_run.settings_requested.connect(self.open_settings)
        self.first_start.moved_on.connect(self._route)
        self._settings.closed.connect(self.open_space)
        self._settings.catalogue_changed.connect(self._providers.take)
        self._space.chat.settings_requested.connect(self.open_settings)
        self._providers.changed.connect(self._catalogue_changed)
        self._providers.told.connect(self._warn)
        self._workspaces.opened.connect(self._opened)
        self._workspaces.listed.connect(self._listed)

    def _warn(self, sentence: str) -> None:
        self._window.toasts.show(sentence, level="warning")

    def _catalogue_changed(self, catalogue: ProviderCatalogue) -> None:
        self._space.chat.set_catalogue(catalogue)
        self._settings.know(catalogue)
        if self._window.page == Page.FIRST_RUN:
            self.first_start.show_step()

    def _opened(self, workspace: Workspace | None) -> None:
        self._space.show(workspace)
        self._settings.show_workspace(workspace)
        self._listed()

    def _listed(self) -> None:
        self._window.switcher.show_workspaces(self._workspaces.items, self._workspaces.current)
        if self._loaded and self._window.page in (Page.SPACE, Page.FIRST_RUN):
            self._route()
