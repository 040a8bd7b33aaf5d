"""`find`: files by name."""

from __future__ import annotations

import asyncio
import fnmatch
import os
from collections.abc import Iterator, Sequence
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
    place = workspace.locate(request.path)
    top = place.path
    if not top.is_dir():
        raise ToolError(f"{place.shown} is not a folder.")
    pattern = request.pattern.removeprefix("./").split("/")
    found: list[str] = []
    for visited, path in enumerate(_files(top)):
        if _matches(path.relative_to(top).parts if len(pattern) > 1 else (path.name,), pattern):
            found.append(place.name_of(path))
        if len(found) > request.limit or visited > MAX_VISITED:
            found[request.limit :] = ["[there are more; narrow the pattern]"]
            break
    return ToolOutcome("\n".join(found) or "No files match.")


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a glob: `*` stays within a name, `**` spans any number of them.

    Going back to the newest `**` is enough, so no pattern of a model can make this take long.
    """
    at = place = restart = 0
    spanning: int | None = None
    while at < len(names):
        if place < len(pattern) and pattern[place] == "**":
            spanning, restart = place, at
            place += 1
        elif place < len(pattern) and fnmatch.fnmatchcase(names[at], pattern[place]):
            at, place = at + 1, place + 1
        elif spanning is not None:
            restart += 1
            at, place = restart, spanning + 1
        else:
            return False
    return all(piece == "**" for piece in pattern[place:])


def _files(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names))


FIND = HostTool("find", "List files whose name matches a glob.", FindInput, find)
