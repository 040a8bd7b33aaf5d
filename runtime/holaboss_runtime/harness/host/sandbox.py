"""The hand that executes: every tool call of a run goes through one sandbox, and only through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.attachments import attachments_mount
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.spill import results_mount
from holaboss_runtime.harness.host.text import clip
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.places import Areas
from holaboss_runtime.harness.toolbox import explain
from holaboss_runtime.permissions.model import CallFacts

MAX_PROBLEM_CHARS = 4_000
Watch = Callable[[CallFacts], AbstractAsyncContextManager[None]]
"""Entered around each call that may change files, with what the call is about."""


class Sandbox(Protocol):
    def provision(self, package: RunPackage) -> None:
        """Make the workspace and the mounts available. Raises `ToolError` when the workspace is not there."""
        ...

    def check(self, name: str, arguments: dict[str, Any]) -> ToolOutcome | None:
        """What `execute` would say of arguments that are not valid; None for valid ones."""
        ...

    def facts(self, name: str, arguments: dict[str, Any]) -> CallFacts:
        """What a call is about. The arguments may be anything."""
        ...

    async def execute(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run a tool. What goes wrong is an outcome with `error`; only cancellation is raised."""
        ...


def _unwatched(_: CallFacts) -> AbstractAsyncContextManager[None]:
    return nullcontext()


class LocalSandbox:
    """Works in the real folder on this machine."""

    def __init__(
        self, commands: CommandRunner, tools: Mapping[str, HostTool], watch: Watch | None = None
    ) -> None:
        self._commands = commands
        self._tools = tools
        self._watch: Watch = watch or _unwatched
        self._workspace: Workspace | None = None

    def provision(self, package: RunPackage) -> None:
        root = Path(package.workspace_dir)
        if not root.is_absolute() or not root.is_dir():
            raise ToolError("The workspace folder does not exist.")
        root = root.resolve()
        areas = Areas(root, [*package.mounts, results_mount(root), attachments_mount(root)])
        self._workspace = Workspace(areas, self._commands, package)

    def check(self, name: str, arguments: dict[str, Any]) -> ToolOutcome | None:
        input_type = self._tools[name].input_type
        try:
            if input_type is not None:
                input_type.model_validate(arguments)
        except ValidationError as error:
            return ToolOutcome(clip(explain(error), MAX_PROBLEM_CHARS), error=True)
        return None

    def facts(self, name: str, arguments: dict[str, Any]) -> CallFacts:
        try:
            facts = self._tools[name].facts(arguments)
        except (ValueError, TypeError, KeyError, AttributeError):  # arguments the tool will refuse
            return CallFacts(name)
        return replace(facts, reads=self._real(facts.reads), writes=self._real(facts.writes))

    def _real(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Where they lead, as they are shown: a link or another spelling must not hide what a call is about."""
        workspace = self._workspace
        return tuple(workspace.named(path) if workspace is not None else path for path in paths)

    async def execute(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        assert self._workspace is not None, "provision comes first"
        outcome = await self._outcome(self._workspace, name, arguments)
        return await self._workspace.spill.bounded(name, outcome)

    async def _outcome(self, workspace: Workspace, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        tool = self._tools[name]
        try:
            request = arguments if tool.input_type is None else tool.input_type.model_validate(arguments)
            if not tool.alone:
                return await tool.function(workspace, request)
            async with self._watch(self.facts(name, arguments)):
                return await tool.function(workspace, request)
        except ValidationError as error:
            return ToolOutcome(clip(explain(error), MAX_PROBLEM_CHARS), error=True)
        except ToolError as error:
            return ToolOutcome(str(error), error=True)
        except ValueError:  # a NUL, which no command line can carry
            return ToolOutcome("The arguments contain a character that cannot be used here.", error=True)
        except OSError as error:
            return ToolOutcome(f"The system refused: {error.strerror or error}.", error=True)
