"""The hand that executes: every tool call of a run goes through one sandbox, and only through it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.base import ToolError, ToolOutcome, Workspace
from holaboss_runtime.harness.host.tools.places import Areas


class Sandbox(Protocol):
    def provision(self, workspace_dir: str, mounts: Sequence[Mount] = ()) -> None:
        """Make the workspace and the mounts available. Raises `ToolError` when the workspace is not there."""
        ...

    def check(self, name: str, arguments: dict[str, Any]) -> ToolOutcome | None:
        """What `execute` would say of arguments that are not valid; None for valid ones."""
        ...

    async def execute(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run a tool. What goes wrong is an outcome with `error`; only cancellation is raised."""
        ...


class LocalSandbox:
    """Works in the real folder on this machine."""

    def __init__(self, commands: CommandRunner) -> None:
        self._commands = commands
        self._workspace: Workspace | None = None

    def provision(self, workspace_dir: str, mounts: Sequence[Mount] = ()) -> None:
        root = Path(workspace_dir)
        if not root.is_absolute() or not root.is_dir():
            raise ToolError("The workspace folder does not exist.")
        self._workspace = Workspace(Areas(root.resolve(), mounts), self._commands)

    def check(self, name: str, arguments: dict[str, Any]) -> ToolOutcome | None:
        try:
            TOOLS[name].input_type.model_validate(arguments)
        except ValidationError as error:
            return ToolOutcome(_explain(error), error=True)
        return None

    async def execute(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        assert self._workspace is not None, "provision comes first"
        tool = TOOLS[name]
        try:
            request = tool.input_type.model_validate(arguments)
            return await tool.function(self._workspace, request)
        except ValidationError as error:
            return ToolOutcome(_explain(error), error=True)
        except ToolError as error:
            return ToolOutcome(str(error), error=True)
        except ValueError:  # a NUL, which no command line can carry
            return ToolOutcome("The arguments contain a character that cannot be used here.", error=True)
        except OSError as error:
            return ToolOutcome(f"The system refused: {error.strerror or error}.", error=True)


def _explain(error: ValidationError) -> str:
    problems = (f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors())
    return "The arguments are not valid. " + "; ".join(problems)
