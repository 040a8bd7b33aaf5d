"""Pictures that were pasted into a message while the runtime was away: private files, so that quitting loses none."""

from __future__ import annotations

import errno
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from holaboss_app.services.private_files import make_private_directory, write_private
from holaboss_client.base import new_id

MOST_BYTES = 200 << 20
"""Of all kept pictures together."""


class KeptPictures:
    """Everything here touches the disk. `keep` is called off the GUI thread; the rest is a matter of a few names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, png: bytes) -> Path:
        """Write one picture. Raises `OSError`, also when there are too many (`ENOSPC`)."""
        make_private_directory(self._folder)
        if len(png) + sum(path.stat().st_size for path in self._folder.iterdir()) > MOST_BYTES:
            raise OSError(errno.ENOSPC, f"More than {MOST_BYTES >> 20} MB of pictures are waiting.")
        path = self._folder / f"{new_id()}.png"
        write_private(path, png)
        return path

    def drop(self, path: Path) -> None:
        """Delete one that is needed no more; one that is gone, or lies elsewhere, is left alone."""
        if path.parent == self._folder:
            with suppress(OSError):
                path.unlink()

    def sweep(self, needed: Collection[Path]) -> None:
        """Delete what no draft names: a crash may have come between picture and draft."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path not in needed:
                    self.drop(path)
