"""`write`: a whole file, new or replaced."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.files import (
    change_of,
    in_the_style_of,
    known_content,
    replace_text,
    text_of,
)
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts


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
    previous = known_content(workspace, place)
    before = _text(previous, shown)
    after = in_the_style_of(before, request.content)
    replace_text(workspace, place, after)
    change = change_of(shown, before, after)
    verb = "Created" if previous is None else "Replaced"
    changed = (shown,) if place.in_workspace else ()
    return ToolOutcome(f"{verb} {shown}: {change.summary}", changed_paths=changed, details=change.details)


def _text(content: bytes | None, shown: str) -> str:
    """The text that is about to be replaced; empty when there was none."""
    try:
        return "" if content is None else text_of(content, shown)
    except ToolError:
        return ""


def _about(arguments: dict[str, Any]) -> CallFacts:
    return CallFacts("write", writes=(arguments["path"],), read_only=False)


WRITE = HostTool(
    "write", "Create a file or replace its whole content.", WriteInput, write, alone=True, about=_about
)
