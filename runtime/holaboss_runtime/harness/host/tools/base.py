"""What a tool is: a name, typed input, and a function that works inside a workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.workspace.paths import resolve_inside

PRIVATE_FOLDER = ".holaboss"
SKIPPED_FOLDERS = frozenset({".git", PRIVATE_FOLDER, "node_modules", ".venv"})


class ToolInput(BaseModel):
    """Unknown arguments are refused, so that a model learns of its mistake instead of being half obeyed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class ToolOutcome:
    """What the model reads (`text`), and what the runtime is told beside it."""

    text: str
    error: bool = False
    changed_paths: tuple[str, ...] = ()
    containment: str | None = None


class ToolError(Exception):
    """A tool could not do what was asked; the message goes to the model."""


@dataclass(frozen=True)
class Workspace:
    """The folder a tool works in, and the only way from a model's path to a file."""

    root: Path
    commands: CommandRunner

    def locate(self, path: str, *, for_writing: bool = False) -> Path:
        """The real path behind what a model wrote. Raises `ToolError` when it leads anywhere it must not."""
        if path == str(self.root) or path.startswith(f"{self.root}/"):
            path = path[len(str(self.root)) :].lstrip("/")  # models like absolute paths
        try:
            found = resolve_inside(self.root, path or ".")
        except DomainError as error:
            raise ToolError(error.detail) from error
        parts = [part.casefold() for part in found.relative_to(self.root).parts]
        if PRIVATE_FOLDER in parts[:1]:
            raise ToolError(f"{PRIVATE_FOLDER} belongs to the runtime and is not accessible.")
        if for_writing and ".git" in parts:
            raise ToolError("Files of git are not written directly; use git commands.")
        return found

    def name_of(self, path: Path) -> str:
        """A path as the model and the person see it: relative to the workspace, with forward slashes."""
        return path.relative_to(self.root).as_posix()


ToolFunction = Callable[[Workspace, Any], Awaitable[ToolOutcome]]


@dataclass(frozen=True)
class HostTool:
    """`alone` tools change things and never run at the same time as another one of the same answer."""

    name: str
    description: str
    input_type: type[ToolInput]
    function: ToolFunction
    alone: bool = False
    schema: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        schema = self.input_type.model_json_schema()
        for shown in (schema, *schema.get("properties", {}).values()):
            shown.pop("title", None)
        schema.pop("description", None)
        self.schema.update(schema)
