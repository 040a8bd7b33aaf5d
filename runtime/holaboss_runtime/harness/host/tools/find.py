"""`find`: files by name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.searching import report, search, shown_path
from holaboss_runtime.permissions.model import CallFacts


class FindInput(ToolInput):
    pattern: str = Field(
        min_length=1, max_length=500, description="Glob such as *.md, src/**/test_*.py or *.{png,jpg}"
    )
    path: str = Field(default=".", description="Folder to search, relative to the workspace")
    kind: Literal["file", "folder", "any"] = Field(default="file", description="What to look for")
    hidden: bool = Field(default=False, description="Find hidden ones too")
    no_ignore: bool = Field(default=False, description="Find what .gitignore leaves out too")
    limit: int = Field(default=500, ge=1, le=5000, description="Most to return")


async def find(workspace: Workspace, request: FindInput) -> ToolOutcome:
    place = workspace.locate(request.path)
    if not place.path.is_dir():
        raise ToolError(f"{place.shown} is not a folder.")
    question = request.model_dump(exclude={"path"}) | {"what": "find"}
    place, found = await search(workspace, request.path, question)
    lines = [shown_path(place, item["path"]) for item in found.items]
    notes = found.notes(more="there are more; narrow the pattern or raise limit")
    return ToolOutcome(report(lines, notes, "No files match."), error=found.timed_out and not lines)


def _about(arguments: dict[str, Any]) -> CallFacts:
    return CallFacts("find", reads=(arguments.get("path", "."),), read_only=True)


FIND = HostTool("find", "List files whose name matches a glob.", FindInput, find, about=_about)
