"""What the runtime shows and asks of MCP servers, with an executor that answers what a test wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from holaboss_client.events import Change
from holaboss_runtime.config.secret_store.store import SecretStore
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.harness.mcp_consent import McpConsents, fingerprint_of
from holaboss_runtime.harness.mcp_view import McpServers
from holaboss_runtime.harness.services import HostAskError, HostServices
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.mcp_consents import McpConsentRecords
from holaboss_runtime.workspace.plan import load_plan
from tests.runtime.sessions.core import add_workspace

pytestmark = pytest.mark.anyio

PLAN = """\
agents: {id: workspace.general}
mcp_registry:
  allowlist: {tool_ids: [files.read]}
  servers:
    files: {type: local, command: [server, "{env:WHERE}"], environment: {KEY: "{env:FILES_KEY}"}}
    far: {type: remote, url: "https://far.example/mcp", headers: {X-Team: blue}}
    own: {type: remote, url: "https://own.example/mcp", headers: {authorization: "Bearer {env:OWN}"}}
    quiet: {type: local, command: [x], enabled: false}
"""


class Executor:
    """`answers` by name of what is asked; an exception is raised."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {"mcp.status": {"servers": []}}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def ask(
        self, workspace_id: str, name: str, arguments: dict[str, Any], *, timeout_s: float = 30.0
    ) -> Any:
        self.asked.append((name, arguments))
        answer = self.answers.get(name, {})
        if isinstance(answer, Exception):
            raise answer
        return answer

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


class Folders:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, workspace_id: str) -> Path:
        if workspace_id != "w1":
            raise not_found("workspace", workspace_id)
        return self._folder


class Rig:
    def __init__(self, tmp_path: Path) -> None:
        self.database = Database.open(tmp_path / "runtime.db")
        self.changes = ChangeLog(self.database)
        self.secrets = SecretStore(
            self.changes, environment={"WHERE": "here", "FILES_KEY": "files-key-value"}
        )
        self.executor = Executor()
        folder = tmp_path / "workspace"
        folder.mkdir()
        (folder / "workspace.yaml").write_text(PLAN)
        add_workspace(self.database, "w1", folder, name="W")
        self.consents = McpConsents(McpConsentRecords(self.database))
        self.servers = McpServers(
            cast("Harness", self.executor), Folders(folder), self.secrets, self.changes, self.consents
        )
        planned = load_plan(folder).mcp.find("files")
        assert planned is not None
        self.consents.give("w1", planned, fingerprint_of(planned))
        self.services = HostServices()
        self.servers.register(self.services)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    await rig.servers.close()
    rig.database.close()


async def refused(awaitable: Any, code: str) -> None:
    with pytest.raises(DomainError) as raised:
        await awaitable
    assert raised.value.code == code


async def test_the_configuration_is_shown_without_a_value(rig: Rig) -> None:
    shown = await rig.servers.list("w1")
    files, far, own, off = shown.items
    assert shown.live
    assert (files.state, far.state, own.state, off.state) == ("idle", "idle", "unavailable", "disabled")
    assert files.command == ["server", "{env:WHERE}"]
    assert files.environment_names == ["KEY"]
    assert files.placeholder_names == ["FILES_KEY", "WHERE"]
    assert (files.allowed_tools, far.allowed_tools) == (["read"], None)
    assert far.header_names == ["X-Team"]
    assert "OWN" in (own.last_error or "")
    assert (files.authorization, own.authorization) == (None, None)
    assert far.authorization is not None
    assert not far.authorization.authorized
    assert "files-key-value" not in shown.model_dump_json()
    assert rig.executor.names() == ["mcp.status"]  # looking starts nothing


async def test_what_the_executor_says_is_shown_with_secrets_taken_out(rig: Rig) -> None:
    rig.executor.answers["mcp.status"] = {
        "servers": [
            {
                "name": "files",
                "state": "ready",
                "pid": 4711,
                "tool_count": 1,
                "tools": [{"name": "read", "description": "Reads."}],
                "context_tokens": 120,
                "memory_bytes": 5_000_000,
                "stderr_tail": "my key is files-key-value",
                "last_error": "files-key-value was refused",
            },
            {"name": "far", "state": "dancing"},
            "nonsense",
        ]
    }
    files, far, *_ = (await rig.servers.list("w1")).items
    assert (files.state, files.pid, files.tools[0].name, files.context_tokens) == ("ready", 4711, "read", 120)
    assert files.last_error == "[redacted] was refused"
    assert (far.state, far.last_error) == ("failed", "Its state cannot be understood.")
    assert (await rig.servers.log("w1", "files")).text == "my key is [redacted]"
    rig.executor.answers["mcp.status"] = HostAskError("host_lost", "The executor was lost.")
    later = await rig.servers.list("w1")
    assert not later.live
    assert (later.items[0].state, later.items[0].pid, later.items[0].tool_count) == ("stopped", None, 1)


