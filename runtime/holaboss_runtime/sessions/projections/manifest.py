"""What this program last wrote into the files of one folder, in `.projection.json`.

It tells a file we wrote from one that a person edited, and what a crash cut off from what is new. It is written before
the files: of an append-only file it holds the size before and after, of a whole file the digests before and after. A
lost or stale manifest costs a comparison with the database, never a line.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.workspace.paths import open_regular

NAME = ".projection.json"
MAX_BYTES = 1024 * 1024


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Manifest:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = _read(path)
        self._changed = False

    def sizes(self, name: str) -> tuple[int, int] | None:
        """Of an append-only file: where the last batch began, and where it ends once it is all there."""
        match self._files.get(name):
            case [int(first), int(last)] if 0 <= first <= last:
                return first, last
            case _:
                return None

    def digests(self, name: str) -> list[str] | None:
        found: object = self._files.get(name)
        return [str(item) for item in cast("list[object]", found)] if isinstance(found, list) else None

    def expect(self, name: str, value: list[int] | list[str] | None) -> None:
        """Note what is about to be written; None forgets the file."""
        if self._files.get(name) == value:
            return
        self._changed = True
        if value is None:
            del self._files[name]
        else:
            self._files[name] = value

    def save(self) -> None:
        """Raises `OSError`. Not forced onto the disk: losing it is harmless."""
        if not self._changed:
            return
        partial = self._path.with_name(f"{NAME}.{secrets.token_hex(4)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            with os.fdopen(os.open(partial, flags, 0o600), "w", encoding="utf-8") as file:
                json.dump({"version": 1, "files": self._files}, file)
            partial.replace(self._path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        self._changed = False


def _read(path: Path) -> dict[str, Any]:
    try:
        with open_regular(path) as file:
            document: object = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    files: object = cast("dict[str, Any]", document).get("files") if isinstance(document, dict) else None
    return cast("dict[str, Any]", files) if isinstance(files, dict) else {}
