"""The tools of one run by name: this host's own, those the runtime carries out, and those of MCP servers.

A later source cannot take the name of an earlier one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from holaboss_runtime.harness.contract import RunPackage, RuntimeTool
from holaboss_runtime.harness.frames import ToolResult
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.base import HostTool, Workspace
from holaboss_runtime.harness.host.tools.image_generate import NAME as IMAGE_TOOL
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.skill import SKILL_TOOL
from holaboss_runtime.harness.host.web.choice import SEARCH, searches_natively
from holaboss_runtime.permissions.model import CallFacts

Toolset = dict[str, HostTool]

HIDDEN = ("terminal_*", "list_background_tasks", "continue_subagent", "resume_subagent")
"""Our own tools that few runs need: a model finds them by searching. Together with the rest they would cost every
request more than they are worth."""

MOST_VISIBLE = 40
"""With more tools than this, those of MCP servers are found by searching as well."""

CallRuntime = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]


def toolset_of(package: RunPackage, call_runtime: CallRuntime, remote: Iterable[HostTool] = ()) -> Toolset:
    """In the order in which the model sees them."""
    own = (TOOLS[name] for name in package.tools if name in TOOLS and _is_of_use(name, package))
    runtime = (_runtime_tool(tool, call_runtime) for tool in package.runtime_tools)
    tools: Toolset = {}
    for tool in (*own, *runtime):
        tools.setdefault(tool.name, _hidden(tool) if fits_any(tool.name, HIDDEN) else tool)
    foreign = {tool.name: tool for tool in remote if tool.name not in tools}
    visible = sum(not tool.hidden for tool in (*tools.values(), *foreign.values()))
    crowded = visible > MOST_VISIBLE
    return tools | {name: _hidden(tool) if crowded else tool for name, tool in foreign.items()}


def fits_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _hidden(tool: HostTool) -> HostTool:
    return replace(tool, hidden=True)


def _is_of_use(name: str, package: RunPackage) -> bool:
    """Without any skill there is nothing to load, and without somebody who answers nothing to ask for."""
    if name == SEARCH:
        return package.web_search is not None and not searches_natively(package)
    if name == IMAGE_TOOL:
        return package.image_generation is not None
    return name != SKILL_TOOL or bool(package.workspace_skill_dirs)


def _runtime_tool(tool: RuntimeTool, call_runtime: CallRuntime) -> HostTool:
    async def call(_: Workspace, arguments: dict[str, Any]) -> ToolOutcome:
        result = await call_runtime(tool.name, arguments)
        return ToolOutcome(result.text, error=result.error, details=result.details)

    def about(arguments: dict[str, Any]) -> CallFacts:
        command = None if tool.command_argument is None else str(arguments[tool.command_argument])
        return CallFacts(tool.name, command=command, read_only=not tool.mutates)

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
