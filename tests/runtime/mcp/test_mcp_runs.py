"""Runs with MCP servers on real hosts: what the model sees, what the gate says, and what is left afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness import native
from holaboss_runtime.harness.contract import McpServer, RunnerEvent, RunPackage
from holaboss_runtime.harness.native import NativeHarness
from holaboss_runtime.harness.services import HostServices
from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule
from tests.runtime.harness.asking import answers_sent, calls, decide, ending, history, told, waiting
from tests.runtime.harness.conftest import Cancel, host_pid, open_harness, sleepers
from tests.runtime.mcp.conftest import bad, installed, local, ref
from tests.runtime.mcp.rig import package_of
from tests.support.processes import PATIENCE_S, descendants, wait_until_gone
from tests.support.scripted_provider import ScriptedProvider, ToolCall, call, say

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def harness(anyio_backend: str) -> AsyncIterator[NativeHarness]:
    async with open_harness(services=listening()) as opened:
        yield opened


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "CANCEL_S", PATIENCE_S)


@pytest.fixture(autouse=True)
async def nothing_left(harness: NativeHarness) -> AsyncIterator[None]:
    yield
    await harness.ask("workspace", "mcp.close", {"workspace_id": "workspace"})


def listening() -> HostServices:
    """The runtime's side, which takes news and does nothing with them."""

    async def hear(_: dict[str, Any]) -> None: ...

    services = HostServices()
    services.register("mcp.changed", hear)
    return services


async def run(harness: NativeHarness, package: RunPackage) -> list[RunnerEvent]:
    return [event async for event in harness.run(package, Cancel())]


def offered(provider: ScriptedProvider, number: int = 0) -> dict[str, dict[str, Any]]:
    """The tools in a request, by name, in their order."""
    return {tool["function"]["name"]: tool["function"] for tool in provider.requests[number].body["tools"]}


def server_processes(harness: NativeHarness) -> list[int]:
    return [process.pid for process in descendants(host_pid(harness)) if "misbehaving" in process.command]


