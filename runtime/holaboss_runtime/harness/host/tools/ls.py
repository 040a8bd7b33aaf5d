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
    place = workspace.locate(request.path)
    if not place.path.is_dir():
        raise ToolError(f"{place.shown} is not a folder.")
    own = {entry.name: entry for entry in place.path.iterdir() if entry.name != PRIVATE_FOLDER}
    mounted = workspace.areas.mounted_in(place)
    names = sorted(own.keys() | mounted.keys())
    lines: list[str] = []
    for name in names[:MAX_ENTRIES]:
        is_folder = mounted[name] if name in mounted else own[name].is_dir()
        lines.append(f"{name}/" if is_folder else name)
    if len(names) > MAX_ENTRIES:
        lines.append(f"[{len(names) - MAX_ENTRIES} more entries]")
    return ToolOutcome("\n".join(lines) or "The folder is empty.")


LS = HostTool("ls", "List a folder.", LsInput, ls)
