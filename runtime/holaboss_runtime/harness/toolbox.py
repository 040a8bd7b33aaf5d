"""The tools a run may use that only the runtime can carry out: those that need its records or its processes.

Whoever owns such a thing registers tools here once, at composition; an executor gets their definitions with its package
and calls them back by name. Permission is asked in the gate of the executor, before a call arrives here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import Mount, RunPackage, RuntimeTool
from holaboss_runtime.permissions.model import PermissionPolicy

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """The run that calls. `workspace_dir`, `mounts` and `permissions` are for who runs something on its behalf."""

    workspace_id: str
    session_id: str
    session_kind: str
    input_id: str
    wake_id: str
    provider_id: str
    model_id: str
    workspace_dir: str = ""
    mounts: tuple[Mount, ...] = ()
    permissions: PermissionPolicy = field(default_factory=PermissionPolicy)

    @classmethod
    def of(cls, package: RunPackage) -> Caller:
        return cls(
            package.workspace_id,
            package.session_id,
            package.session_kind,
            package.input_id,
            package.wake_id,
            package.provider_id,
            package.model_id,
            package.workspace_dir,
            tuple(package.mounts),
            package.permissions,
        )


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """`text` is what the model reads, `details` what a screen may show of it."""

    text: str
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    error: bool = False


ToolFunction = Callable[[Caller, Any], Awaitable[ToolAnswer]]


@dataclass(frozen=True, slots=True)
class ToolboxTool:
    """`input_type` checks the arguments before `function` gets them; `offered` says which kinds of session have it, and
    `refusal` is the code the others are answered with. `command_argument` names the argument that is a shell text, so
    that it is judged like a command."""

    name: str
    description: str
    input_type: type[BaseModel]
    function: ToolFunction
    mutates: bool = True
    hidden: bool = False
    timeout_s: float = 30.0
    offered: Callable[[str], bool] = lambda session_kind: True
    refusal: str = "tool_not_offered"
    command_argument: str | None = None

    def definition(self) -> RuntimeTool:
        schema = self.input_type.model_json_schema()
        for shown in (schema, *schema.get("properties", {}).values()):
            shown.pop("title", None)
        schema.pop("description", None)
        return RuntimeTool(
            name=self.name,
            description=self.description,
            input_schema=schema,
            mutates=self.mutates,
            hidden=self.hidden,
            timeout_s=self.timeout_s,
            command_argument=self.command_argument,
        )


class Toolbox:
    """Filled while the services are composed, read afterwards."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolboxTool] = {}
        self._definitions: dict[str, RuntimeTool] = {}

    def register(self, *tools: ToolboxTool) -> None:
        """Raises `ValueError` for a name that is taken."""
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"there is a tool {tool.name} already")
            self._tools[tool.name] = tool

    def definitions(self, session_kind: str) -> list[RuntimeTool]:
        """Those that runs of such a session may be given, in the order of registration."""
        return [self._definition(tool) for tool in self._tools.values() if tool.offered(session_kind)]

    def _definition(self, tool: ToolboxTool) -> RuntimeTool:
        """Made once: working out a schema costs a millisecond, and every run asks."""
        if tool.name not in self._definitions:
            self._definitions[tool.name] = tool.definition()
        return self._definitions[tool.name]

    async def call(self, caller: Caller, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Never raises but for cancellation: whatever goes wrong is an answer with `error`."""
        tool = self._tools.get(name)
        if tool is None or not tool.offered(caller.session_kind):
            code = "tool_unknown" if tool is None else tool.refusal
            return ToolAnswer(f"There is no tool {name} here.", {"code": code}, error=True)
        try:
            async with asyncio.timeout(tool.timeout_s):
                return await tool.function(caller, tool.input_type.model_validate(arguments))
        except ValidationError as error:
            return ToolAnswer(explain(error), error=True)
        except DomainError as error:
            return ToolAnswer(error.detail, {"code": error.code}, error=True)
        except TimeoutError:
            return ToolAnswer(f"{name} did not finish within {tool.timeout_s:g} seconds.", error=True)
        except Exception:
            log.exception("the tool %s failed for session %s", name, caller.session_id)
            return ToolAnswer(f"{name} failed inside Holaboss. The log has the details.", error=True)


def explain(error: ValidationError) -> str:
    """What is wrong with arguments, in words a model can act on."""
    problems = (f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors())
    return "The arguments are not valid. " + "; ".join(problems)
