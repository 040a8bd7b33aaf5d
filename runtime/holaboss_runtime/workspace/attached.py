"""Where the files of a message lie: in the workspace, or staged beside it. Looks at names and folders, reads nothing.

`STAGING` belongs to the runtime like all of `.holaboss`; tools see it, read-only, under `PLACE`.
"""

from __future__ import annotations

from pathlib import Path, PurePath, PurePosixPath
from typing import Literal

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import resolve_inside

STAGING = ".holaboss/input-attachments"
PLACE = "/attachments"
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def kind_of(path: PurePath) -> Literal["image", "file"]:
    """By its name; whoever reads it looks closer."""
    return "image" if path.suffix.lower() in IMAGE_TYPES else "file"


def is_staged(workspace_path: str) -> bool:
    return PurePosixPath(workspace_path).is_relative_to(STAGING)


def seen_as(workspace_path: str) -> str:
    """The path by which tools reach an attachment."""
    if not is_staged(workspace_path):
        return workspace_path
    return f"{PLACE}/{PurePosixPath(workspace_path).relative_to(STAGING)}"


def reachable(root: Path, workspace_path: str) -> Path:
    """Where an attachment really is; it need not exist.

    Raises `DomainError` for a place outside of the workspace, or in what is private to it.
    """
    place = resolve_inside(root, workspace_path)
    inside = place.relative_to(root.resolve()).parts
    private = bool(inside) and inside[0].casefold() in (".holaboss", ".openboa")
    if private and inside[:2] != PurePosixPath(STAGING).parts:
        raise DomainError(
            "forbidden",
            "path_reserved",
            f"{workspace_path!r} belongs to the workspace itself and cannot be attached.",
        )
    return place
