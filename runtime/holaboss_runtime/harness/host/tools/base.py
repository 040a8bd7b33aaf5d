"""What a tool is: a name, typed input, and a function that works in a workspace and what is mounted beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from holaboss_runtime.harness.contract import ActionKind, RunPackage
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.spill import Spill
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.places import PRIVATE_FOLDER, Areas, Place, PlaceError
from holaboss_runtime.harness.host.tools.seen import SeenFiles
from holaboss_runtime.permissions.model import CallFacts

SKIPPED_FOLDERS = frozenset({".git", PRIVATE_FOLDER, "node_modules", ".venv"})


class ToolInput(BaseModel):
    """Unknown arguments are refused, so that a model learns of its mistake instead of being half obeyed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolError(Exception):
    """A tool could not do what was asked; the message goes to the model."""


@dataclass(frozen=True)
class Workspace:
    """What a tool works with: the places it may reach, the runner of its commands, the run it belongs to, and what
    that run has seen of files."""

    areas: Areas
    commands: CommandRunner
    package: RunPackage
    seen: SeenFiles = field(default_factory=SeenFiles)

    @property
    def root(self) -> Path:
        return self.areas.workspace.root

    @property
    def spill(self) -> Spill:
        """Where results too long for a model are kept."""
        return Spill(self.root, self.package.session_id)

    def locate(self, path: str, *, for_writing: bool = False) -> Place:
        """The real place behind what a model wrote. Raises `ToolError` when it leads anywhere it must not."""
        try:
            return self.areas.locate(path, for_writing=for_writing)
        except PlaceError as error:
            raise ToolError(str(error)) from error

    def named(self, path: str) -> str:
        """The same for whoever judges the path: as it is shown, or as it was written where it leads nowhere."""
        try:
            return self.areas.locate(path).shown
        except (PlaceError, OSError, ValueError, TypeError):
            return path


ToolFunction = Callable[[Workspace, Any], Awaitable[ToolOutcome]]


@dataclass(frozen=True)
class HostTool:
    """`alone` tools change things and never run at the same time as another one of the same answer.

    `function` gets an `input_type`, or where that is None the arguments as they are. `about` says what a call with
    given arguments is about, for the gate; without it only the name is known. A call of a tool that `waits` ends the
    run until somebody has answered. `hidden` tools are found by tool search only. `note_on_mounts` is added to the
    description when there is something mounted. `origin` says whose tool it is, for whoever shows the call.
    """

    name: str
    description: str
    input_type: type[ToolInput] | None
    function: ToolFunction
    alone: bool = False
    note_on_mounts: str = ""
    about: Callable[[dict[str, Any]], CallFacts] | None = None
    waits: ActionKind | None = None
    hidden: bool = False
    origin: dict[str, Any] = field(default_factory=dict[str, Any])
    schema: dict[str, Any] = field(default_factory=dict[str, Any])

    def facts(self, arguments: dict[str, Any]) -> CallFacts:
        return self.about(arguments) if self.about is not None else CallFacts(self.name)

    def __post_init__(self) -> None:
        if self.input_type is None:
            return
        schema = self.input_type.model_json_schema()
        for shown in (schema, *schema.get("properties", {}).values()):
            shown.pop("title", None)
        schema.pop("description", None)
        self.schema.update(schema)
