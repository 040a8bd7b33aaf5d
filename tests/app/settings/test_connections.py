"""The Connections section: what it says of each server, what can be done about it, and what is asked before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from holaboss_app.panes.settings.connection_card import Act, ConnectionCard, wanted_acts
from holaboss_app.panes.settings.connection_parts import ReadText
from holaboss_app.panes.settings.connection_words import EXAMPLE
from holaboss_app.panes.settings.presenter import SettingsPresenter
from holaboss_app.theme import style
from holaboss_client.base import utc_now
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.mcp import McpServerView
from holaboss_client.workspaces import CreateWorkspace, Workspace
from holaboss_runtime.workspace.plan import load_plan
from tests.app.conftest import QLoop
from tests.app.settings.conftest import Desk
from tests.app.settings.connections_runtime import (
    FINGERPRINT,
    ConnectionsRuntime,
    local,
    remote,
    tools,
    workspace,
)
from tests.project.repository import ROOT
from tests.support.server import RuntimeProcess


class ConnectionsDesk(Desk):
    """A settings page at its connections, over servers in memory."""

    def __init__(self, qloop: QLoop, directory: Path) -> None:
        super().__init__(qloop, directory)
        self.servers = self.runtime = ConnectionsRuntime()
        self.opened: list[str] = []
        connections = self.presenter._connections
        connections.open_url_requested.disconnect()
        connections.open_url_requested.connect(lambda url: self.opened.append(url.toString()))

    def look(self, *views: dict[str, Any]) -> None:
        """Open the page with these servers."""
        self.servers.servers_of["w1"] = list(views)
        self.presenter.show_section("connections")
        self.open()
        self.do(lambda: self.presenter.show_workspace(workspace()))

    def connection(self, name: str) -> ConnectionCard:
        return self.page.connections.cards[name]

    def press(self, name: str, act: Act) -> None:
        button = self.connection(name).buttons[act]
        assert button.isVisibleTo(self.page), act
        assert button.isEnabled(), act
        self.do(button.click)

    def hear(self, kind: Change = Change.MCP, workspace_id: str | None = "w1", **payload: Any) -> None:
        event = ChangeEvent(id=1, kind=kind, workspace_id=workspace_id, created_at=utc_now(), payload=payload)
        self.do(lambda: self.presenter.on_change(event))

    def requests(self, what: str) -> list[tuple[str, dict[str, Any]]]:
        return [(method, body) for method, path, body in self.runtime.calls if path.endswith(what)]

    def looked(self) -> int:
        return len(self.requests("/mcp-servers"))


@pytest.fixture
def at(qloop: QLoop, tmp_path: Path) -> Iterator[ConnectionsDesk]:
    desk = ConnectionsDesk(qloop, tmp_path)
    yield desk
    desk.close()


def text_of(card: QWidget, name: str) -> str:
    found = card.findChild(QLabel, name)
    assert found is not None
    return found.text().replace("\u200b", "")


def acts(card: ConnectionCard) -> set[Act]:
    return {act for act, button in card.buttons.items() if button.isVisibleTo(card)}


def test_a_command_is_shown_before_it_can_be_allowed_and_started(at: ConnectionsDesk) -> None:
    at.look(local(state="needs_consent", consent="needed"))
    card = at.connection("files")
    assert text_of(card, "connection-state") == "Not allowed yet"
    assert card.what.toPlainText() == "FILES_TOKEN=… npx -y @example/server-files --root ."
    assert card.what.isVisibleTo(at.page)
    assert "with your rights" in card.warning.label.text()
    assert acts(card) == {Act.ALLOW}
    at.press("files", Act.ALLOW)
    assert at.requests("/files/consent") == [("POST", {"fingerprint": FINGERPRINT})]
    assert at.requests("/files/connect") == [("POST", {})]
    assert text_of(card, "connection-state") == "Connected"
    assert not card.warning.isVisibleTo(at.page)
    assert card.rights.isVisibleTo(at.page)


def test_a_command_that_changed_meanwhile_is_not_started(at: ConnectionsDesk) -> None:
    at.look(local(state="needs_consent", consent="needed"))
    at.runtime.refuse["/consent"] = (409, "The command of files has changed meanwhile. Look at it again.")
    at.press("files", Act.ALLOW)
    assert at.requests("/files/connect") == []
    card = at.connection("files")
    assert "changed meanwhile" in card.problem.label.text()
    assert card.buttons[Act.ALLOW].isEnabled()


def test_another_command_is_shown_beside_the_one_that_was_allowed(at: ConnectionsDesk) -> None:
    view = local(state="needs_consent", consent="changed")
    view["consent"]["earlier_command_text"] = "npx files"
    at.look(view)
    card = at.connection("files")
    assert text_of(card, "connection-state") == "Changed since you allowed it"
    assert card.earlier.isVisibleTo(at.page)
    assert card.earlier.toPlainText() == "npx files"
    assert acts(card) == {Act.ALLOW, Act.STOP_ALLOWING}


def test_a_command_that_changes_under_the_pointer_has_to_be_looked_at(at: ConnectionsDesk) -> None:
    at.look(local(state="needs_consent", consent="needed"))
    other = local(state="needs_consent", consent="needed")
    other["consent"] |= {"fingerprint": "e" * 64, "command_text": "rm -rf /"}
    at.servers.servers_of["w1"] = [other]
    card = at.connection("files")
    card._settling.setInterval(3_600_000)  # its end is given below
    at.hear()
    assert card.what.toPlainText() == "rm -rf /"
    allow = card.buttons[Act.ALLOW]
    assert not allow.isEnabled()
    card._settling.stop()
    card._settling.timeout.emit()
    assert allow.isEnabled()
    at.press("files", Act.ALLOW)
    assert at.requests("/files/consent") == [("POST", {"fingerprint": "e" * 64})]


def test_what_is_allowed_can_be_taken_back(at: ConnectionsDesk) -> None:
    at.look(local(state="ready", **tools(2)))
    at.press("files", Act.STOP_ALLOWING)
    assert at.requests("/files/consent") == [("DELETE", {})]
    assert text_of(at.connection("files"), "connection-state") == "Not allowed yet"


def test_a_connected_server_says_what_it_has_and_costs(at: ConnectionsDesk) -> None:
    measured = {
        "protocol_revision": "2025-11-25",
        "memory_bytes": 48_300_000,
        "context_tokens": 900,
        "restarts": 1,
    }
    at.look(local(state="ready", **measured, **tools(3)))
    card = at.connection("files")
    told = text_of(card, "connection-facts")
    for fact in (
        "Protocol 2025-11-25",
        "3 tools",
        "48 MB of memory",
        "about 900 tokens",
        "restarted once",
    ):
        assert fact in told
    assert not card.tools.isVisibleTo(at.page)
    assert card.show_tools.text() == "Show tools (3)"
    card.show_tools.click()
    assert card.tools.isVisibleTo(at.page)
    assert "tool_2" in card.tools.toPlainText()
    at.press("files", Act.RESTART)
    assert at.requests("/files/restart") == [("POST", {})]
    assert card.tools.isVisibleTo(at.page), "what is unfolded stays so"


def test_a_failed_server_says_why_and_shows_its_log(at: ConnectionsDesk) -> None:
    at.look(local(state="failed", last_error="It ended with code 7."))
    at.servers.logs["files"] = "first\nno configuration found\n"
    card = at.connection("files")
    assert card.trouble.label.text() == "It ended with code 7."
    assert card.buttons[Act.RESTART].text() == "Try again"
    at.press("files", Act.SHOW_LOG)
    assert card.log.isVisibleTo(at.page)
    assert card.log.toPlainText() == "first\nno configuration found"
    at.servers.logs["files"] = "later\n"
    at.hear()
    assert card.log.toPlainText() == "later", "an open log is read again with its server"
    at.press("files", Act.SHOW_LOG)
    assert not card.log.isVisibleTo(at.page)


def box_of(at: ConnectionsDesk) -> QMessageBox:
    return at.find(QMessageBox, "confirm-sign-in")


def test_signing_in_opens_a_browser_only_after_the_address_was_shown(
    at: ConnectionsDesk, qapp: QApplication
) -> None:
    at.look(remote(state="needs_authorization"))
    assert at.connection("docs").what.toPlainText() == "https://docs.example/mcp"
    assert not at.connection("docs").rights.isVisibleTo(at.page)
    at.press("docs", Act.SIGN_IN)
    box = box_of(at)
    assert "sign-in.example" in box.text()
    assert box.informativeText() == "https://sign-in.example/authorize?client_id=1"
    assert at.opened == []
    box.button(QMessageBox.StandardButton.Cancel).click()
    qapp.processEvents()
    assert at.opened == []
    at.press("docs", Act.SIGN_IN)
    box_of(at).button(QMessageBox.StandardButton.Open).click()
    assert at.opened == ["https://sign-in.example/authorize?client_id=1"]


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:alert(1)", "", "https:nowhere"])
def test_an_address_that_no_browser_should_open_is_refused(at: ConnectionsDesk, address: str) -> None:
    at.look(remote(state="needs_authorization"))
    at.servers.authorization_url = address
    at.press("docs", Act.SIGN_IN)
    assert at.page.findChild(QMessageBox) is None
    assert "no browser" in at.connection("docs").problem.label.text()


def test_signing_out(at: ConnectionsDesk) -> None:
    at.look(remote(state="ready", authorization={"authorized": True, "issuer": "https://login.example"}))
    assert "Signed in at https://login.example" in text_of(at.connection("docs"), "connection-facts")
    at.press("docs", Act.SIGN_OUT)
    assert at.requests("/docs/authorization") == [("DELETE", {})]
    assert acts(at.connection("docs")) == {Act.SIGN_IN}


def test_it_follows_the_change_feed_of_its_workspace_only_while_somebody_looks(at: ConnectionsDesk) -> None:
    at.look(local(state="starting"))
    seen = at.looked()
    at.servers.servers_of["w1"] = [local(state="ready"), remote()]
    at.hear()
    assert at.looked() == seen + 1
    assert list(at.page.connections.cards) == ["files", "docs"]
    at.hear(workspace_id="w2")
    at.hear(Change.QUEUE)
    at.hear(Change.FILES, paths=["notes.md"])
    assert at.looked() == seen + 1
    at.hear(Change.FILES, paths=["workspace.yaml"])
    at.hear(Change.FILES, paths=[])
    at.hear(Change.SECRET, workspace_id=None)
    assert at.looked() == seen + 4

    at.do(lambda: at.presenter.show_section("about"))
    at.servers.servers_of["w1"] = [remote()]
    at.hear()
    assert at.looked() == seen + 4, "nobody looks"
    at.do(lambda: at.presenter.show_section("connections"))
    assert at.looked() == seen + 5
    assert list(at.page.connections.cards) == ["docs"]
    at.do(lambda: at.presenter.show_section("about"))
    at.do(lambda: at.presenter.show_section("connections"))
    assert at.looked() == seen + 5, "nothing was different"


def test_another_workspace_shows_its_own(at: ConnectionsDesk) -> None:
    at.look(local())
    at.servers.servers_of["w2"] = [remote("other")]
    at.do(lambda: at.presenter.show_workspace(workspace("w2", "Second")))
    assert list(at.page.connections.cards) == ["other"]
    at.do(lambda: at.presenter.show_workspace(None))
    assert at.page.connections.cards == {}
    assert not at.page.connections.adding.isVisibleTo(at.page)


def test_an_empty_workspace_says_how_to_add_one(at: ConnectionsDesk, tmp_path: Path) -> None:
    at.look()
    adding = at.page.connections.adding
    assert adding.isVisibleTo(at.page)
    titles = [label.text() for label in adding.findChildren(QLabel)]
    assert "This workspace has no connections yet" in titles
    at.find(QPushButton, "copy-connection-example").click()
    assert QApplication.clipboard().text() == EXAMPLE
    (tmp_path / "workspace.yaml").write_text("agents: {id: a}\n" + EXAMPLE)
    assert [server.name for server in load_plan(tmp_path).mcp.servers] == ["time", "docs"], "it is valid"


def test_a_plan_that_cannot_be_read_is_told_and_tried_again(at: ConnectionsDesk) -> None:
    at.runtime.refuse["/mcp-servers"] = (
        422,
        "mcp_registry.servers.x.command: A local server needs a command.",
    )
    at.look(local())
    trouble = at.page.connections.trouble
    assert trouble.isVisibleTo(at.page)
    assert "needs a command" in trouble.label.text().replace("\u200b", "")
    at.runtime.refuse.clear()
    at.do(at.find(QPushButton, "reload-connections").click)
    assert not trouble.isVisibleTo(at.page)
    assert list(at.page.connections.cards) == ["files"]


def test_without_a_runtime_nothing_is_lost_and_nothing_hangs(at: ConnectionsDesk) -> None:
    at.look(local())
    at.do(lambda: at.presenter.detach("The runtime is starting again."))
    assert at.page.connections.notice.label.text() == "The runtime is starting again."
    assert "files" in at.page.connections.cards
    at.press("files", Act.START)
    assert "does not answer" in at.connection("files").problem.label.text()
    at.do(lambda: at.presenter.attach(at.runtime.client()))
    assert not at.page.connections.notice.isVisibleTo(at.page)


def test_each_state_offers_what_helps() -> None:
    def offered(view: dict[str, Any]) -> set[Act]:
        return set(wanted_acts(McpServerView.model_validate(view)))

    assert offered(local(state="idle")) == {Act.START, Act.STOP_ALLOWING}
    assert offered(local(state="idle", consent="trusted")) == {Act.START}
    assert offered(local(state="unavailable")) == {Act.STOP_ALLOWING}
    assert offered(local(state="disabled", consent="needed")) == set()
    assert offered(local(state="stopped")) == {Act.START, Act.STOP_ALLOWING, Act.SHOW_LOG}
    assert offered(remote(state="idle")) == {Act.START}
    assert offered(remote(state="failed")) == {Act.RESTART}


def test_the_keyboard_reaches_everything_and_everything_has_a_name(
    at: ConnectionsDesk, qapp: QApplication, qtbot: QtBot
) -> None:
    at.look(local(state="needs_consent", consent="needed"), remote(state="ready", **tools(2)))
    nameless = [
        f"{type(widget).__name__} {widget.objectName()}"
        for widget in at.page.connections.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
    ]
    assert nameless == []
    card = at.connection("files")
    allow = card.buttons[Act.ALLOW]
    assert allow.accessibleName() == "Allow and start: files"
    at.page.activateWindow()
    card.what.setFocus()
    qapp.processEvents()
    assert card.what.hasFocus()
    qtbot.keyClick(card.what, Qt.Key.Key_Tab)
    assert allow.hasFocus()
    at.do(lambda: qtbot.keyClick(allow, Qt.Key.Key_Space))
    assert at.requests("/files/connect") == [("POST", {})]


def test_text_from_outside_is_text(at: ConnectionsDesk) -> None:
    at.look(local(state="failed", last_error="<b>bold</b> " + "x" * 300))
    labels = at.connection("files").findChildren(QLabel)
    assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}


LOOKS = {
    "light": ("light", 1.0, 980),
    "dark": ("dark", 1.0, 980),
    "large": ("light", 1.75, 980),
    "narrow": ("dark", 1.0, 430),
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_has_room_for_it(
    at: ConnectionsDesk, qapp: QApplication, tmp_path: Path, look: str
) -> None:
    scheme, scale, width = LOOKS[look]
    style.apply(qapp, scheme, scale)
    try:
        long = local("shell", "needs_consent", "changed")
        long["consent"] |= {"command_text": "run " + "x" * 900, "earlier_command_text": "y" * 300}
        failed = local("a-name-that-is-rather-long-for-one-server", "failed", last_error="z" * 400)
        at.look(long, failed, remote(state="ready", **tools(40)))
        at.page.resize(width, 1_800)
        at.connection("docs").show_tools.click()
        qapp.processEvents()
        assert at.page.grab().save(str(tmp_path / f"{look}.png"))
        shown = [
            widget
            for kind in (QLabel, QPushButton, ReadText)
            for widget in at.page.connections.findChildren(kind)
            if widget.isVisible()
        ]
        edge = at.page.width()
        assert [w.objectName() for w in shown if w.mapTo(at.page, w.rect().topRight()).x() > edge] == []
        cut = [w.text() for w in shown if isinstance(w, QPushButton) and w.width() < w.sizeHint().width()]
        assert cut == []
        whole = at.connection("shell").earlier
        assert whole.verticalScrollBar().maximum() == 0 or whole.height() > 0
    finally:
        style.apply(qapp, "light", 1.0)


def test_the_page_opens_at_its_connections(at: ConnectionsDesk) -> None:
    at.look(local())
    presenter: SettingsPresenter = at.presenter
    presenter.show_section("models")
    presenter.show_section("connections")
    assert at.page.section == "connections"
    assert QUrl(at.servers.authorization_url).isValid()


def test_over_a_real_runtime_a_command_starts_with_the_click_and_ends_with_the_other(
    qloop: QLoop, tmp_path: Path
) -> None:
    program = [sys.executable, str(ROOT / "tests" / "support" / "mcp_servers" / "misbehaving.py"), "normal"]
    with RuntimeProcess(tmp_path / "root") as runtime:
        desk = Desk(qloop, tmp_path)
        desk.runtime.client = runtime.client  # type: ignore[method-assign]

        async def prepare() -> Workspace:
            async with runtime.client() as client:
                made = await client.create_workspace(CreateWorkspace(name="Real"))
                plan = f"agents: {{id: a}}\nmcp_registry: {{servers: {{local: {{command: {program}}}}}}}\n"
                current = await client.file(made.id, "workspace.yaml")
                await client.put_file(
                    made.id, "workspace.yaml", plan.encode(), expected_sha256=current.sha256
                )
                return made

        def started() -> list[str]:
            return [one.command for one in runtime.descendants() if "misbehaving" in one.command]

        try:
            made = qloop.run(prepare())
            desk.presenter.show_section("connections")
            desk.open()
            desk.do(lambda: desk.presenter.show_workspace(made))
            card = desk.page.connections.cards["local"]
            assert card.what.toPlainText() == " ".join(program)
            assert (text_of(card, "connection-state"), started()) == ("Not allowed yet", [])
            desk.do(card.buttons[Act.ALLOW].click)
            assert (text_of(card, "connection-state"), len(started())) == ("Connected", 1)
            assert "2 tools" in text_of(card, "connection-facts")
            desk.do(card.buttons[Act.STOP_ALLOWING].click)
            assert (text_of(card, "connection-state"), started()) == ("Not allowed yet", [])
        finally:
            desk.close()
