"""What a tool is: a name, typed input, and a function that works in a workspace and what is mounted beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.tools.places import PRIVATE_FOLDER, Areas, Place, PlaceError

SKIPPED_FOLDERS = frozenset({".git", PRIVATE_FOLDER, "node_modules", ".venv"})


class ToolInput(BaseModel):
    """Unknown arguments are refused, so that a model learns of its mistake instead of being half obeyed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class ToolOutcome:
    """What the model reads (`text`), and what the runtime is told beside it. `changed_paths` lie in the workspace."""

    text: str
    error: bool = False
    changed_paths: tuple[str, ...] = ()
    containment: str | None = None


class ToolError(Exception):
    """A tool could not do what was asked; the message goes to the model."""


@dataclass(frozen=True)
class Workspace:
    """What a tool works with: the places it may reach, and the runner of its commands."""

    areas: Areas
    commands: CommandRunner

    @property
    def root(self) -> Path:
        return self.areas.workspace.root

    def locate(self, path: str, *, for_writing: bool = False) -> Place:
        """The real place behind what a model wrote. Raises `ToolError` when it leads anywhere it must not."""
        try:
            return self.areas.locate(path, for_writing=for_writing)
        except PlaceError as error:
            raise ToolError(str(error)) from error


ToolFunction = Callable[[Workspace, Any], Awaitable[ToolOutcome]]


@dataclass(frozen=True)
class HostTool:
    """`alone` tools change things and never run at the same time as another one of the same answer.

    `note_on_mounts` is added to the description when there is something mounted.
    """

    name: str
    description: str
    input_type: type[ToolInput]
    function: ToolFunction
    alone: bool = False
    note_on_mounts: str = ""
    schema: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        schema = self.input_type.model_json_schema()
        for shown in (schema, *schema.get("properties", {}).values()):
            shown.pop("title", None)
        schema.pop("description", None)
        self.schema.update(schema)
