"""`read`: a text file with line numbers, a picture, or the text of a document."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from holaboss_runtime.harness.host.documents import DocumentError, document_kind, read_document
from holaboss_runtime.harness.host.pictures import MAX_PICTURE_BYTES, media_type_of
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.files import BOM, read_bytes, text_of
from holaboss_runtime.harness.host.tools.outcome import Picture, ToolOutcome
from holaboss_runtime.harness.host.tools.places import Place
from holaboss_runtime.permissions.model import CallFacts

MAX_LINES = 2000
MAX_CHARS = 50 * 1024
MAX_LINE_CHARS = 2000


class ReadInput(ToolInput):
    path: str = Field(description="File, relative to the workspace")
    offset: int = Field(default=1, ge=1, description="First line to read, counted from 1")
    limit: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES, description="How many lines to read")


async def read(workspace: Workspace, request: ReadInput) -> ToolOutcome:
    place = workspace.locate(request.path)
    content = await asyncio.to_thread(read_bytes, place)
    if (media_type := media_type_of(content)) is not None:
        return _picture(workspace, place, Picture(content, media_type))
    if document_kind(place.path.name, content[:1024]) is not None:
        return ToolOutcome(_window(await _document(workspace, place, content), place.shown, request))
    text = text_of(content, place.shown)
    workspace.seen.remember(place.path, content)
    return ToolOutcome(_window(text.removeprefix(BOM), place.shown, request))


async def _document(workspace: Workspace, place: Place, content: bytes) -> str:
    try:
        return await read_document(place.shown, content, workspace.commands)
    except DocumentError as error:
        raise ToolError(str(error)) from error


def _picture(workspace: Workspace, place: Place, picture: Picture) -> ToolOutcome:
    kind, size = picture.media_type.removeprefix("image/"), len(picture.content)
    what = f"{place.shown} is a picture ({kind}, {size:,} bytes)"
    if size > MAX_PICTURE_BYTES:
        raise ToolError(f"{what}, larger than {MAX_PICTURE_BYTES // 1024 // 1024} MB.")
    if not workspace.package.model_facts.takes_images:
        raise ToolError(f"{what}, and {workspace.package.model_id} cannot look at pictures.")
    return ToolOutcome(f"{what}.", pictures=(picture,))


def _window(text: str, shown: str, request: ReadInput) -> str:
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if not text:
        return f"{shown} is empty."
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
    return "\n".join(numbered)


def _about(arguments: dict[str, Any]) -> CallFacts:
    return CallFacts("read", reads=(arguments["path"],), read_only=True)


READ = HostTool(
    "read",
    "Read a text file (lines come numbered), a picture, or the text of a pdf, docx, xlsx or pptx.",
    ReadInput,
    read,
    about=_about,
)
