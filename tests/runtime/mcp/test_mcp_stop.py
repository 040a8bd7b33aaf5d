"""Ending one server because it is not allowed any more: at once, also under a run, and no other one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holaboss_runtime.harness.host.mcp.workspace import WorkspaceServers
from holaboss_runtime.harness.host.tools.base import ToolError
from tests.runtime.mcp.conftest import Kept, bad
from tests.support.processes import PATIENCE_S, is_running

pytestmark = pytest.mark.anyio


async def test_a_server_is_ended_under_the_run_that_uses_it(kept: Kept, folder: Path) -> None:
    first, other = bad("normal", name="first"), bad("normal", name="other")
    before = await kept.ensure(folder, first, other)
    servers: WorkspaceServers = kept.servers._workspaces["workspace"]
    async with servers.held([first, other]) as (held, kept_on):
        async with asyncio.timeout(PATIENCE_S):
            await kept.ask("mcp.stop", server="first")
        assert not is_running(before["first"]["pid"])
        with pytest.raises(ToolError, match="first is not available"):
            await held.call("work", {"text": "x"})
        assert not (await kept_on.call("work", {"text": "x"})).error
    assert [one["name"] for one in (await kept.ask("mcp.status"))["servers"]] == ["other"]
    assert kept.states("first")[-1] == "stopped"

    again = await kept.ensure(folder, first)
    assert again["first"]["state"] == "ready"
    assert again["first"]["pid"] != before["first"]["pid"]
    assert again["other"]["pid"] == before["other"]["pid"]


async def test_what_does_not_run_is_stopped_quietly(kept: Kept, folder: Path) -> None:
    assert await kept.ask("mcp.stop", server="nobody") == {}
    await kept.ensure(folder, bad("normal"))
    assert await kept.ask("mcp.stop", server="nobody") == {}
    assert (await kept.report("bad"))["state"] == "ready"
