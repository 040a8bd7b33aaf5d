"""`ls`: what is in a folder."""

from __future__ import annotations

import asyncio

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import (
    PRIVATE_FOLDER,
    HostTool,
    ToolError,
    ToolInput,
    ToolOutcome,
    Workspace,
)

MAX_ENTRIES = 1000


class LsInput(ToolInput):
    path: str = Field(default=".", description="Folder, relative to the workspace")


async def ls(workspace: Workspace, request: LsInput) -> ToolOutcome:
    return await asyncio.to_thread(_ls, workspace, request)


def _ls(workspace: Workspace, request: LsInput) -> ToolOutcome:
    folder = workspace.locate(request.path)
    if not folder.is_dir():
        raise ToolError(f"{workspace.name_of(folder)} is not a folder.")
    entries = sorted(entry for entry in folder.iterdir() if entry.name != PRIVATE_FOLDER)
    lines = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        lines.append(f"[{len(entries) - MAX_ENTRIES} more entries]")
    return ToolOutcome("\n".join(lines) or "The folder is empty.")


LS = HostTool("ls", "List a folder.", LsInput, ls)
