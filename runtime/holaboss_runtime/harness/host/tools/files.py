"""Reading and replacing files, as the file tools share it: what is text, what a change looks like."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.harness.host.tools.base import ToolError, Workspace
from holaboss_runtime.harness.host.tools.beneath import open_place, replacing
from holaboss_runtime.harness.host.tools.places import Place
from holaboss_runtime.workspace.paths import NotAFileError

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_DIFF_CHARS = 6 * 1024
MAX_DETAIL_CHARS = 32 * 1024
MAX_DIFFED_LINES = 20_000  # comparing takes time that grows with the square of it
BOM = "\ufeff"


def read_bytes(place: Place) -> bytes:
    """The whole file. Raises `ToolError` for what is missing, too big or not a file."""
    shown = place.shown
    try:
        with open_place(place) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise ToolError(f"{shown} does not exist.") from error
    except NotAFileError as error:
        raise ToolError(f"{shown} is not a file.") from error
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {error.strerror}.") from error
    if len(content) > MAX_FILE_BYTES:
        raise ToolError(
            f"{shown} is larger than {MAX_FILE_BYTES // 1024 // 1024} MB. Look into it with grep or a command."
        )
    return content


def text_of(content: bytes, shown: str) -> str:
    """The text of a file, line ends and byte order mark untouched. Raises `ToolError` for what is not text."""
    if b"\0" in content:
        raise ToolError(f"{shown} is a binary file.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{shown} is not UTF-8 text.") from error


def known_content(workspace: Workspace, place: Place) -> bytes | None:
    """What a file that is about to be changed holds now; None when it is not there.

    Raises `ToolError` when it is not what this run last saw of it: once, so that a model can insist.
    """
    try:
        content = read_bytes(place)
    except ToolError:
        if place.path.exists():
            raise
        content = None
    if workspace.seen.has_changed(place.path, content):
        what = "has changed" if content is not None else "was removed"
        raise ToolError(f"{place.shown} {what} since you last saw it. Read it again before you change it.")
    return content


def replace_text(workspace: Workspace, place: Place, text: str) -> None:
    """Write the file in one step: readers see the old or the new one, and its permissions stay."""
    content = text.encode("utf-8", "replace")
    try:
        with replacing(place) as file:
            file.write(content)
    except NotAFileError as error:
        raise ToolError(f"{place.shown} is not a file.") from error
    except OSError as error:
        raise ToolError(f"{place.shown} cannot be written: {error.strerror}.") from error
    workspace.seen.remember(place.path, content)


def in_the_style_of(before: str, text: str) -> str:
    """New content with the line ends and the byte order mark of what it replaces: models write neither."""
    if before.count("\r\n") * 2 > before.count("\n") and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    return BOM + text if before.startswith(BOM) and not text.startswith(BOM) else text


@dataclass(frozen=True, slots=True)
class Change:
    """A unified diff, or empty where the texts are too long to be compared, and the lines it adds and removes."""

    path: str
    diff: str
    added: int
    removed: int

    @property
    def summary(self) -> str:
        """For the model: the counts, then the diff, bounded."""
        if not self.diff and (self.added or self.removed):
            return f"{self.removed} → {self.added} lines, too many to compare"
        return f"+{self.added} −{self.removed} lines\n{_cut(self.diff, MAX_DIFF_CHARS)}".rstrip()

    @property
    def details(self) -> dict[str, Any]:
        """For whoever shows the call."""
        diff = _cut(self.diff, MAX_DETAIL_CHARS)
        return {"path": self.path, "diff": diff, "added": self.added, "removed": self.removed}


def change_of(path: str, before: str, after: str) -> Change:
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_DIFFED_LINES:
        return Change(path, "", len(new), len(old))
    lines = list(difflib.unified_diff(old, new, path, path, lineterm="", n=2))
    body = lines[2:]  # behind the two lines that name the file, which look like an addition and a removal
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    return Change(path, "\n".join(lines), added, removed)


def _cut(diff: str, limit: int) -> str:
    return diff if len(diff) <= limit else diff[:limit] + "\n[… the rest of the diff is left out …]"
