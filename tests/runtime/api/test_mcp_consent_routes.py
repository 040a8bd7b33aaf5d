"""A command in a workspace file, over the routes of a real server: it starts when a person allowed it, not before."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.events import Change
from holaboss_client.mcp import McpConsent, McpServerView
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.launch import StartError, read_launch
from holaboss_runtime.store.database import Database
from tests.project.repository import ROOT
from tests.runtime.sessions.wire import problem_of
from tests.support.scripted_provider import ScriptedProvider, say
from tests.support.server import RuntimeProcess, RuntimeStartError

pytestmark = pytest.mark.anyio

SERVER = ROOT / "tests" / "support" / "mcp_servers" / "misbehaving.py"


class Desk:
    """A workspace whose file names a command."""

    def __init__(self, runtime: RuntimeProcess, client: RuntimeClient, workspace_id: str) -> None:
        self.runtime = runtime
        self.client = client
        self.workspace_id = workspace_id

    async def name_command(self, *arguments: str) -> None:
        command = [sys.executable, str(SERVER), "normal", *arguments]
        plan = (
            "agents: {id: workspace.general}\n"
            f"mcp_registry:\n  servers:\n    local: {{type: local, command: {command}}}\n"
            "    far: {type: remote, url: 'http://127.0.0.1:9/mcp', enabled: false}\n"
        )
        current = await self.client.file(self.workspace_id, "workspace.yaml")
        await self.client.put_file(
            self.workspace_id, "workspace.yaml", plan.encode(), expected_sha256=current.sha256
        )

    async def server(self) -> McpServerView:
        return (await self.client.mcp_servers(self.workspace_id)).items[0]

    async def consent(self) -> McpConsent:
        consent = (await self.server()).consent
        assert consent is not None
        return consent

    async def allow(self) -> None:
        consent = await self.consent()
        await self.client.allow_mcp_server(self.workspace_id, "local", consent.fingerprint)

    @property
    def processes(self) -> list[str]:
        return [one.command for one in self.runtime.descendants() if SERVER.name in one.command]

    async def refused(self, status: int, code: str, *, connect: str = "local") -> None:
        with pytest.raises(ProblemError) as raised:
            await self.client.connect_mcp_server(self.workspace_id, connect)
        assert problem_of(raised.value) == (status, code)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    with RuntimeProcess(tmp_path / "root") as runtime:
        async with runtime.client() as client:
            workspace = await client.create_workspace(CreateWorkspace(name="w"))
            desk = Desk(runtime, client, workspace.id)
            await desk.name_command()
            yield desk


async def test_a_command_starts_when_it_was_allowed_and_ends_when_that_is_taken_back(desk: Desk) -> None:
    found = await desk.server()
    assert found.state == "needs_consent"
    assert found.consent is not None
    assert found.consent.command_text == f"{sys.executable} {SERVER} normal"
    await desk.refused(409, "mcp_needs_consent")
    with pytest.raises(ProblemError) as raised:
        await desk.client.restart_mcp_server(desk.workspace_id, "local")
    assert problem_of(raised.value) == (409, "mcp_needs_consent")
    assert desk.processes == []

    await desk.allow()
    allowed = await desk.server()
    assert allowed.state == "idle"
    assert allowed.consent is not None
    assert (allowed.consent.state, allowed.consent.allowed_at is not None) == ("allowed", True)
    assert desk.processes == [], "to allow is not to start"
    await desk.client.connect_mcp_server(desk.workspace_id, "local")
    assert (await desk.server()).state == "ready"
    assert len(desk.processes) == 1

    (after, _) = (await desk.client.disallow_mcp_server(desk.workspace_id, "local")).items
    assert after.state == "needs_consent"
    assert desk.processes == []
    await desk.refused(409, "mcp_needs_consent")


async def test_only_what_was_looked_at_is_allowed(desk: Desk) -> None:
    looked_at = (await desk.consent()).fingerprint
    await desk.name_command("and-more")
    with pytest.raises(ProblemError) as raised:
        await desk.client.allow_mcp_server(desk.workspace_id, "local", looked_at)
    assert problem_of(raised.value) == (409, "mcp_consent_outdated")
    await desk.allow()
    await desk.name_command()
    changed = await desk.server()
    assert changed.state == "needs_consent"
    assert changed.consent is not None
    assert changed.consent.state == "changed"
    assert changed.consent.earlier_command_text == f"{sys.executable} {SERVER} normal and-more"
    assert "changed" in (changed.last_error or "")
    with pytest.raises(ProblemError) as raised:
        await desk.client.allow_mcp_server(desk.workspace_id, "gone", looked_at)
    assert problem_of(raised.value) == (404, "mcp_server_not_found")
    with pytest.raises(ProblemError) as raised:
        await desk.client.disallow_mcp_server(desk.workspace_id, "gone")
    assert problem_of(raised.value) == (404, "mcp_server_not_found")
    with pytest.raises(ProblemError) as raised:
        await desk.client.allow_mcp_server(desk.workspace_id, "far", looked_at)
    assert problem_of(raised.value) == (409, "mcp_consent_not_needed")


async def test_consent_outlives_the_server_and_goes_with_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with RuntimeProcess(root) as runtime:
        async with runtime.client() as client:
            desk = Desk(runtime, client, (await client.create_workspace(CreateWorkspace(name="w"))).id)
            await desk.name_command()
            await desk.allow()
    with RuntimeProcess(root) as runtime:
        async with runtime.client() as client:
            desk = Desk(runtime, client, desk.workspace_id)
            assert (await desk.server()).state == "idle"
            await client.delete_workspace(desk.workspace_id)
    database = Database.open(root / "state" / "runtime.db")
    assert database.scalar("SELECT count(*) FROM mcp_consents") == 0
    database.close()


async def test_a_run_starts_nothing_unasked_and_says_so(tmp_path: Path) -> None:
    with (
        ScriptedProvider(key="sk-consent-0123456789") as provider,
        RuntimeProcess(tmp_path / "root", keys={"mine": "sk-consent-0123456789"}) as runtime,
    ):
        async with runtime.client() as client:
            await client.put_provider("mine", PutProvider(base_url=provider.url, models=["scripted"]))
            workspace = await client.create_workspace(CreateWorkspace(name="w"))
            desk = Desk(runtime, client, workspace.id)
            await desk.name_command()
            assert await _notices(desk, provider) == ["mcp_needs_consent"]
            assert desk.processes == []
            assert "mcp__local__work" not in _offered(provider)
            await desk.allow()
            assert await _notices(desk, provider) == []
            assert len(desk.processes) == 1
            assert "mcp__local__work" in _offered(provider)


async def test_every_window_hears_of_it(desk: Desk) -> None:
    kinds: list[tuple[str, object]] = []
    async for change in desk.client.changes():
        if change is None:
            await desk.allow()
            await desk.client.disallow_mcp_server(desk.workspace_id, "local")
        elif change.kind == Change.MCP:
            kinds.append((change.kind, change.payload.get("server")))
            if len(kinds) == 2:
                break
    assert kinds == [("mcp", "local")] * 2


def test_only_a_server_of_its_own_can_trust_its_files(tmp_path: Path) -> None:
    assert not read_launch({}).environment.mcp_trusted
    assert read_launch({"HOLABOSS_MCP_CONSENT": "trusted"}).environment.mcp_trusted
    with pytest.raises(StartError, match="can be 'trusted'"):
        read_launch({"HOLABOSS_MCP_CONSENT": "yes"})
    embedded = RuntimeProcess(tmp_path / "root", environment={"HOLABOSS_MCP_CONSENT": "trusted"})
    with pytest.raises(RuntimeStartError, match="a person is asked"):
        embedded.start()


async def _notices(desk: Desk, provider: ScriptedProvider) -> list[str]:
    """The codes of a run's notices."""
    provider.enqueue(say("done"))
    session = (await desk.client.ensure_main_session(desk.workspace_id)).session_id
    before = (await desk.client.output_events(desk.workspace_id, session)).last_event_id
    request = QueueRequest(
        workspace_id=desk.workspace_id, session_id=session, text="hi", model="mine/scripted"
    )
    await desk.client.queue(request)
    codes: list[str] = []
    async for event in desk.client.output_stream(desk.workspace_id, session, after_event_id=before):
        if event is None:
            continue
        if event.event_type == "run_notice":
            codes.append(event.payload["code"])
        if event.is_terminal:
            assert event.event_type == "run_completed", event.payload
            break
    return codes


def _offered(provider: ScriptedProvider) -> list[str]:
    return [tool["function"]["name"] for tool in provider.requests[-1].body["tools"]]
