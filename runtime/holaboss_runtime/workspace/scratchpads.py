"""`.holaboss/state/scratchpads/<session>.md`: notes an agent keeps for itself between the turns of one session.

They are not shown to anybody, and nobody but their session reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from holaboss_runtime.workspace.session_state import read_file, replace_file, session_file

MAX_BYTES = 128 * 1024
PREVIEW_CHARS = 280


class ScratchpadFullError(Exception):
    """More than `MAX_BYTES` would have to be kept."""


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """`content` is `""` and `updated_at` None when there is none. `file_path` is relative to the workspace."""

    file_path: str
    content: str = ""
    updated_at: str | None = None

    @property
    def exists(self) -> bool:
        return self.updated_at is not None

    @property
    def size_bytes(self) -> int:
        return len(self.content.encode())

    @property
    def preview(self) -> str:
        """The beginning, on one line."""
        line = " ".join(self.content[: PREVIEW_CHARS * 4].split())
        return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1].rstrip() + "…"


def read_scratchpad(folder: Path, session_id: str) -> Scratchpad:
    """Raises `OSError` when it cannot be read."""
    path = session_file(folder, "scratchpads", session_id, ".md")
    shown = path.relative_to(folder.resolve()).as_posix()
    raw = read_file(path, MAX_BYTES)
    if raw is None:
        return Scratchpad(shown)
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    updated_at = changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Scratchpad(shown, raw[:MAX_BYTES].decode("utf-8", "replace"), updated_at)


def write_scratchpad(folder: Path, session_id: str, content: str) -> Scratchpad:
    """Raises `ScratchpadFullError`, and `OSError` when it cannot be written."""
    raw = content.encode("utf-8", "replace")
    if len(raw) > MAX_BYTES:
        raise ScratchpadFullError
    replace_file(session_file(folder, "scratchpads", session_id, ".md"), raw)
    return read_scratchpad(folder, session_id)


def clear_scratchpad(folder: Path, session_id: str) -> None:
    session_file(folder, "scratchpads", session_id, ".md").unlink(missing_ok=True)
