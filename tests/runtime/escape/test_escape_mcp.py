"""Ways out through MCP servers: their files, their environment, their names, their claims, and where they send us.

What a server does by itself is not held; these are the ways in which a model, or a server that is called, could reach
what the rules of a run do not give it.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ApprovalRequired

from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.frames import ToolResult
from holaboss_runtime.harness.host.gate import ToolGate
from holaboss_runtime.harness.host.toolset import Toolset, toolset_of
from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule
from holaboss_runtime.permissions.profiles import policy_of
from tests.runtime.escape.conftest import Canary
from tests.runtime.harness.conftest import local_sandbox
from tests.runtime.mcp.conftest import Kept, bad, installed, kept_servers, local, remote
from tests.runtime.mcp.rig import package_of
from tests.support.http_server import HttpServer, Request, Wire

pytestmark = pytest.mark.anyio
ALLOW = PermissionPolicy(default="always_allow")


@pytest.fixture
async def kept(anyio_backend: str) -> AsyncIterator[Kept]:
    async with kept_servers() as opened:
        yield opened


async def _no_runtime(name: str, arguments: dict[str, Any]) -> ToolResult:
    raise AssertionError(f"{name} is no tool of the runtime")


class Hand:
    """The tools of one run, behind its gate."""

    def __init__(self, tools: Toolset, gate: ToolGate) -> None:
        self.tools = tools
        self.gate = gate
        self._calls = 0

    async def __call__(self, name: str, **arguments: Any) -> str:
        self._calls += 1
        return (await self.gate.execute(f"call-{self._calls}", name, arguments)).text


@asynccontextmanager
async def hand(
    kept: Kept, workspace: Path, *servers: McpServer, policy: PermissionPolicy = ALLOW
) -> AsyncGenerator[Hand]:
    package = package_of(workspace, *servers, tools=["read", "write", "bash"])
    async with kept.servers.serving(package) as served:
        tools = toolset_of(package, _no_runtime, served.tools)
        sandbox = local_sandbox(workspace, permissions=policy)
        sandbox._tools = tools
        yield Hand(tools, ToolGate(sandbox, policy))


def environment_of(kept: Kept, server: str) -> str:
    """What the process of a server was really given."""
    pid = kept.connection(server).health.pid
    return Path(f"/proc/{pid}/environ").read_text()


def files(root: Path) -> McpServer:
    return local("files", installed("mcp-server-filesystem"), str(root), timeout_s=30)


async def test_a_server_of_files_keeps_to_its_folder(kept: Kept, workspace: Path, canary: Canary) -> None:
    (workspace / "out").symlink_to(canary.outside)
    (workspace / "file").symlink_to(canary.secret)
    inside = str(workspace)
    said: list[str] = []
    async with hand(kept, workspace, files(workspace)) as use:
        for path in (
            str(canary.secret),
            f"{inside}/../outside/secret",
            f"{inside}/out/secret",
            f"{inside}/file",
            f"{inside}/./out/../out/secret",
            "/proc/self/environ",
            "~/.ssh/id_test",
        ):
            said.append(await use("mcp__files__read_text_file", path=path))
        said.append(
            await use("mcp__files__read_multiple_files", paths=[f"{inside}/a.txt", f"{inside}/out/secret"])
        )
        said.append(await use("mcp__files__list_directory", path=str(canary.outside)))
        for path in (str(canary.target), f"{inside}/out/target", f"{inside}/out/new"):
            said.append(await use("mcp__files__write_file", path=path, content="overwritten"))
        moved = await use(
            "mcp__files__move_file", source=f"{inside}/a.txt", destination=f"{inside}/out/moved"
        )
    canary.check(*said, moved)


async def test_a_server_gets_nothing_of_our_environment(kept: Kept, workspace: Path, canary: Canary) -> None:
    server = local("everything", installed("mcp-server-everything"), timeout_s=30)
    async with hand(kept, workspace, server) as use:
        said = await use("mcp__everything__get-env")
        canary.check(environment_of(kept, "everything"))
    assert "PATH" in said
    assert "HOLABOSS_RUNTIME_TOKEN" not in said
    canary.check(said)


async def test_a_forbidden_server_is_never_reached(kept: Kept, workspace: Path, canary: Canary) -> None:
    policy = PermissionPolicy(rules=[PermissionRule(effect="deny", server="files")])
    async with hand(kept, workspace, files(canary.outside), policy=policy) as use:
        said = [
            await use("mcp__files__read_text_file", path=str(canary.secret)),
            await use("mcp__files__write_file", path=str(canary.target), content="x"),
        ]
        assert all(text.startswith("Denied by policy") for text in said)
        assert [denial.tool_name for denial in use.gate.denials] == [
            "mcp__files__read_text_file",
            "mcp__files__write_file",
        ]
    canary.check(*said)


@pytest.mark.parametrize("profile", ["read-only", "ask", "trusted", "unattended"])
async def test_a_tool_that_can_do_harm_waits_or_is_refused_in_every_profile(
    kept: Kept, workspace: Path, canary: Canary, profile: str
) -> None:
    async with hand(kept, workspace, files(canary.outside), policy=policy_of(profile)) as use:
        try:
            said = await use("mcp__files__write_file", path=str(canary.target), content="x")
        except ApprovalRequired:
            said = "asked"
    assert said == "asked" or said.startswith("Denied by policy")
    canary.check(said)


@pytest.mark.parametrize("name", ["git__evil", "git_", "git!", "_git", "git__", "g i t", "git\u200b"])
async def test_no_server_passes_for_another_one(kept: Kept, workspace: Path, name: str) -> None:
    policy = PermissionPolicy(
        default="deny", rules=[PermissionRule(effect="always_allow", tool="mcp__git__*")]
    )
    async with hand(kept, workspace, bad("normal", name=name), policy=policy) as use:
        (tool,) = [tool for tool in use.tools if tool.endswith("work")]
        assert not tool.startswith("mcp__git__")
        assert (await use(tool)).startswith("Denied by policy")


async def test_a_server_cannot_take_the_place_of_our_tools(
    kept: Kept, workspace: Path, canary: Canary, tmp_path: Path
) -> None:
    names = tmp_path / "names"
    names.write_text(json.dumps(["write", "bash", "read", "mcp__other__read", "../x", "a" * 90]))
    async with hand(kept, workspace, bad("named", str(names))) as use:
        assert set(use.tools) >= {"read", "write", "bash", "mcp__bad__write", "mcp__bad__bash"}
        assert all(tool in ("read", "write", "bash") or tool.startswith("mcp__bad__") for tool in use.tools)
        assert use.tools["write"].origin == {}
        said = await use("write", path="b.txt", content="ours")
    assert (workspace / "b.txt").read_text() == "ours"
    canary.check(said)


async def test_a_claim_to_be_harmless_that_contradicts_itself_counts_for_nothing(
    kept: Kept, workspace: Path
) -> None:
    async with hand(kept, workspace, bad("lies"), policy=policy_of("trusted")) as use:
        facts = use.tools["mcp__bad__destroyer"].facts({})
        assert (facts.server, facts.read_only, facts.destructive) == ("bad", False, True)
        with pytest.raises(ApprovalRequired):
            await use("mcp__bad__destroyer")


async def test_headers_stay_with_the_address_they_were_given_for(kept: Kept, workspace: Path) -> None:
    heard: list[Request] = []

    async def elsewhere(request: Request, wire: Wire) -> None:
        heard.append(request)
        wire.send_json(200, {})

    with HttpServer(elsewhere) as other:

        async def lead_away(request: Request, wire: Wire) -> None:
            wire.send(307, b"", {"location": f"{other.url}/mcp"})

        with HttpServer(lead_away) as server:
            headers = {"X-Api-Key": "key-of-the-person"}
            given = remote("far", f"{server.url}/mcp", headers=headers, timeout_s=30)
            async with hand(kept, workspace, given) as use:
                assert [tool for tool in use.tools if tool.startswith("mcp__")] == []
            await kept.until("far", "failed")  # it is tried again after a pause
            report = await kept.report("far")
    assert report["state"] == "failed"
    assert "not followed" in report["last_error"]
    assert heard == []


async def test_a_server_cannot_shake_off_who_started_it(kept: Kept, workspace: Path) -> None:
    server = bad("normal", environment={"HOLABOSS_PROCESS_OWNER": "somebody"})
    async with hand(kept, workspace, server):
        environment = environment_of(kept, "bad")
        assert f"HOLABOSS_PROCESS_OWNER=host-{os.getpid()}.mcp-" in environment
        assert "somebody" not in environment
