"""`read`: a text file with line numbers."""

from __future__ import annotations

import asyncio

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, ToolOutcome, Workspace
from holaboss_runtime.harness.host.tools.files import read_text

MAX_LINES = 2000
MAX_CHARS = 50 * 1024
MAX_LINE_CHARS = 2000


class ReadInput(ToolInput):
    path: str = Field(description="File, relative to the workspace")
    offset: int = Field(default=1, ge=1, description="First line to read, counted from 1")
    limit: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES, description="How many lines to read")


async def read(workspace: Workspace, request: ReadInput) -> ToolOutcome:
    return await asyncio.to_thread(_read, workspace, request)


def _read(workspace: Workspace, request: ReadInput) -> ToolOutcome:
    place = workspace.locate(request.path)
    shown = place.shown
    lines = read_text(place.path, shown).splitlines()
    if not lines:
        return ToolOutcome(f"{shown} is empty.")
    if request.offset > len(lines):
        raise ToolError(f"{shown} has only {len(lines)} lines.")
    numbered: list[str] = []
    room = MAX_CHARS
    for number, line in enumerate(lines[request.offset - 1 :][: request.limit], request.offset):
        entry = f"{number:>6}\t{line[:MAX_LINE_CHARS]}{'…' if len(line) > MAX_LINE_CHARS else ''}"
        room -= len(entry) + 1
        if room < 0:
            break
        numbered.append(entry)
    last = request.offset + len(numbered) - 1
    if last < len(lines):
        numbered.append(f"[{len(lines) - last} more lines; continue with offset {last + 1}]")
    return ToolOutcome("\n".join(numbered))


READ = HostTool("read", "Read a text file. Lines come numbered.", ReadInput, read)
