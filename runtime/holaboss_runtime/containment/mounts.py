"""From a view to the words that mount it: real folders, held open so that nobody can put another in their place.

A place that must not be made needs something to stand there while the command runs; what was put there for that is
taken away afterwards, unless somebody used it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from holaboss_runtime.containment.protected import Protected, protected_in
from holaboss_runtime.containment.view import PRIVATE_FOLDERS, View

_PATH_ONLY = getattr(os, "O_PATH", 0) | getattr(os, "O_NOFOLLOW", 0)


class Placeholders:
    """Empty files and folders that stand where nothing may be made, each for as long as a command needs it."""

    def __init__(self) -> None:
        self._users: Counter[Path] = Counter()
        self._made: dict[Path, tuple[int, int]] = {}
        self._changing = Lock()

    def put(self, path: Path, *, folder: bool) -> None:
        """Take part in the placeholder at `path`, which is made if nothing is there. Raises `OSError`."""
        with self._changing:
            if not os.path.lexists(path):
                self._made[path] = _make(path, folder=folder)
            if path in self._made:
                self._users[path] += 1

    def drop(self, path: Path) -> None:
        """Remove it with its last user, if it is still what was put there and still empty."""
        with self._changing:
            if path not in self._made:
                return
            self._users[path] -= 1
            if self._users[path] > 0:
                return
            identity = self._made.pop(path)
            del self._users[path]
            with suppress(OSError), _folder(path.parent) as above:
                found = os.stat(path.name, dir_fd=above, follow_symlinks=False)
                if (found.st_dev, found.st_ino) != identity:
                    return
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(path.name, dir_fd=above)
                elif found.st_size == 0:
                    os.unlink(path.name, dir_fd=above)


class Mounts:
    """`words` are for bubblewrap's command line; `descriptors` have to be open in it, and are ours until `close`."""

    def __init__(self, view: View, placeholders: Placeholders) -> None:
        self._view = view
        self._placeholders = placeholders
        self._placed: list[Path] = []
        self._unwanted: list[Path] = []
        self.words: list[str] = []
        self.descriptors: list[int] = []

    def open(self) -> None:
        """Raises `OSError` when the view is not where it was said to be. Does disk work."""
        view = self._view
        self._bind(view.place, writable=view.writable)
        self.words += ["--chdir", str(view.folder)]
        if not view.place.is_dir():
            return
        if view.writable:
            self._protect(protected_in(view.place))
        for name in PRIVATE_FOLDERS:
            self._hide(view.place / name, certainly=view.writable and name == PRIVATE_FOLDERS[0])

    def close(self) -> None:
        """Our copies of what the command has open by now."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()

    def tidy(self) -> None:
        """Take placeholders away, and what a command made that would lead git elsewhere."""
        self.close()
        for path in self._placed:
            self._placeholders.drop(path)
        for path in self._unwanted:
            with suppress(OSError), _folder(path.parent) as above:
                os.unlink(path.name, dir_fd=above)

    def _protect(self, found: Protected) -> None:
        asked = [(self._view.place / name, not Path(name).suffix) for name in self._view.read_only]
        kept = {
            self._made(path, folder=folder, stays=path.name in ("hooks", "config") and path.parent in found.pinned)
            for path, folder in (
                *((path, True) for path in found.folders), *((path, False) for path in found.files), *asked,
            )
        }  # fmt: skip
        kept.discard(self._view.place)
        pinned = {*found.pinned, *(parent for path in (*kept, *found.pinned) for parent in self._above(path))}
        # A mount point cannot be renamed away and replaced. What is mounted later lies over what is there already.
        for path in sorted(pinned, key=_depth):
            self._try(path, writable=True)
        for path in sorted(kept, key=_depth):
            self._try(path, writable=False)
        self._unwanted += found.common

    def _above(self, path: Path) -> list[Path]:
        """The folders between the workspace and a path in it."""
        return [
            parent
            for parent in path.parents
            if parent != self._view.place and parent.is_relative_to(self._view.place)
        ]

    def _made(self, path: Path, *, folder: bool, stays: bool) -> Path:
        """The path itself, or the first thing that is missing on the way to it, with something put there.

        Where we cannot put anything, the command cannot either.
        """
        while not path.parent.exists() and path.parent != self._view.place:
            path, folder = path.parent, True
        with suppress(OSError):
            if stays and not os.path.lexists(path):
                _make(path, folder=folder)
            elif not stays:
                self._place(path, folder=folder)
        return path

    def _hide(self, path: Path, *, certainly: bool) -> None:
        if path.is_symlink():
            return
        if certainly:
            with suppress(OSError):
                self._place(path, folder=True)
        if path.is_dir():
            self.words += ["--tmpfs", str(path), "--remount-ro", str(path)]

    def _place(self, path: Path, *, folder: bool) -> None:
        self._placeholders.put(path, folder=folder)
        self._placed.append(path)

    def _try(self, path: Path, *, writable: bool) -> None:
        """A link cannot be held on to, and what vanished need not be."""
        with suppress(FileNotFoundError):
            if not path.is_symlink():
                self._bind(path, writable=writable)

    def _bind(self, path: Path, *, writable: bool) -> None:
        descriptor = _open(path)
        self.descriptors.append(descriptor)
        # bubblewrap checks that what it mounted is what is open.
        self.words += ["--bind-fd" if writable else "--ro-bind-fd", str(descriptor), str(path)]


def _depth(path: Path) -> int:
    return len(path.parts)


def _open(path: Path) -> int:
    """Hold on to what is there. Raises `OSError` when it, or a folder on the way, has become a link."""
    descriptor = os.open(path, _PATH_ONLY)
    real = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 — what is open, not a path
    if real == str(path) and not stat.S_ISLNK(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ESTALE, f"{path.name} was replaced while it was being opened")


@contextmanager
def _folder(path: Path) -> Generator[int]:
    descriptor = _open(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make(path: Path, *, folder: bool) -> tuple[int, int]:
    """An empty file or folder, in the real place only; says which it is. Raises `OSError`."""
    with _folder(path.parent) as above:
        if folder:
            os.mkdir(path.name, dir_fd=above)
        else:
            os.close(os.open(path.name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=above))
        made = os.stat(path.name, dir_fd=above, follow_symlinks=False)
    return made.st_dev, made.st_ino
