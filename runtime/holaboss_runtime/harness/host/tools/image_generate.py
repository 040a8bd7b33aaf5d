"""`image_generate`: a picture from words, kept in the workspace and among the outputs."""

from __future__ import annotations

import asyncio
import re
import uuid
from typing import Any

from pydantic import Field

from holaboss_runtime.harness.contract import NewOutput
from holaboss_runtime.harness.host.pictures import SUFFIXES
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.beneath import replacing
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.places import Place
from holaboss_runtime.harness.host.web.drawing import Drawn, draw, size_of
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.names import safe_name
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace.paths import NotAFileError

NAME = "image_generate"
FOLDER = "outputs/images"
MAX_NUMBER = 1000


class ImageInput(ToolInput):
    prompt: str = Field(min_length=1, max_length=8000, description="What the picture shows, in detail")
    filename: str | None = Field(default=None, max_length=200, description="Name without folders")
    size: str | None = Field(default=None, max_length=50, description="1024x1024, 16:9 or 2K")


def about(arguments: dict[str, Any]) -> CallFacts:
    return CallFacts(NAME, writes=(f"{FOLDER}/",), read_only=False)


async def image_generate(workspace: Workspace, request: ImageInput) -> ToolOutcome:
    client = workspace.package.image_generation
    if client is None:
        raise ToolError("There is no image model here.")
    workspace.locate(FOLDER, for_writing=True)
    try:
        drawn = await draw(client, request.prompt, size_of(request.size))
    except WebError as error:
        raise ToolError(str(error)) from error
    place = await asyncio.to_thread(_keep, workspace, request, drawn)
    size = len(drawn.content)
    output = NewOutput(
        output_id=uuid.uuid4().hex,
        output_type="image",
        title=" ".join(request.prompt.split())[:100],
        file_path=place.shown,
        metadata={"mime_type": drawn.media_type, "size_bytes": size, "model": client.model_id},
    )
    details = {"path": place.shown, "output_id": output.output_id, "mime_type": drawn.media_type}
    return ToolOutcome(
        f"Drew {place.shown} ({drawn.media_type.removeprefix('image/')}, {size:,} bytes).",
        changed_paths=(place.shown,),
        details=details | {"size_bytes": size},
        outputs=(output,),
    )


def _keep(workspace: Workspace, request: ImageInput, drawn: Drawn) -> Place:
    """The first free name: nothing is ever overwritten."""
    suffix = SUFFIXES[drawn.media_type]
    name = safe_name(request.filename or "")
    stem = name.removesuffix(suffix).removesuffix(".jpeg") if name else _stem(request.prompt)
    for number in range(1, MAX_NUMBER):
        numbered = stem if number == 1 else f"{stem}-{number}"
        place = workspace.locate(f"{FOLDER}/{numbered}{suffix}", for_writing=True)
        try:
            with replacing(place, overwrite=False) as file:
                file.write(drawn.content)
        except (FileExistsError, NotAFileError):
            continue
        return place
    raise ToolError("There are too many pictures of this name. Choose another filename.")


def _stem(prompt: str) -> str:
    words = re.findall(r"[a-z0-9]+", prompt.lower())
    return "-".join(words)[:40].strip("-") or "image"


IMAGE_GENERATE = HostTool(
    NAME, "Draw a picture and keep it in the workspace.", ImageInput, image_generate, alone=True, about=about
)
