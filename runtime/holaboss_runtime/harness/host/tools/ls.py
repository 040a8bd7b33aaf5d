"""`ls`: what is in a folder."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from holaboss_runtime.harness.host.search.opening import list_folder
from holaboss_runtime.harness.host.tools.base import PRIVATE_FOLDER, HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts

MAX_ENTRIES = 1000
MAX_LOOKED_AT = 50_000


class LsInput(ToolInput):
    path: str = Field(default=".", description="Folder, relative to the workspace")


async def ls(workspace: Workspace, request: LsInput) -> ToolOutcome:
    return await asyncio.to_thread(_ls, workspace, request)


def _ls(workspace: Workspace, request: LsInput) -> ToolOutcome:
    place = workspace.locate(request.path)
    if not place.path.is_dir():
        raise ToolError(f"{place.shown} is not a folder.")
    entries = list_folder(str(place.area.root), str(place.path), MAX_LOOKED_AT + 1)
    own = {name: is_folder for name, is_folder in entries if name != PRIVATE_FOLDER}
    mounted = workspace.areas.mounted_in(place)
    names = sorted(own.keys() | mounted.keys())
    lines: list[str] = []
    for name in names[:MAX_ENTRIES]:
        is_folder = mounted[name] if name in mounted else own[name]
        lines.append(f"{name}/" if is_folder else name)
    if len(names) > MAX_ENTRIES:
        many = "many" if len(entries) > MAX_LOOKED_AT else len(names) - MAX_ENTRIES
        lines.append(f"[{many} more entries; find lists those with certain names]")
    return ToolOutcome("\n".join(lines) or "The folder is empty.")


def _about(arguments: dict[str, Any]) -> CallFacts:
    return CallFacts("ls", reads=(arguments.get("path", "."),), read_only=True)


LS = HostTool("ls", "List a folder.", LsInput, ls, about=_about)
