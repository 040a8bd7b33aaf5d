"""`grep`: search file contents.

It runs the system's `grep` like any other command: contained, with a time limit and stoppable. A pattern
from a model must not run in this process, where one that backtracks for ever could not be stopped.
"""

from __future__ import annotations

from pydantic import Field

from holaboss_runtime.containment.bubblewrap import View
from holaboss_runtime.harness.host.tools.base import (
    SKIPPED_FOLDERS,
    HostTool,
    ToolError,
    ToolInput,
    ToolOutcome,
    Workspace,
)
from holaboss_runtime.harness.host.tools.places import Place

TIMEOUT_S = 30.0
MAX_LINE_CHARS = 400


class GrepInput(ToolInput):
    pattern: str = Field(min_length=1, description="POSIX extended regular expression")
    path: str = Field(default=".", description="File or folder to search, relative to the workspace")
    glob: str | None = Field(default=None, description="Only files with a name like this, for example *.py")
    ignore_case: bool = False
    literal: bool = Field(default=False, description="Take the pattern as plain text")
    context: int = Field(default=0, ge=0, le=20, description="Lines to show around each match")
    limit: int = Field(default=200, ge=1, le=2000, description="Most lines to return")


async def grep(workspace: Workspace, request: GrepInput) -> ToolOutcome:
    place = workspace.locate(request.path)
    if not place.path.exists():
        raise ToolError(f"{place.shown} does not exist.")
    view = View(place.area.root, writable=False)
    inside = place.path.relative_to(view.folder).as_posix()
    arguments = _arguments(request, f"./{inside}" if inside != "." else inside)
    result = await workspace.commands.run(view, arguments, TIMEOUT_S)
    if result.exit_code is None:
        raise ToolError(f"The search took longer than {TIMEOUT_S:g} seconds. Narrow the path or the pattern.")
    if result.exit_code > 1 and not result.output.strip():
        raise ToolError("The search failed.")
    if result.exit_code == 1 and not result.output:
        return ToolOutcome("No matches.", containment=result.containment)
    lines = [_shown(line, place, view)[:MAX_LINE_CHARS] for line in result.output.splitlines()]
    if len(lines) > request.limit:
        lines = [*lines[: request.limit], f"[{len(lines) - request.limit} more lines]"]
    error = result.exit_code > 1 and lines[0].startswith("grep: ")  # 2 with matches: a file was unreadable
    return ToolOutcome("\n".join(lines), error=error, containment=result.containment)


def _shown(line: str, place: Place, view: View) -> str:
    """A line of output with the path as the model knows it; without mounts that is just the path without `./`."""
    if place.in_workspace or not line.startswith("./"):
        return line.removeprefix("./")
    start = f"./{place.area.root.name}" if place.area.root != view.folder else "."
    return place.name_of(place.area.root) + line.removeprefix(start)


def _arguments(request: GrepInput, target: str) -> list[str]:
    arguments = ["grep", "-r", "-n", "-H", "-I", "-s", "-F" if request.literal else "-E"]
    arguments += [f"--exclude-dir={name}" for name in sorted(SKIPPED_FOLDERS)]
    if request.glob:
        arguments.append(f"--include={request.glob}")
    if request.ignore_case:
        arguments.append("-i")
    if request.context:
        arguments.append(f"-C{request.context}")
    return [*arguments, "-e", request.pattern, "--", target]


GREP = HostTool("grep", "Search the content of files for a pattern.", GrepInput, grep)