async def test_a_model_calls_a_tool_of_a_server(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    provider.enqueue(calls(ToolCall("mcp__bad__work", {"text": "x"})), say("done"))
    events = await run(harness, package_of(folder, bad("normal"), provider=provider))
    status, result = ending(events)
    assert status == "success"
    assert list(offered(provider)) == ["mcp__bad__read", "mcp__bad__work"]
    assert offered(provider)["mcp__bad__work"]["parameters"]["properties"] == {"text": {"type": "string"}}
    assert answers_sent(provider.requests[1].body)[0][1] == 'work: {"text": "x"}'
    (completed,) = told(events, "completed")
    assert (completed["source"], completed["mcp_server_id"], completed["tool_id"]) == (
        "mcp",
        "bad",
        "bad.work",
    )
    assert result.tool_calls[0]["tool_name"] == "mcp__bad__work"


async def test_five_runs_with_five_servers_use_five_processes(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    servers = [bad("normal", name=f"server{number}") for number in range(5)]
    wanted = calls(*(ToolCall(f"mcp__server{number}__work", {}) for number in range(5)))
    provider.respond_with(lambda request: say("done") if answers_sent(request.body) else wanted)
    package = package_of(folder, *servers, provider=provider)
    endings = await asyncio.gather(
        *(run(harness, package.model_copy(update={"session_id": f"session{n}"})) for n in range(5))
    )
    assert [ending(events)[0] for events in endings] == ["success"] * 5
    assert all(len(told(events, "completed")) == 5 for events in endings)
    assert len(server_processes(harness)) == 5
    (status,) = await harness.ask_all("mcp.status", {"workspace_id": "workspace"})
    assert sorted(report["pid"] for report in status["servers"]) == sorted(server_processes(harness))
    assert {report["state"] for report in status["servers"]} == {"ready"}


async def test_a_named_tool_that_is_missing_fails_the_run(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    package = package_of(
        folder, bad("normal", timeout_s=30), provider=provider, mcp_tool_refs=[ref("bad", "gone")]
    )
    events = await run(harness, package)
    assert ending(events)[0] == "mcp_tool_missing"
    assert events[-1].payload["message"] == (
        "The tool bad.gone is allowed in workspace.yaml, but the MCP server bad does not offer it."
    )
    assert provider.requests == []


async def test_a_named_tool_of_a_server_that_fails_says_why(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    package = package_of(
        folder, bad("dies_at_start", timeout_s=20), provider=provider, mcp_tool_refs=[ref("bad", "work")]
    )
    events = await run(harness, package)
    assert ending(events)[0] == "mcp_tool_missing"
    assert "It ended with code 7. It wrote: no configuration found" in events[-1].payload["message"]


async def test_a_server_that_fails_is_left_out_visibly(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    provider.enqueue(say("done"))
    package = package_of(folder, bad("dies_at_start"), bad("normal", name="good"), provider=provider)
    events = await run(harness, package)
    assert ending(events)[0] == "success"
    (notice,) = [event.payload for event in events if event.event_type == RunEvent.RUN_NOTICE]
    assert notice["code"] == "mcp_server_unavailable"
    assert notice["message"].startswith("The MCP server bad is left out of this run. It ended with code 7.")
    assert list(offered(provider)) == ["mcp__good__read", "mcp__good__work"]
    assert "The MCP server bad is not available in this run" in str(provider.requests[0].body["messages"])


async def test_schemas_that_lie_reach_the_model_as_objects(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    provider.enqueue(say("done"))
    events = await run(harness, package_of(folder, bad("lies"), provider=provider))
    assert ending(events)[0] == "success"
    for name, tool in offered(provider).items():
        assert tool["parameters"]["type"] == "object", name
        assert len(str(tool)) < 20_000, name
    assert "\x1b" not in str(offered(provider))


def by_server(effect: str, **fields: Any) -> PermissionPolicy:
    return PermissionPolicy(
        default="always_allow", rules=[PermissionRule(effect=effect, tool="mcp__*", **fields)]
    )


async def test_a_call_waits_for_an_approval_and_is_made_once(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    provider.enqueue(calls(ToolCall("mcp__bad__work", {"text": "first"})))
    package = package_of(folder, bad("normal"), provider=provider, permissions=by_server("always_ask"))
    asked = waiting(await run(harness, package))
    (pending,) = asked.pending
    assert (pending.kind, pending.tool_name) == ("tool_confirmation", "mcp__bad__work")
    provider.enqueue(say("done"))
    decided = package.model_copy(
        update={
            "history": history(asked),
            "decisions": [decide(pending, tool_args={"text": "changed"})],
            "instruction": "",
        }
    )
    assert ending(await run(harness, decided))[0] == "success"
    assert answers_sent(provider.requests[-1].body)[0][1] == 'work: {"text": "changed"}'


async def test_the_limit_for_hidden_tools_leaves_the_rest_to_search(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    provider.enqueue(say("done"))
    assert ending(await run(harness, package_of(folder, bad("many"), provider=provider)))[0] == "success"
    names = list(offered(provider))
    assert names[:25] == [f"mcp__bad__tool{number:03}" for number in range(25)]
    assert "mcp__bad__tool030" not in names
    assert any("search" in name for name in names[25:])


async def test_stopping_a_run_whose_server_hangs(
    harness: NativeHarness, provider: ScriptedProvider, folder: Path
) -> None:
    before = host_pid(harness)
    provider.enqueue(call("mcp__bad__work"))
    cancel = Cancel()
    events: list[RunnerEvent] = []
    package = package_of(folder, bad("hangs_in_call", timeout_s=60), provider=provider)
    async with asyncio.timeout(PATIENCE_S):
        async for event in harness.run(package, cancel):
            events.append(event)
            if event.event_type == RunEvent.TOOL_CALL and event.payload["phase"] == "started":
                cancel.pull()
    assert ending(events)[0] == "paused"
    assert host_pid(harness) == before


async def test_a_killed_host_leaves_no_server_behind(
    provider: ScriptedProvider, folder: Path, allow_log: Any
) -> None:
    allow_log("holaboss_runtime.harness.native")
    provider.enqueue(say("done"))
    real: list[McpServer] = [local("time", installed("mcp-server-time"), timeout_s=30)]
    async with open_harness(services=listening()) as harness:
        package = package_of(folder, bad("grandchildren"), *real, provider=provider)
        assert ending(await run(harness, package))[0] == "success"
        started = await sleepers(host_pid(harness), 3)
        assert len(started) >= 5
        os.kill(host_pid(harness), signal.SIGKILL)
        assert await asyncio.to_thread(wait_until_gone, started) == []


def test_a_host_without_servers_does_not_load_the_library() -> None:
    script = (
        "import sys\n"
        "import holaboss_runtime.harness.host.main, holaboss_runtime.harness.host.run\n"
        "import holaboss_runtime.harness.host.toolset, holaboss_runtime.harness.host.models\n"
        "sys.exit(' '.join(sorted(n for n in sys.modules if n.split('.')[0] in ('mcp', 'mcp_types'))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stderr.strip(), done.returncode) == ("", 0)
