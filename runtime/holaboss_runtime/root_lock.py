"""One server per sandbox root: an operating system lock, and a note that tells others who holds it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.launch import StartError

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RootLock:
    """Held until the process ends, however it ends."""

    def __init__(self, state_folder: Path) -> None:
        self._note = state_folder / "server.json"
        try:
            self._descriptor = os.open(state_folder / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StartError(
                "root_not_writable", f"{state_folder} cannot be used ({error.strerror})."
            ) from error

    def acquire(self) -> None:
        """Raises `StartError` `root_locked`, naming the server that is there."""
        try:
            _lock(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            raise StartError(
                "root_locked",
                f"Another Holaboss runtime{self._other()} already uses"
                f" {self._note.parent.parent}. Stop it first, or choose another HB_SANDBOX_ROOT.",
            ) from error

    def announce(self, url: str, poke_token: str) -> None:
        """Tell local programs where this server is, and a token that is good for the poke route only."""
        note = {"pid": os.getpid(), "url": url, "poke_token": poke_token}
        partial = self._note.with_suffix(".part")
        with suppress(FileNotFoundError):
            partial.unlink()
        with os.fdopen(
            os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as file:
            json.dump(note, file)
        partial.replace(self._note)

    def release(self) -> None:
        with suppress(OSError):
            self._note.unlink()
        os.close(self._descriptor)

    def _other(self) -> str:
        try:
            note: object = json.loads(self._note.read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        fields = cast(dict[str, Any], note) if isinstance(note, dict) else {}
        return f" (process {fields.get('pid')}, {fields.get('url')})"
