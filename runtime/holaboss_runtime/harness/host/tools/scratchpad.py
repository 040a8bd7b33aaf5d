"""`scratchpad`: notes an agent keeps for itself between the turns of a session."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace import scratchpads
from holaboss_runtime.workspace.scratchpads import Scratchpad, ScratchpadFullError


class ScratchpadInput(ToolInput):
    op: Literal["read", "append", "replace", "clear"]
    content: str | None = Field(default=None, description="append, replace: Markdown")


async def scratchpad(workspace: Workspace, request: ScratchpadInput) -> ToolOutcome:
    return await asyncio.to_thread(_scratchpad, workspace, request)


def _scratchpad(workspace: Workspace, request: ScratchpadInput) -> ToolOutcome:
    root, session_id = workspace.root, workspace.package.session_id
    pad = scratchpads.read_scratchpad(root, session_id)
    if request.op == "read":
        return _outcome(pad, pad.content or "The scratchpad is empty.")
    if request.op == "clear":
        scratchpads.clear_scratchpad(root, session_id)
        return _outcome(Scratchpad(pad.file_path), "The scratchpad is empty now.")
    if request.content is None:
        raise ToolError(f"{request.op} needs content.")
    content = request.content
    if request.op == "append" and pad.content:
        content = f"{pad.content.rstrip()}\n\n{content}"
    try:
        pad = scratchpads.write_scratchpad(root, session_id, content)
    except ScratchpadFullError as error:
        limit = scratchpads.MAX_BYTES // 1024
        raise ToolError(
            f"The scratchpad holds at most {limit} KiB. Replace it with a shorter text, or use a file."
        ) from error
    return _outcome(pad, f"Kept: {pad.size_bytes:,} bytes in the scratchpad. It begins: {pad.preview}")


def _outcome(pad: Scratchpad, text: str) -> ToolOutcome:
    shown = {
        "exists": pad.exists,
        "file_path": pad.file_path,
        "updated_at": pad.updated_at,
        "size_bytes": pad.size_bytes,
        "preview": pad.preview,
    }
    return ToolOutcome(text, details={"scratchpad": shown})


def _about(_: dict[str, Any]) -> CallFacts:
    """The notes are the session's own: nothing a person has in the workspace changes."""
    return CallFacts("scratchpad", read_only=True)


SCRATCHPAD = HostTool(
    "scratchpad",
    "Notes for yourself that stay with this session: findings, decisions, what is still to do. Nobody else reads them.",
    ScratchpadInput,
    scratchpad,
    alone=True,
    about=_about,
)
