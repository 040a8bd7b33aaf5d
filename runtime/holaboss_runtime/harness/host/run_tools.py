"""The tools of a run as the agent loop sees them: those behind the gate, and those answered outside.

They are the same in every step of a run, so they are described once.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import BinaryContent, CallDeferred, RunContext, ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from holaboss_runtime.harness.contract import CustomTool, RunPackage
from holaboss_runtime.harness.host.gate import ToolGate
from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.harness.host.toolset import Toolset

TOOL_SEARCH = "search_tools"
"""The agent loop's own, by which hidden tools are found."""

_ANYTHING = SchemaValidator(core_schema.any_schema())  # the sandbox checks arguments itself


class RunTools(AbstractToolset[object]):
    """In the order of the toolset; a custom tool cannot take the name of one of these. `mistakes` is how often a model
    may get the form of a call wrong."""

    def __init__(self, package: RunPackage, tools: Toolset, gate: ToolGate, *, mistakes: int) -> None:
        self._own = tools
        self._gate = gate
        custom = [tool for tool in package.custom_tools if tool.name not in {*tools, TOOL_SEARCH}]
        described = [
            *(_own(tool, mounts=bool(package.mounts)) for tool in tools.values()),
            *(_custom(tool) for tool in custom),
        ]
        self._tools = {
            each.name: ToolsetTool[object](
                toolset=self, tool_def=each, max_retries=mistakes, args_validator=_ANYTHING
            )
            for each in described
        }

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        return self._tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> ToolReturn[str]:
        call_id = ctx.tool_call_id or ""
        if (own := self._own.get(name)) is not None:
            return await self._call(own, call_id, tool_args)
        if (refusal := self._gate.refusal(call_id, name)) is not None:
            return ToolReturn(return_value=refusal.text, metadata=refusal)
        raise CallDeferred

    async def _call(self, tool: HostTool, call_id: str, arguments: dict[str, Any]) -> ToolReturn[str]:
        outcome = await self._gate.execute(call_id, tool.name, arguments)
        if tool.waits is not None and not outcome.error:
            raise CallDeferred
        pictures = [BinaryContent(one.content, media_type=one.media_type) for one in outcome.pictures]
        return ToolReturn(return_value=outcome.text, content=pictures or None, metadata=outcome)


def _own(tool: HostTool, *, mounts: bool) -> ToolDefinition:
    noted = mounts and tool.note_on_mounts
    description = f"{tool.description} {tool.note_on_mounts}" if noted else tool.description
    return ToolDefinition(
        name=tool.name,
        description=description,
        parameters_json_schema=tool.schema,
        strict=False,  # few servers know strict schemas
        sequential=tool.alone,
        defer_loading=tool.hidden,
    )


def _custom(tool: CustomTool) -> ToolDefinition:
    schema: dict[str, Any] = {"type": "object", "properties": {}, **tool.input_schema}
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=schema, strict=False
    )
