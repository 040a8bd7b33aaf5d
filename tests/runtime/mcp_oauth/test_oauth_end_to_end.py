"""From a workspace file to a tool that ran with a token, through a real server and its executor; the test is the
desktop with its keychain, and the person with a browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from holaboss_client.agents import DecideAction
from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.events import Change
from holaboss_client.mcp import McpServerView
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from tests.support.authorization_server import MARKER, AuthorizationServer
from tests.support.exposure import carries, files_holding
from tests.support.processes import PATIENCE_S, descendants
from tests.support.protected_mcp import ProtectedMcp
from tests.support.scripted_provider import ScriptedProvider, call, say
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio

KEY = "sk-provider-key-0123456789"


class Desk:
    """A workspace with one protected server, and what a desktop would do."""

    def __init__(self, client: RuntimeClient, provider: ScriptedProvider, workspace_id: str) -> None:
        self.client = client
        self.provider = provider
        self.workspace_id = workspace_id
        self.keychain: dict[str, str] = {}

    async def server(self) -> McpServerView:
        (found,) = (await self.client.mcp_servers(self.workspace_id)).items
        return found

    async def reach(self, state: str) -> McpServerView:
        """The server once it is in a state; the change feed says when to look again."""
        async with asyncio.timeout(PATIENCE_S):
            async for change in self.client.changes():
                if change is None or change.kind == Change.MCP:
                    server = await self.server()
                    if server.state == state:
                        return server
        raise AssertionError("the feed ended")

    async def take_over(self) -> None:
        """As the desktop does with its keychain."""
        for pending in (await self.client.stored_secrets()).pending:
            handed = await self.client.hand_over_stored_secret(pending.name)
            if handed.value is None:
                self.keychain.pop(pending.name, None)
            else:
                self.keychain[pending.name] = handed.value
            await self.client.confirm_stored_secret(pending.name, handed.version)

    async def echo(self, text: str) -> str:
        """A message whose answer calls the tool, allowed by the person where it is asked for; what was said last."""
        self.provider.enqueue(call("mcp__protected__echo", said=text), say("done"))
        session = (await self.client.ensure_main_session(self.workspace_id)).session_id
        before = (await self.client.output_events(self.workspace_id, session)).last_event_id
        await self.client.queue(
            QueueRequest(workspace_id=self.workspace_id, session_id=session, text=text, model="mine/scripted")
        )
        async for event in self.client.output_stream(self.workspace_id, session, after_event_id=before):
            if event is None or not event.is_terminal:
                continue
            if event.payload.get("status") != "waiting_user":
                assert event.event_type == "run_completed", event.payload
                break
            (action,) = (await self.client.pending_actions(session, only_open=True)).items
            assert action.tool_name == "mcp__protected__echo"
            await self.client.decide_action(session, action.id, DecideAction(allowed=True))
        return json.dumps(self.provider.requests[-1].body)


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=KEY) as running:
        yield running


async def open_desk(runtime: RuntimeProcess, provider: ScriptedProvider, url: str) -> Desk:
    client = runtime.client()
    await client.put_provider("mine", PutProvider(base_url=provider.url, models=["scripted"]))
    workspace = await client.create_workspace(CreateWorkspace(name="w"))
    plan = (
        "agents: {id: workspace.general}\n"
        f"mcp_registry:\n  servers:\n    protected: {{type: remote, url: '{url}', timeout_ms: 60000}}\n"
    )
    current = await client.file(workspace.id, "workspace.yaml")
    await client.put_file(workspace.id, "workspace.yaml", plan.encode(), expected_sha256=current.sha256)
    return Desk(client, provider, workspace.id)


def leaks(root: Path, runtime: RuntimeProcess) -> list[str]:
    """Where a token, a code or anything else of the authorization server can be read."""
    found = [str(path) for path in files_holding(root, MARKER)]
    if MARKER in runtime.log:
        found.append("the log")
    return found + [f"process {one.pid}" for one in descendants(runtime.pid) if carries(one.pid, MARKER)]


async def test_from_the_first_refusal_to_a_revoked_token(
    tmp_path: Path,
    issuer: AuthorizationServer,
    server: ProtectedMcp,
    provider: ScriptedProvider,
    browser: httpx.AsyncClient,
) -> None:
    root = tmp_path / "root"
    async with RuntimeProcess(root, keys={"mine": KEY}) as runtime:
        desk = await open_desk(runtime, provider, server.url)
        assert (await desk.server()).state == "idle"
        await desk.client.connect_mcp_server(desk.workspace_id, "protected")
        await desk.reach("needs_authorization")
        assert issuer.requests == []  # nobody asked for an authorization yet

        start = await desk.client.authorize_mcp_server(desk.workspace_id, "protected")
        assert start.authorization_url.startswith(f"{issuer.url}/authorize?")
        assert issuer.issued == []
        page = await browser.get(start.authorization_url)
        assert "Connected" in page.text
        ready = await desk.reach("ready")
        assert (ready.tool_count, [tool.name for tool in ready.tools]) == (1, ["echo"])
        assert ready.authorization is not None
        assert ready.authorization.authorized
        assert ready.authorization.expires_at is not None

        state = await desk.client.stored_secrets()
        name = f"mcp-oauth:{desk.workspace_id}:protected"
        assert [(one.name, one.action) for one in state.pending] == [(name, "keep")]
        await desk.take_over()
        assert MARKER in desk.keychain[name]
        assert (await desk.client.stored_secrets()).pending == []

        assert "echo: first" in await desk.echo("first")
        issuer.expire_all()
        assert "echo: second" in await desk.echo("second")
        assert server.calls == 2
        assert issuer.count("/authorize") == 1
        await desk.take_over()

        issuer.revoke_all()
        await desk.client.restart_mcp_server(desk.workspace_id, "protected")
        refused = await desk.reach("needs_authorization")
        assert refused.authorization is not None
        assert not refused.authorization.authorized
        assert server.calls == 2
        assert MARKER not in await everything_told(desk.client)
        assert leaks(root, runtime) == []
        await desk.client.aclose()
    assert json.loads((root / "state" / "runtime-config.json").read_text())["secret_references"] == [name]


async def everything_told(client: RuntimeClient) -> str:
    """Every change of the feed up to one that is made now."""
    told: list[str] = []
    last = await client.create_workspace(CreateWorkspace(name="the last change"))
    async with asyncio.timeout(PATIENCE_S):
        async for change in client.changes(after=0):
            if change is not None:
                told.append(change.model_dump_json())
                if change.workspace_id == last.id:
                    break
    return "\n".join(told)


async def test_at_the_next_start_the_keychain_is_enough(
    tmp_path: Path,
    issuer: AuthorizationServer,
    server: ProtectedMcp,
    provider: ScriptedProvider,
    browser: httpx.AsyncClient,
) -> None:
    root = tmp_path / "root"
    async with RuntimeProcess(root, keys={"mine": KEY}) as runtime:
        desk = await open_desk(runtime, provider, server.url)
        start = await desk.client.authorize_mcp_server(desk.workspace_id, "protected")
        await browser.get(start.authorization_url)
        await desk.reach("ready")
        await desk.take_over()
        await desk.client.aclose()
    async with RuntimeProcess(root, keys={"mine": KEY}) as runtime:
        client = runtime.client()
        again = Desk(client, provider, desk.workspace_id)
        await client.connect_mcp_server(desk.workspace_id, "protected")
        await again.reach("needs_authorization")
        (missing,) = (await client.stored_secrets()).missing
        await client.put_stored_secret(missing, desk.keychain[missing])
        await again.reach("ready")
        assert issuer.count("/authorize") == 1

        await client.forget_mcp_authorization(desk.workspace_id, "protected")
        assert (await again.reach("needs_authorization")).authorization is not None
        assert issuer.refreshes == {}
        (pending,) = (await client.stored_secrets()).pending
        assert pending.action == "forget"
        await client.aclose()


async def test_a_deleted_workspace_takes_its_secrets_along(
    tmp_path: Path, issuer: AuthorizationServer, server: ProtectedMcp, provider: ScriptedProvider
) -> None:
    async with RuntimeProcess(tmp_path / "root", keys={"mine": KEY}) as runtime:
        desk = await open_desk(runtime, provider, server.url)
        name = f"mcp:{desk.workspace_id}:TOKEN"
        await desk.client.put_stored_secret(name, "a-placeholder-value")
        assert (await desk.client.stored_secrets()).names == [name]
        await desk.client.delete_workspace(desk.workspace_id)
        async with asyncio.timeout(PATIENCE_S):
            async for change in desk.client.changes(after=0):
                if change is not None and change.kind == Change.SECRET:
                    pending = (await desk.client.stored_secrets()).pending
                    if [(one.name, one.action) for one in pending] == [(name, "forget")]:
                        break
        with pytest.raises(ProblemError) as raised:
            await desk.client.mcp_servers(desk.workspace_id)
        assert raised.value.problem.code == "workspace_not_found"
        await desk.client.aclose()
