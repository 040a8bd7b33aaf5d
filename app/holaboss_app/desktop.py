"""One running desktop: everything that is constructed once, in the order that puts a window on screen first.

Imports are late on purpose: the runtime is started before the window is loaded, and the window is painted
before what is in it is loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from holaboss_app.services.profile import Profile
from holaboss_app.services.runtime_supervisor import RuntimeState, RuntimeSupervisor, Stage
from holaboss_app.services.tasks import Tasks

if TYPE_CHECKING:
    from holaboss_app.services.diagnostics import Diagnostics
    from holaboss_app.services.drafts import Drafts
    from holaboss_app.services.settings_store import SettingsStore
    from holaboss_app.shell.appearance import Appearance
    from holaboss_app.shell.command_runner import CommandRunner
    from holaboss_app.shell.main_window import MainWindow
    from holaboss_app.shell.presenter import AppPresenter
    from holaboss_app.shell.providers import Providers
    from holaboss_app.shell.space import Space
    from holaboss_app.shell.workspaces import Workspaces

PAINT_WITHIN_S = 2.0
"""A window that is never shown (minimised at start) must not hold the rest up."""


class Desktop(QObject):
    """`open`, live, `close`. What is declared below exists once `open` has returned."""

    quit_requested = Signal()
    given_up = Signal()
    """The runtime could not be started; `supervisor.state` says why."""
    milestone = Signal(str)
    """`first_paint`, `runtime_ready`, `interactive`; the second may come again after a restart."""

    window: MainWindow
    settings: SettingsStore
    appearance: Appearance
    presenter: AppPresenter
    workspaces: Workspaces
    providers: Providers
    space: Space
    commands: CommandRunner
    _drafts: Drafts

    def __init__(self, app: QApplication, profile: Profile, diagnostics: Diagnostics) -> None:
        super().__init__()
        self.profile = profile
        self.ready = asyncio.Event()
        """Set once the first page with something to do is on screen."""
        self.supervisor = RuntimeSupervisor(profile, self._runtime_changed, diagnostics.report)
        self._app = app
        self._diagnostics = diagnostics
        self._tasks = Tasks(diagnostics.report)
        self._shown = False
        self._built = False

    async def open(self) -> None:
        """Start the runtime, show the window, then build what is in it."""
        self.supervisor.start()
        await self.supervisor.greeted.wait()
        await self._show()
        self._build()
        self.presenter.runtime_changed(self.supervisor.state)

    async def close(self) -> None:
        """Put everything down; no process of ours is left when this returns."""
        await self._tasks.close()
        if self._shown:
            self.window.hide()
        if self._built:
            self._built = False
            self.settings.update(geometry=self.window.geometry_text())
            await self.commands.close()
            await self.presenter.close()
            await self._drafts.close()
            await self.settings.close()
        await self.supervisor.stop()
        if self._shown:
            self.window.deleteLater()

    def come_forward(self) -> None:
        """Another start asked for this window."""
        if self._shown:
            self.window.showNormal()
            self.window.raise_()
            self.window.activateWindow()

    def once_ready(self, then: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run `then` when there is something to work with; an error is reported."""

        async def wait() -> None:
            await self.ready.wait()
            await then()

        self._tasks.start(wait())

    def _runtime_changed(self, state: RuntimeState) -> None:
        if state.stage == Stage.HEALTHY:
            self.milestone.emit("runtime_ready")
        if self._built:
            self.presenter.runtime_changed(state)
        if state.stage == Stage.GAVE_UP:
            self.given_up.emit()

    def _usable(self) -> None:
        self.ready.set()
        self.milestone.emit("interactive")

    async def _show(self) -> None:
        from holaboss_app.services.first_look import first_look
        from holaboss_app.shell.main_window import MainWindow
        from holaboss_app.theme import style

        look = first_look(self.profile.settings_file)
        style.apply(self._app, look.theme, look.text_scale)
        self.window = MainWindow()
        self._shown = True
        painted = asyncio.Event()
        self.window.first_painted.connect(painted.set)
        self.window.first_painted.connect(lambda: self.milestone.emit("first_paint"))
        self.window.close_requested.connect(self._closed_early)
        self.window.boot.quit_requested.connect(self._closed_early)
        self.window.restore_geometry_text(look.geometry)
        self.window.show()
        with suppress(TimeoutError):
            async with asyncio.timeout(PAINT_WITHIN_S):
                await painted.wait()

    def _build(self) -> None:
        from holaboss_app.panes.chat.pane import ChatPane
        from holaboss_app.panes.chat.presenter import ChatPresenter
        from holaboss_app.panes.files.pane import FilesPane
        from holaboss_app.panes.files.presenter import FilesPresenter
        from holaboss_app.services.drafts import Drafts
        from holaboss_app.services.keychain import Keychain
        from holaboss_app.services.settings_store import SettingsStore
        from holaboss_app.shell.appearance import Appearance
        from holaboss_app.shell.command_runner import CommandRunner
        from holaboss_app.shell.presenter import AppPresenter
        from holaboss_app.shell.providers import Providers
        from holaboss_app.shell.settings_door import SettingsDoor
        from holaboss_app.shell.space import Space
        from holaboss_app.shell.workspaces import Workspaces

        report, window = self._diagnostics.report, self.window
        keychain = Keychain(self.profile.suffix)
        self.settings = SettingsStore(self.profile.settings_file)
        self.appearance = Appearance(self._app, self.settings)
        self._drafts = Drafts(self.profile.drafts_file, self.profile.pasted_dir)
        files_pane, chat_pane = FilesPane(), ChatPane()
        window.set_panes(files_pane, chat_pane)
        self.workspaces = Workspaces(self.settings, report, window)
        self.providers = Providers(keychain, report, window)
        files, chat = FilesPresenter(files_pane, report), ChatPresenter(chat_pane, self._drafts, report)
        self.space = Space(window, files, chat, self.settings, report)
        settings = SettingsDoor(window, keychain, self.settings, self.profile, report)
        settings.theme_requested.connect(self.appearance.set_theme)
        settings.scale_requested.connect(self.appearance.set_scale)
        self.presenter = AppPresenter(
            window, self.supervisor, self.workspaces, self.providers, self.space, settings, report
        )
        self.commands = CommandRunner(
            window, self.presenter, self.workspaces, self.space, self.appearance, self.profile, report
        )
        self.commands.quit_requested.connect(self.quit_requested)
        self.presenter.ready.connect(self._usable)
        self._diagnostics.on_error = self._tell
        self._built = True
        self._mention()

    def _mention(self) -> None:
        """What happened before this start."""
        if self.settings.notice is not None:
            self.window.toasts.show(self.settings.notice, level="warning")
        if self._diagnostics.crashed_before:
            crashed = self.tr("Holaboss ended unexpectedly last time. The log folder says where.")
            self.window.toasts.show(crashed, level="info")

    def _closed_early(self) -> None:
        if not self._built:
            self.quit_requested.emit()

    def _tell(self, error: BaseException) -> None:
        from holaboss_client.problems import RuntimeUnreachableError

        if isinstance(error, RuntimeUnreachableError):
            self.presenter.suspect()
        else:
            what = str(error) or type(error).__name__
            self.window.toasts.show(self.tr("Something went wrong: {what}").format(what=what))
