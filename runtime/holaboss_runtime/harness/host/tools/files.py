"""Reading and replacing text files, as the file tools share it."""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from holaboss_runtime.harness.host.tools.base import ToolError
from holaboss_runtime.workspace.paths import NotAFileError, open_regular

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_DIFF_CHARS = 6 * 1024
MAX_DIFFED_LINES = 20_000  # comparing takes time that grows with the square of it


def read_text(path: Path, shown: str) -> str:
    """The whole file, line ends untouched. Raises `ToolError` for what is missing, too big or not text."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise ToolError(f"{shown} does not exist.") from error
    except NotAFileError as error:
        raise ToolError(f"{shown} is not a file.") from error
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {error.strerror}.") from error
    if len(content) > MAX_FILE_BYTES:
        raise ToolError(f"{shown} is larger than {MAX_FILE_BYTES // 1024 // 1024} MB.")
    if b"\0" in content:
        raise ToolError(f"{shown} is a binary file.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{shown} is not UTF-8 text.") from error


def replace_text(path: Path, shown: str, text: str) -> None:
    """Write the file in one step: readers see the old or the new one, and its permissions stay."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=".holaboss-")
    except OSError as error:
        raise ToolError(f"{shown} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink()
        raise ToolError(f"{shown} cannot be written: {error.strerror}.") from error


def diff_summary(shown: str, before: str, after: str) -> str:
    """A unified diff with its line counts in front, bounded."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_DIFFED_LINES:
        return f"{len(old)} → {len(new)} lines, too many to compare"
    lines = list(difflib.unified_diff(old, new, shown, shown, lineterm="", n=2))
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    diff = "\n".join(lines)
    if len(diff) > MAX_DIFF_CHARS:
        diff = diff[:MAX_DIFF_CHARS] + "\n[… the rest of the diff is left out …]"
    return f"+{added} −{removed} lines\n{diff}".rstrip()
