"""`grep`: search file contents.

The search runs in a process of its own, where an expression of a model that backtracks for ever can be stopped.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from holaboss_runtime.harness.host.search.globs import TYPES
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.places import Place
from holaboss_runtime.harness.host.tools.searching import report, search, shown_path
from holaboss_runtime.permissions.model import CallFacts


class GrepInput(ToolInput):
    pattern: str = Field(min_length=1, max_length=2000, description="Regular expression, for each line")
    path: str = Field(default=".", description="File or folder to search, relative to the workspace")
    glob: str | None = Field(
        default=None, max_length=500, description="Only files like this: *.py or src/**/*.{ts,tsx}"
    )
    type: str | None = Field(default=None, description="Only files of this type: py, js, ts, md, json, …")
    ignore_case: bool = False
    literal: bool = Field(default=False, description="Take the pattern as plain text")
    multiline: bool = Field(default=False, description="Let a match span lines")
    context: int = Field(default=0, ge=0, le=20, description="Lines to show around each match")
    output: Literal["lines", "files", "count"] = Field(
        default="lines", description="Matching lines, or only the files, or how many lines in each file"
    )
    hidden: bool = Field(default=False, description="Search hidden files too")
    no_ignore: bool = Field(default=False, description="Search what .gitignore leaves out too")
    limit: int = Field(default=200, ge=1, le=2000, description="Most lines (or files) to return")


async def grep(workspace: Workspace, request: GrepInput) -> ToolOutcome:
    if request.type is not None and request.type not in TYPES:
        raise ToolError(f"There is no type {request.type[:50]!r}. Known are {', '.join(TYPES)}.")
    if "\0" in request.pattern:  # files with one are binary, so nothing could match
        raise ToolError("The pattern contains a character that cannot be used here.")
    question = request.model_dump(exclude={"path"}) | {"what": "grep"}
    place, found = await search(workspace, request.path, question)
    lines = [line for item in found.items for line in _lines(place, item, request)]
    more = f"there are more than {request.limit}; narrow the search or raise limit"
    notes = found.notes(more=more)
    if not lines and found.summary.get("binary") and place.path.is_file():
        notes.append(f"[{place.shown} is a binary file]")
    return ToolOutcome(report(lines, notes, "No matches."), error=found.timed_out and not lines)


def _lines(place: Place, item: dict[str, Any], request: GrepInput) -> list[str]:
    path = shown_path(place, item["path"])
    if request.output == "files":
        return [path]
    if request.output == "count":
        return [f"{path}:{item['count']}"]
    shown: list[str] = []
    for group in item["groups"]:
        shown += [
            f"{path}{':' if hit else '-'}{number}{':' if hit else '-'}{text}" for number, text, hit in group
        ]
        if request.context:
            shown.append("--")
    return shown[:-1] if request.context else shown


def _about(arguments: dict[str, Any]) -> CallFacts:
    """A search of hidden files reads those that hold secrets, wherever they are below."""
    path = arguments.get("path", ".")
    reads = (path, f"{path}/.env") if arguments.get("hidden") else (path,)
    return CallFacts("grep", reads=reads, read_only=True)


GREP = HostTool("grep", "Search the content of files for a pattern.", GrepInput, grep, about=_about)
