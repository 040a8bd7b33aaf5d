"""The tools of one run by name: this host's own, those the runtime carries out, and those of MCP servers.

A later source cannot take the name of an earlier one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from holaboss_runtime.harness.contract import RunPackage, RuntimeTool
from holaboss_runtime.harness.frames import ToolResult
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.base import HostTool, ToolOutcome, Workspace
from holaboss_runtime.permissions.model import CallFacts

Toolset = dict[str, HostTool]
CallRuntime = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]


def toolset_of(package: RunPackage, call_runtime: CallRuntime, remote: Iterable[HostTool] = ()) -> Toolset:
    """In the order in which the model sees them."""
    own = (TOOLS[name] for name in package.tools if name in TOOLS)
    runtime = (_runtime_tool(tool, call_runtime) for tool in package.runtime_tools)
    tools: Toolset = {}
    for tool in (*own, *runtime, *remote):
        tools.setdefault(tool.name, tool)
    return tools


def _runtime_tool(tool: RuntimeTool, call_runtime: CallRuntime) -> HostTool:
    async def call(_: Workspace, arguments: dict[str, Any]) -> ToolOutcome:
        result = await call_runtime(tool.name, arguments)
        return ToolOutcome(result.text, error=result.error, details=result.details)

    def about(_: dict[str, Any]) -> CallFacts:
        return CallFacts(tool.name, read_only=not tool.mutates)

    return HostTool(
        tool.name,
        tool.description,
        None,
        call,
        alone=tool.mutates,
        about=about,
        hidden=tool.hidden,
        origin={"source": "runtime"},
        schema=dict(tool.input_schema),
    )
