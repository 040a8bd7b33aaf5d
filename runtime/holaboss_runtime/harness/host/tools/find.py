"""`find`: files by name."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import (
    SKIPPED_FOLDERS,
    HostTool,
    ToolError,
    ToolInput,
    ToolOutcome,
    Workspace,
)

MAX_VISITED = 200_000


class FindInput(ToolInput):
    pattern: str = Field(min_length=1, max_length=500, description="Glob such as *.md or src/**/test_*.py")
    path: str = Field(default=".", description="Folder to search, relative to the workspace")
    limit: int = Field(default=500, ge=1, le=5000, description="Most files to return")


async def find(workspace: Workspace, request: FindInput) -> ToolOutcome:
    return await asyncio.to_thread(_find, workspace, request)


def _find(workspace: Workspace, request: FindInput) -> ToolOutcome:
    top = workspace.locate(request.path)
    if not top.is_dir():
        raise ToolError(f"{workspace.name_of(top)} is not a folder.")
    pattern = _compile(request.pattern)
    found: list[str] = []
    for visited, path in enumerate(_files(top)):
        relative = path.relative_to(top).as_posix()
        if pattern.match(relative if "/" in request.pattern else path.name):
            found.append(workspace.name_of(path))
        if len(found) > request.limit or visited > MAX_VISITED:
            found[request.limit :] = ["[there are more; narrow the pattern]"]
            break
    return ToolOutcome("\n".join(found) or "No files match.")


def _compile(pattern: str) -> re.Pattern[str]:
    """`*` stays within a folder name, `**/` spans any number of them."""
    pieces = [fnmatch.translate(piece) for piece in pattern.removeprefix("./").split("/")]
    expression = ""
    for position, (piece, source) in enumerate(
        zip(pieces, pattern.removeprefix("./").split("/"), strict=True)
    ):
        last = position == len(pieces) - 1
        if source == "**":
            expression += ".*" if last else "(?:[^/]+/)*"
        else:
            body = piece.removeprefix("(?s:").removesuffix(r")\Z").replace(".*", "[^/]*")
            expression += body if last else f"{body}/"
    return re.compile(f"{expression}\\Z")


def _files(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names))


FIND = HostTool("find", "List files whose name matches a glob.", FindInput, find)
