"""Contents of files by their digest: `blobs/<first two>/<sha256>`. Writing one twice costs nothing."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path

PIECE = 1 << 20


class BlobStore:
    """`folder` is made on the first write. `written` counts the bytes added through this object."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder = folder
        self._staging = staging
        self._shelves: set[str] = set()
        self.written = 0

    def path_of(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def has(self, digest: str) -> bool:
        return os.access(f"{self._folder}/{digest[:2]}/{digest}", os.R_OK)

    def put(self, content: bytes, *, durable: bool = False) -> str:
        """The digest. With `durable` it also survives a loss of power."""
        digest = hashlib.sha256(content).hexdigest()
        if self.has(digest):
            return digest
        # Plain calls of the system: the first look at a workspace comes here once for each of its files.
        descriptor, staged = self._new()
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        shelf = f"{self._folder}/{digest[:2]}"
        if shelf not in self._shelves:
            Path(shelf).mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_link(Path(shelf))
            self._shelves.add(shelf)
        os.replace(staged, f"{shelf}/{digest}")  # noqa: PTH105
        self.written += len(content)
        return digest

    def read(self, digest: str, limit: int) -> bytes | None:
        """None when it is not here, or larger than `limit` bytes."""
        try:
            with self.path_of(digest).open("rb") as blob:
                content = blob.read(limit + 1)
        except OSError:
            return None
        return content if len(content) <= limit else None

    def staged_copy(self, digest: str) -> Path:
        """A durable copy that may be moved away. Raises `OSError`, also when the content is damaged."""
        check = hashlib.sha256()
        with self.path_of(digest).open("rb") as blob:
            descriptor, path = self._new()
            staged = Path(path)
            with os.fdopen(descriptor, "wb") as copy:
                while piece := blob.read(PIECE):
                    check.update(piece)
                    copy.write(piece)
                copy.flush()
                os.fsync(copy.fileno())
        if check.hexdigest() != digest:
            staged.unlink()
            raise OSError("the kept content is damaged")
        return staged

    def _new(self) -> tuple[int, str]:
        """An empty file nobody else can read: its descriptor and its path."""
        if not self._shelves:
            self._staging.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_link(self._staging)
        staged = f"{self._staging}/{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        return os.open(staged, flags, 0o600), staged

    def sizes(self) -> dict[str, int]:
        """Of all contents, by digest."""
        return {path.name: size for path, size in self._all()}

    def tidy(self) -> None:
        """Remove what a crash left half written. Nobody else may be at work."""
        for entry in _entries(self._staging):
            with suppress(OSError):
                Path(entry.path).unlink()

    def drop_all_but(self, kept: Container[str]) -> None:
        for path, _ in list(self._all()):
            if path.name not in kept:
                with suppress(OSError):
                    path.unlink()

    def _all(self) -> Iterator[tuple[Path, int]]:
        for shelf in _entries(self._folder):
            for entry in _entries(Path(shelf.path)):
                with suppress(OSError):
                    yield Path(entry.path), entry.stat(follow_symlinks=False).st_size


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise OSError(f"{folder.name} is a link")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Nothing for a link: what lies behind it is not ours."""
    try:
        _refuse_link(folder)
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
