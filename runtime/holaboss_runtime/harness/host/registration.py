"""The tools of a run as the agent loop sees them: those behind the gate, and those answered outside."""

from __future__ import annotations

from typing import Any

from pydantic_ai import BinaryContent, CallDeferred, RunContext, Tool, ToolReturn

from holaboss_runtime.harness.contract import CustomTool, RunPackage
from holaboss_runtime.harness.host.gate import ToolGate
from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.harness.host.toolset import Toolset

TOOL_SEARCH = "search_tools"
"""The agent loop's own, by which hidden tools are found."""


def register_tools(package: RunPackage, tools: Toolset, gate: ToolGate) -> list[Tool[object]]:
    """In the order of the toolset. A custom tool cannot take the name of one of these."""
    own = [_own(tool, gate, mounts=bool(package.mounts)) for tool in tools.values()]
    taken = {*tools, TOOL_SEARCH}
    return [*own, *(_custom(tool, gate) for tool in package.custom_tools if tool.name not in taken)]


def _own(tool: HostTool, gate: ToolGate, *, mounts: bool) -> Tool[object]:
    async def call(context: RunContext[object], /, **arguments: Any) -> ToolReturn[str]:  # noqa: ANN401 - checked by the sandbox
        outcome = await gate.execute(context.tool_call_id or "", tool.name, arguments)
        if tool.waits is not None and not outcome.error:
            raise CallDeferred
        pictures = [BinaryContent(one.content, media_type=one.media_type) for one in outcome.pictures]
        return ToolReturn(return_value=outcome.text, content=pictures or None, metadata=outcome)

    description = (
        f"{tool.description} {tool.note_on_mounts}" if mounts and tool.note_on_mounts else tool.description
    )
    registered = Tool[object].from_schema(
        call, tool.name, description, tool.schema, takes_ctx=True, sequential=tool.alone
    )
    registered.strict = False  # few servers know strict schemas, and the sandbox checks arguments itself
    registered.defer_loading = tool.hidden
    return registered


def _custom(tool: CustomTool, gate: ToolGate) -> Tool[object]:
    async def call(context: RunContext[object], /, **_: Any) -> ToolReturn[str]:  # noqa: ANN401 - checked by whoever answers
        if (refusal := gate.refusal(context.tool_call_id or "", tool.name)) is not None:
            return ToolReturn(return_value=refusal.text, metadata=refusal)
        raise CallDeferred

    schema: dict[str, Any] = {"type": "object", "properties": {}, **tool.input_schema}
    registered = Tool[object].from_schema(call, tool.name, tool.description, schema, takes_ctx=True)
    registered.strict = False
    return registered
