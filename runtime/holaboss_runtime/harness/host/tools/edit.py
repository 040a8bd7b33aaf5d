"""`edit`: replace one passage of a file, or every occurrence of it."""

from __future__ import annotations

import asyncio

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, ToolOutcome, Workspace
from holaboss_runtime.harness.host.tools.files import diff_summary, read_text, replace_text


class EditInput(ToolInput):
    path: str = Field(description="File, relative to the workspace")
    old_text: str = Field(min_length=1, description="The exact passage to replace; it must occur only once")
    new_text: str = Field(description="What to put there")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead")


async def edit(workspace: Workspace, request: EditInput) -> ToolOutcome:
    return await asyncio.to_thread(_edit, workspace, request)


def _edit(workspace: Workspace, request: EditInput) -> ToolOutcome:
    place = workspace.locate(request.path, for_writing=True)
    path, shown = place.path, place.shown
    before = read_text(path, shown)
    old, new = request.old_text, request.new_text
    if "\r\n" in before and "\r\n" not in old:  # models write plain newlines whatever the file has
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    found = before.count(old)
    if old == new:
        raise ToolError("old_text and new_text are the same.")
    if found == 0:
        raise ToolError(f"old_text does not occur in {shown}. Read the file and copy the passage exactly.")
    if found > 1 and not request.replace_all:
        raise ToolError(
            f"old_text occurs {found} times in {shown}. Add surrounding lines or set replace_all."
        )
    after = before.replace(old, new)
    replace_text(path, shown, after)
    changed = (shown,) if place.in_workspace else ()
    return ToolOutcome(f"Edited {shown}: {diff_summary(shown, before, after)}", changed_paths=changed)


EDIT = HostTool("edit", "Replace an exact passage of a text file.", EditInput, edit, alone=True)
