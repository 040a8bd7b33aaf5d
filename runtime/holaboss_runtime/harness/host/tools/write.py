"""`write`: a whole file, new or replaced."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, ToolOutcome, Workspace
from holaboss_runtime.harness.host.tools.files import diff_summary, read_text, replace_text


class WriteInput(ToolInput):
    path: str = Field(description="File, relative to the workspace; missing folders are made")
    content: str = Field(description="The complete new content")


async def write(workspace: Workspace, request: WriteInput) -> ToolOutcome:
    return await asyncio.to_thread(_write, workspace, request)


def _write(workspace: Workspace, request: WriteInput) -> ToolOutcome:
    place = workspace.locate(request.path, for_writing=True)
    path, shown = place.path, place.shown
    if path == workspace.root or path.is_dir():
        raise ToolError(f"{shown} is a folder.")
    existed = path.exists()
    before = _previous(path, shown) if existed else ""
    replace_text(path, shown, request.content)
    summary = diff_summary(shown, before, request.content)
    changed = (shown,) if place.in_workspace else ()
    return ToolOutcome(f"{'Replaced' if existed else 'Created'} {shown}: {summary}", changed_paths=changed)


def _previous(path: Path, shown: str) -> str:
    """The text that is about to be replaced; empty when it was not text."""
    try:
        return read_text(path, shown)
    except ToolError:
        return ""


WRITE = HostTool("write", "Create a file or replace its whole content.", WriteInput, write, alone=True)
