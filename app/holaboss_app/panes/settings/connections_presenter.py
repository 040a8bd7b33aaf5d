"""Fills the Connections section from the runtime, live, and carries out what a card is asked for.

It looks only while somebody looks at it, and again whenever the change feed says that a server is different. What is
allowed is the command that was on screen when the button was pressed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QCoreApplication, QObject, QUrl, Signal
from PySide6.QtWidgets import QMessageBox

from holaboss_app.panes.settings.connection_card import Act, ConnectionCard
from holaboss_app.panes.settings.connections_section import ConnectionsSection
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.mcp import McpServerList, McpServerView
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.workspaces import Workspace

PLAN_FILE = "workspace.yaml"
AWAY = (ProblemError, RuntimeUnreachableError)


class ConnectionsPresenter(QObject):
    """`open_url_requested` comes after a person agreed to the address."""

    open_url_requested = Signal(QUrl)

    def __init__(self, section: ConnectionsSection, report: Report) -> None:
        super().__init__(section)
        self._section = section
        self._tasks = Tasks(report)
        self._client: RuntimeClient | None = None
        self._workspace: Workspace | None = None
        self._stale = True
        self._busy: set[str] = set()
        section.shown.connect(self._look)
        section.reload_requested.connect(self._reload)
        section.acted.connect(self._act)

    # What its owner tells

    def attach(self, client: RuntimeClient) -> None:
        self._client = client
        self._reload()

    def detach(self, reason: str) -> None:
        self._client = None
        self._tasks.cancel("load")
        self._section.runtime_gone(reason)

    def show_workspace(self, workspace: Workspace | None) -> None:
        """Another workspace is on screen, or none."""
        before = self._workspace.id if self._workspace is not None else None
        self._workspace = workspace
        if workspace is None:
            self._tasks.cancel("load")
            self._section.show_nothing()
        elif workspace.id != before:
            self._busy.clear()
            self._section.show_loading(workspace.name)
            self._reload()

    def on_change(self, event: ChangeEvent) -> None:
        if event.kind == Change.RESET or (self._is_ours(event) and _matters(event)):
            self._reload()

    async def close(self) -> None:
        await self._tasks.close()

    # Looking

    def _is_ours(self, event: ChangeEvent) -> bool:
        ours = self._workspace is not None and event.workspace_id in (None, self._workspace.id)
        return ours and self._client is not None

    def _look(self) -> None:
        if self._stale:
            self._reload()

    def _reload(self) -> None:
        """Now when somebody looks, otherwise when they come."""
        self._stale = True
        if self._client is not None and self._workspace is not None and self._section.isVisible():
            self._tasks.start(self._load(self._client, self._workspace), key="load")

    async def _load(self, client: RuntimeClient, workspace: Workspace) -> None:
        try:
            self._show(workspace, await client.mcp_servers(workspace.id))
            for name, card in list(self._section.cards.items()):
                if card.shows_log:
                    await self._read_log(client, workspace, name)
        except AWAY as error:
            if self._workspace is not None and self._workspace.id == workspace.id:
                self._section.show_trouble(workspace.name, _sentence(error))

    def _show(self, workspace: Workspace, found: McpServerList) -> None:
        if self._workspace is None or self._workspace.id != workspace.id:
            return
        self._stale = False
        self._section.show_servers(self._workspace.name, found)
        for name, card in self._section.cards.items():
            card.set_busy(name in self._busy)

    # Acting

    def _act(self, act: str, view: McpServerView) -> None:
        client, workspace = self._client, self._workspace
        if client is None or workspace is None:
            self._fail(view.name, _sentence(None))
        elif act == Act.SHOW_LOG:
            self._tasks.start(self._show_log(client, workspace, view.name), key=f"log {view.name}")
        elif act == Act.SIGN_IN:
            self._start(view.name, lambda: self._sign_in(client, workspace, view.name))
        else:
            self._start(view.name, lambda: self._carry_out(act, client, workspace, view))

    def _start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        if name in self._busy:
            return
        self._busy.add(name)
        if (card := self._section.cards.get(name)) is not None:
            card.set_busy(True)
        self._tasks.start(self._doing(name, work))

    async def _doing(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except AWAY as error:
            self._fail(name, _sentence(error))
            self._reload()
        finally:
            self._busy.discard(name)
            if (card := self._section.cards.get(name)) is not None:
                card.set_busy(False)

    async def _carry_out(
        self, act: str, client: RuntimeClient, workspace: Workspace, view: McpServerView
    ) -> None:
        call: Callable[[str, str], Awaitable[McpServerList]]
        match act:
            case Act.ALLOW if view.consent is not None:
                shown = view.consent.fingerprint
                found = await client.allow_mcp_server(workspace.id, view.name, shown)
                self._show(workspace, found)
                call = client.connect_mcp_server
            case Act.START:
                call = client.connect_mcp_server
            case Act.RESTART:
                call = client.restart_mcp_server
            case Act.SIGN_OUT:
                call = client.forget_mcp_authorization
            case Act.STOP_ALLOWING:
                call = client.disallow_mcp_server
            case _:
                return
        found = await call(workspace.id, view.name)
        self._tasks.cancel("load")  # what it brings is older
        self._show(workspace, found)

    async def _sign_in(self, client: RuntimeClient, workspace: Workspace, name: str) -> None:
        start = await client.authorize_mcp_server(workspace.id, name)
        url = QUrl(start.authorization_url)
        if url.scheme() not in ("https", "http") or not url.host():
            self._fail(name, self.tr("The server asks to sign in at an address that no browser should open."))
            return
        self._ask_to_open(url, name)

    def _ask_to_open(self, url: QUrl, name: str) -> None:
        """Say where it leads before anything is opened: the address comes from the server."""
        box = QMessageBox(self._section)
        box.setObjectName("confirm-sign-in")
        box.setWindowTitle(self.tr("Sign in to %1").replace("%1", name))
        box.setText(self.tr("Sign in at %1 in your browser?").replace("%1", url.host()))
        box.setInformativeText(url.toDisplayString())
        box.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.accepted.connect(lambda: self.open_url_requested.emit(url))
        box.finished.connect(box.deleteLater)
        box.open()

    async def _show_log(self, client: RuntimeClient, workspace: Workspace, name: str) -> None:
        try:
            await self._read_log(client, workspace, name)
        except AWAY as error:
            self._fail(name, _sentence(error))

    async def _read_log(self, client: RuntimeClient, workspace: Workspace, name: str) -> None:
        text = (await client.mcp_server_log(workspace.id, name)).text
        card = self._card(workspace, name)
        if card is not None:
            card.show_log(text)

    def _card(self, workspace: Workspace, name: str) -> ConnectionCard | None:
        same = self._workspace is not None and self._workspace.id == workspace.id
        return self._section.cards.get(name) if same else None

    def _fail(self, name: str, sentence: str) -> None:
        if (card := self._section.cards.get(name)) is not None:
            card.fail(sentence)


def _matters(event: ChangeEvent) -> bool:
    if event.kind == Change.FILES:
        paths = event.payload.get("paths") or [PLAN_FILE]  # none named: anything may have changed
        return PLAN_FILE in paths
    return event.kind in (Change.MCP, Change.SECRET)


def _sentence(error: ProblemError | RuntimeUnreachableError | None) -> str:
    if isinstance(error, ProblemError):
        return str(error)
    words = "The runtime does not answer right now. Try again in a moment."
    return QCoreApplication.translate("Connections", words)