async def test_connecting_gives_the_executor_what_it_needs(rig: Rig) -> None:
    await rig.servers.connect("w1", "files")
    name, arguments = rig.executor.asked[0]
    assert name == "mcp.ensure"
    (server,) = arguments["servers"]
    assert server["config"]["command"] == ["server", "here"]
    assert server["config"]["environment"] == {"KEY": "files-key-value"}
    await refused(rig.servers.connect("w1", "quiet"), "mcp_server_disabled")
    await refused(rig.servers.connect("w1", "own"), "mcp_server_unavailable")
    await refused(rig.servers.connect("w1", "none"), "mcp_server_not_found")
    await refused(rig.servers.connect("w2", "files"), "workspace_not_found")
    rig.executor.answers["mcp.ensure"] = HostAskError("host_not_ready", "The executor does not start.")
    await refused(rig.servers.connect("w1", "files"), "host_not_ready")


async def test_restarting_what_does_not_run_connects_it(rig: Rig) -> None:
    rig.executor.answers["mcp.restart"] = HostAskError("mcp_server_not_running", "It is not running.")
    await rig.servers.restart("w1", "files")
    assert rig.executor.names() == ["mcp.restart", "mcp.ensure", "mcp.status"]


async def test_an_authorization_is_forgotten_whoever_is_there(rig: Rig) -> None:
    name = "mcp-oauth:w1:far"
    await rig.secrets.put(
        name, json.dumps({"issuer": "https://i", "tokens": {"access_token": "token-value"}})
    )
    far = (await rig.servers.list("w1")).items[1]
    assert far.authorization is not None
    assert (far.authorization.authorized, far.authorization.issuer) == (True, "https://i")
    rig.executor.answers["mcp.forget_authorization"] = HostAskError("host_lost", "The executor was lost.")
    await rig.servers.forget_authorization("w1", "far")
    assert await rig.secrets.get(name) is None
    # One that left the plan can be forgotten too; one that never was cannot.
    await rig.secrets.put("mcp-oauth:w1:gone", "{}")
    await rig.servers.forget_authorization("w1", "gone")
    await refused(rig.servers.forget_authorization("w1", "gone"), "mcp_server_not_found")


async def test_hosts_reach_authorizations_and_nothing_else(rig: Rig) -> None:
    await rig.secrets.put("mcp:w1:TOKEN", "a-stored-secret")
    with pytest.raises(ValueError, match="authorizations only"):
        await rig.services.serve("secret.get", {"name": "mcp:w1:TOKEN"})
    await rig.services.serve("secret.put", {"name": "mcp-oauth:w1:far", "value": "{}"})
    assert await rig.services.serve("secret.get", {"name": "mcp-oauth:w1:far"}) == "{}"
    await rig.services.serve("secret.delete", {"name": "mcp-oauth:w1:far"})
    assert await rig.services.serve("secret.get", {"name": "mcp-oauth:w1:far"}) is None


async def test_news_reach_the_change_feed_bounded_and_clean(rig: Rig) -> None:
    told = {
        "workspace_id": "w1",
        "server": "files",
        "state": "failed",
        "message": "files-key-value" + "x" * 5_000,
    }
    await rig.services.serve("mcp.changed", told | {"last_error": "not passed on", "pid": 1})
    (change,) = rig.changes.after(0) or []
    assert (change.kind, change.workspace_id) == (Change.MCP, "w1")
    assert set(change.payload) == {"server", "state", "message"}
    assert change.payload["message"].startswith("[redacted]")
    assert len(change.payload["message"]) <= 1_000


async def test_a_workspace_that_goes_takes_its_servers_and_secrets(rig: Rig) -> None:
    await rig.secrets.put("mcp-oauth:w1:far", "{}")
    await rig.secrets.put("mcp-oauth:w2:far", "{}")
    rig.servers.workspace_deleted("w1")
    await asyncio.gather(*rig.servers._tasks)
    assert rig.executor.asked == [("mcp.close", {"workspace_id": "w1"})]
    assert rig.secrets.state().names == ["mcp-oauth:w2:far"]


async def test_a_token_from_the_keychain_is_told_to_the_executor(rig: Rig) -> None:
    rig.secrets.on_received = rig.servers.secret_received
    await rig.secrets.receive("mcp:w1:TOKEN", "value-of-a-placeholder")
    await rig.secrets.receive("mcp-oauth:w1:far", "{}")
    await asyncio.gather(*rig.servers._tasks)
    assert rig.executor.asked == [("mcp.credentials_changed", {"workspace_id": "w1", "server": "far"})]
