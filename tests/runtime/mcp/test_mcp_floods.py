"""Servers that take more than is theirs: time of the host, and processes that outlive them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from holaboss_runtime.harness.host.mcp.offers import MAX_TOOLS
from holaboss_runtime.harness.host.mcp.schemas import readable_tools
from holaboss_runtime.harness.host.mcp.wire import _Watched
from holaboss_runtime.processes import become_subreaper
from tests.runtime.harness.conftest import sleepers
from tests.runtime.mcp.conftest import MISBEHAVING, Kept, local
from tests.support.processes import wait_until_gone

pytestmark = pytest.mark.anyio


def expensive_schema() -> dict[str, Any]:
    """Each step leads to three times the next one."""
    steps = {str(number): {"anyOf": [{"$ref": f"#/d/{number + 1}"}] * 3} for number in range(12)}
    return {"type": "unknown", "d": steps, "properties": {"a": {"$ref": "#/d/0"}}}


def test_more_tools_than_anybody_can_use_are_not_looked_at() -> None:
    tools: list[Any] = [{"name": f"tool-{number}"} for number in range(MAX_TOOLS + 100)]
    assert len(readable_tools(tools)) == MAX_TOOLS


async def test_other_work_goes_on_while_a_list_is_put_into_form() -> None:
    tools = [{"name": f"tool-{number}", "inputSchema": expensive_schema()} for number in range(50)]
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": tools})
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    sending, receiving = anyio.create_memory_object_stream[Any](1)
    async with sending, receiving:
        await sending.send(SessionMessage(answer))
        working = asyncio.create_task(others())
        await _Watched(receiving, asyncio.Event()).receive()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    assert turns > 3


async def test_a_child_that_hides_from_its_mark_ends_with_its_server(kept: Kept, folder: Path) -> None:
    become_subreaper()
    hidden = "setsid env -i sleep 1000"
    server = local("bad", "sh", "-c", f"{hidden} & exec {sys.executable} {MISBEHAVING} fine")
    await kept.ensure(folder, server)
    left = await sleepers(os.getpid(), 1)

    await kept.connection("bad").close()

    assert wait_until_gone(left) == []
