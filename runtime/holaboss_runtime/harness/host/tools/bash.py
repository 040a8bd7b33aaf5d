"""`bash`: a shell command in the workspace folder."""

from __future__ import annotations

import shutil

from pydantic import Field

from holaboss_runtime.containment.bubblewrap import View
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, ToolOutcome, Workspace

DEFAULT_TIMEOUT_S = 120
LONGEST_TIMEOUT_S = 600


class BashInput(ToolInput):
    command: str = Field(description="Run by bash in the workspace folder; it gets no input")
    timeout: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=LONGEST_TIMEOUT_S, description="Seconds")


async def bash(workspace: Workspace, request: BashInput) -> ToolOutcome:
    view = View(workspace.root, writable=workspace.areas.workspace.writable)
    if not view.writable and not workspace.commands.contained:
        raise ToolError("The workspace can only be read, and no command can be held to that on this machine.")
    shell = shutil.which("bash") or "/bin/sh"
    result = await workspace.commands.run(view, [shell, "-c", request.command], request.timeout)
    if result.exit_code is None:
        note = f"[stopped after {request.timeout:g} seconds]"
    elif result.exit_code:
        note = f"[exit code {result.exit_code}]"
    else:
        note = "" if result.output else "[no output]"
    text = "\n".join(part for part in (result.output.rstrip("\n"), note) if part)
    return ToolOutcome(text, error=result.exit_code != 0, containment=result.containment)


BASH = HostTool(
    "bash",
    "Run a shell command. Background processes end with it.",
    BashInput,
    bash,
    alone=True,
    note_on_mounts="It sees only the workspace; what is mounted elsewhere is for the other tools.",
)
