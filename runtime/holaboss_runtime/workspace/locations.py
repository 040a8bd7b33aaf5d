"""Where a workspace may lie: the rules for a folder that somebody names, before anything is written to it."""

from __future__ import annotations

from pathlib import Path

from holaboss_runtime.errors import DomainError

_IGNORED = frozenset({".DS_Store"})


def check_location(path_text: str, *, sandbox_root: Path, managed_root: Path, others: list[Path]) -> Path:
    """The real path, if a workspace may lie there. `others` are the folders of the other live workspaces.

    Raises `DomainError` (`invalid`, `workspace_path_invalid`).
    """
    given = Path(path_text)
    if "\0" in path_text or not given.is_absolute():
        raise invalid(f"{path_text[:200]!r} is not an absolute path. Give the whole path of a folder.")
    try:
        path = given.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise invalid(f"{path_text[:200]!r} cannot be used as a path.") from error
    if managed_root.is_relative_to(path) or (
        path.is_relative_to(sandbox_root) and not path.is_relative_to(managed_root)
    ):
        raise invalid(f"{path} holds the data of Holaboss itself. Choose another folder.")
    for other in others:
        if path.is_relative_to(other) or other.is_relative_to(path):
            raise invalid(f"{path} overlaps the workspace in {other}. Choose a folder outside of it.")
    return path


def is_free(path: Path) -> bool:
    """True when nothing is there, or an empty folder. Raises `DomainError` when that cannot be seen."""
    try:
        if not path.exists():
            return True
        return path.is_dir() and all(entry.name in _IGNORED for entry in path.iterdir())
    except OSError as error:
        raise invalid(f"{path} cannot be opened: {error.strerror}. Choose another folder.") from error


def invalid(detail: str) -> DomainError:
    return DomainError("invalid", "workspace_path_invalid", detail)
