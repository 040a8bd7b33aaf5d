"""`runtime-config.json` on disk: read when it changed, written atomically, never lost.

The runtime is its only writer. A file that cannot be understood is kept aside, never overwritten. This module
knows nothing of what the keys mean.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from holaboss_runtime.errors import DomainError

log = logging.getLogger(__name__)

Document = dict[str, Any]
Trouble = Literal["corrupt", "denied"]
_Stamp = tuple[int, int, int]


class ConfigFile:
    """One file. `loaded` is true when its content is in use; `revision` changes whenever it was read anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.loaded = False
        self.revision = 0
        self._document: Document = {}
        self._stamp: _Stamp | None = None
        self._trouble: Trouble | None = None
        self._kept_aside: Path | None = None
        self.read()
        with suppress(OSError):  # a folder that is not ours to change: the notice says what is wrong
            self._keep_aside_if_corrupt()

    @property
    def notices(self) -> list[str]:
        """Sentences about the file for people."""
        found: list[str] = []
        if self._kept_aside is not None:
            found.append(f"The settings file could not be understood. It was kept as {self._kept_aside}.")
        if self._trouble == "corrupt":
            found.append(f"{self.path} cannot be understood, so the last good settings stay in use.")
        elif self._trouble == "denied":
            found.append(f"{self.path} cannot be opened, so no settings are in use. Check its permissions.")
        return found

    def read(self) -> Document:
        """The current content; do not change it. A file edited by hand is noticed here."""
        stamp = self._current_stamp()
        if stamp == self._stamp and self.revision:
            return self._document
        self._stamp = stamp
        self.revision += 1
        self._trouble = None
        if stamp is None:
            self._document, self.loaded = {}, False
            return self._document
        try:
            self._document, self.loaded = _parse(self.path.read_bytes()), True
            self._make_private()
        except (ValueError, RecursionError):
            # What was good stays in use: this may be an editor in the middle of saving.
            self._trouble = "corrupt"
            log.warning("%s cannot be understood", self.path)
        except OSError as error:
            self._trouble = "denied"
            log.warning("%s cannot be opened: %s", self.path, error.strerror)
        return self._document

    def _make_private(self) -> None:
        """Keys may stand in a file that a person wrote: nobody else needs to read it."""
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            with suppress(OSError):  # somebody else's file, whose mode is theirs to decide
                self.path.chmod(0o600)
                log.info("%s is readable by its owner alone now", self.path)

    def write(self, document: Document) -> None:
        """Replace the file: 0600, on the disk before it takes the old one's place.

        Blocks. Raises `DomainError` `config_not_writable`.
        """
        target = self.path.resolve()
        partial = target.with_name(f"{target.name}.part")
        try:
            if self._trouble == "denied":
                raise PermissionError(errno.EACCES, "what is there cannot be opened")
            self._keep_aside_if_corrupt()
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_private(partial, document)
            partial.replace(target)
            _sync_folder(target.parent)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise DomainError(
                "unavailable",
                "config_not_writable",
                f"Settings cannot be saved to {self.path}: {error.strerror}. Check its permissions and the space on the"
                " disk.",
            ) from error
        self._stamp = None

    def _keep_aside_if_corrupt(self) -> None:
        if self._trouble != "corrupt":
            return
        time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        aside = self.path.with_name(f"{self.path.name}.corrupt-{time}")
        self.path.replace(aside)
        self._kept_aside = aside
        self._trouble = None
        self._stamp = self._current_stamp()

    def _current_stamp(self) -> _Stamp | None:
        try:
            info = self.path.stat()
        except OSError:
            return None
        return info.st_mtime_ns, info.st_size, info.st_ino


def _parse(raw: bytes) -> Document:
    document: object = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    json.dumps(
        document, ensure_ascii=False, allow_nan=False
    ).encode()  # what could not be written or shown again
    return cast(Document, document)


def _write_private(path: Path, document: Document) -> None:
    # One name, always taken anew: a crash may leave this file behind, and there may be a key in it.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
