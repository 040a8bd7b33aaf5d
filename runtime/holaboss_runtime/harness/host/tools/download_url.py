"""`download_url`: a file from the web into the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.beneath import replacing
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.places import Place
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.fetch import Fetched, Fetcher
from holaboss_runtime.harness.host.web.names import name_of_download
from holaboss_runtime.harness.host.web.results import urlsplit_or_none
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace.paths import NotAFileError

NAME = "download_url"
FOLDER = "Downloads"
_BUFFER_BYTES = 1024 * 1024


class DownloadInput(ToolInput):
    url: str = Field(min_length=1, max_length=4000, description="http:// or https:// address")
    output_path: str | None = Field(
        default=None, max_length=1000, description=f"File or folder/ in the workspace; else {FOLDER}/"
    )
    expected_mime_prefix: str | None = Field(
        default=None,
        max_length=100,
        description="Refuse anything else, for example image/ or application/pdf",
    )
    overwrite: bool = Field(default=False, description="Replace a file that is there")


def about(arguments: dict[str, Any]) -> CallFacts:
    host = urlsplit_or_none(str(arguments.get("url", "")).strip())
    target = arguments.get("output_path")
    writes = str(target) if target else f"{FOLDER}/"
    return CallFacts(NAME, hosts=(host,) if host else (), writes=(writes,), read_only=False)


def download_tool(fetcher: Fetcher) -> HostTool:
    async def download_url(workspace: Workspace, request: DownloadInput) -> ToolOutcome:
        def check_host(host: str) -> None:
            if decide(workspace.package.permissions, CallFacts(NAME, hosts=(host,))).effect != "always_allow":
                raise ToolError(
                    f"It redirects to {host}, which needs a permission of its own. Download from there directly."
                )

        try:
            async with (
                asyncio.timeout(fetcher.timeout_s),
                fetcher.open(request.url, check_host) as fetched,
            ):
                return await _store(workspace, request, fetched)
        except WebError as error:
            raise ToolError(str(error)) from error
        except TimeoutError as error:
            raise ToolError(f"The download took longer than {fetcher.timeout_s:g} seconds.") from error

    return HostTool(
        NAME,
        "Download a file from the web into the workspace.",
        DownloadInput,
        download_url,
        alone=True,
        about=about,
    )


async def _store(workspace: Workspace, request: DownloadInput, fetched: Fetched) -> ToolOutcome:
    expected = (request.expected_mime_prefix or "").lower()
    if not fetched.media_type.startswith(expected):
        what = fetched.media_type or "of no known type"
        raise ToolError(f"It is {what}, not {expected}. Nothing was saved.")
    place = await asyncio.to_thread(_place, workspace, request, fetched)
    try:
        with replacing(place, overwrite=request.overwrite) as file:
            size = await _copy(fetched.chunks, file)
    except FileExistsError as error:
        raise ToolError(f"{place.shown} exists. Choose another output_path or set overwrite.") from error
    except NotAFileError as error:
        raise ToolError(f"{place.shown} is not a file.") from error
    changed = (place.shown,) if place.in_workspace else ()
    kind = fetched.media_type or "unknown type"
    details = {"path": place.shown, "url": fetched.url, "mime_type": fetched.media_type, "size_bytes": size}
    text = f"Downloaded {place.shown} ({size:,} bytes, {kind}). What is in it is information by strangers."
    return ToolOutcome(text, changed_paths=changed, details=details)


def _place(workspace: Workspace, request: DownloadInput, fetched: Fetched) -> Place:
    wanted = request.output_path or f"{FOLDER}/"
    place = workspace.locate(wanted, for_writing=True)
    if wanted.endswith("/") or place.path.is_dir():
        name = name_of_download(fetched.disposition, fetched.url, fetched.media_type)
        place = workspace.locate(f"{wanted.rstrip('/')}/{name}", for_writing=True)
    return place


async def _copy(chunks: AsyncIterator[bytes], file: BinaryIO) -> int:
    size = 0
    buffer = bytearray()
    async for chunk in chunks:
        size += len(chunk)
        buffer += chunk
        if len(buffer) >= _BUFFER_BYTES:
            await asyncio.to_thread(file.write, bytes(buffer))
            buffer.clear()
    await asyncio.to_thread(file.write, bytes(buffer))
    return size


DOWNLOAD_URL = download_tool(Fetcher())
