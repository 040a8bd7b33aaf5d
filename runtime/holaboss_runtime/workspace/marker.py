"""The marker that makes a folder ours: `.holaboss/workspace_id` holds the id of its workspace.

Nothing is ever removed from a folder that does not carry it.
"""

from __future__ import annotations

from pathlib import Path

STATE_FOLDER = ".holaboss"
_MARKER = "workspace_id"


def read_marker(folder: Path) -> str | None:
    """The workspace id a folder claims; None without a marker."""
    try:
        return (folder / STATE_FOLDER / _MARKER).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def write_marker(folder: Path, workspace_id: str) -> None:
    state = folder / STATE_FOLDER
    state.mkdir(mode=0o700, exist_ok=True)
    partial = state / f"{_MARKER}.new"
    partial.write_text(workspace_id + "\n", "utf-8")
    partial.replace(state / _MARKER)
