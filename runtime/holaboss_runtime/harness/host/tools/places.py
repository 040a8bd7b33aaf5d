"""From a path a model wrote to a real one: the areas a run may reach, and what is refused at their borders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.workspace.paths import plain_name, resolve_inside

PRIVATE_FOLDER = ".holaboss"
PRIVATE_FOLDERS = frozenset({PRIVATE_FOLDER, ".openboa"})
WORKSPACE = ("workspace",)
Parts = tuple[str, ...]


class PlaceError(Exception):
    """A path leads where it must not; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Area:
    """What lies under one virtual path: the folder `root`, or a single file. Empty `parts` are the workspace."""

    root: Path
    parts: Parts = ()
    writable: bool = True

    def name_of(self, path: Path) -> str:
        """A path as the model and the person see it: relative in the workspace, absolute and virtual elsewhere."""
        inside = path.relative_to(self.root)
        return PurePosixPath("/", *self.parts, *inside.parts).as_posix() if self.parts else inside.as_posix()


@dataclass(frozen=True, slots=True)
class Place:
    """A real path and the area it was reached through. It was inside at the moment of asking."""

    path: Path
    area: Area

    @property
    def shown(self) -> str:
        return self.name_of(self.path)

    @property
    def in_workspace(self) -> bool:
        return not self.area.parts

    def name_of(self, path: Path) -> str:
        return self.area.name_of(path)


class Areas:
    """The workspace, which `/workspace` and its real path mean as well, and what is mounted beside or over it."""

    def __init__(self, root: Path, mounts: Iterable[Mount] = ()) -> None:
        """`root` is real. A mount of `/workspace` itself only says whether the workspace may be written."""
        mounted = {parts: mount for mount in mounts if (parts := _parts(mount.mount_path)) is not None}
        whole = mounted.pop(WORKSPACE, None)
        self.workspace = Area(root, writable=whole is None or whole.access == "read_write")
        self._mounts = {
            parts: Area(real, parts, mount.access == "read_write")
            for parts, mount in mounted.items()
            if (real := _real(mount.source)) is not None
        }
        real = _parts(root.as_posix()) or WORKSPACE
        self._by_parts = {WORKSPACE: self.workspace, real: self.workspace} | self._mounts

    def locate(self, path: str, *, for_writing: bool = False) -> Place:
        """The real path behind what a model wrote. Raises `PlaceError` when it leads anywhere it must not."""
        area, inside = self._area_of(path)
        try:
            found = resolve_inside(area.root, inside or ".")
        except DomainError as error:
            if not area.parts:
                raise PlaceError(error.detail) from error
            raise PlaceError(f"{path[:200]!r} leads out of {area.name_of(area.root)}.") from error
        place = Place(found, area)
        real, given = found.relative_to(area.root).parts, PurePosixPath(inside).parts
        names = [[plain_name(name) for name in parts] for parts in (real, given)]
        for first in (parts[0] for parts in names if parts):
            if first in PRIVATE_FOLDERS:
                raise PlaceError(f"{first} belongs to the runtime and is not accessible.")
        if for_writing and any(".git" in parts for parts in names):
            raise PlaceError("Files of git are not written directly; use git commands.")
        if for_writing and not area.writable:
            raise PlaceError(f"{place.shown} can only be read.")
        return place

    def mounted_in(self, place: Place) -> dict[str, bool]:
        """The names that are in a folder because something is mounted there, and whether each is a folder."""
        inside = (*(place.area.parts or WORKSPACE), *place.path.relative_to(place.area.root).parts)
        depth = len(inside)
        below = {parts: area for parts, area in self._mounts.items() if parts[:depth] == inside}
        return {
            parts[depth]: len(parts) > depth + 1 or area.root.is_dir()
            for parts, area in below.items()
            if len(parts) > depth
        }

    def _area_of(self, path: str) -> tuple[Area, str]:
        """The area with the longest fitting virtual path, and the rest of the path."""
        given = PurePosixPath(path).parts
        parts = given[1:] if path.startswith("/") else (*WORKSPACE, *given)
        for length in range(len(parts), 0, -1):
            if (area := self._by_parts.get(parts[:length])) is not None:
                return area, "/".join(parts[length:])
        return self.workspace, path


def _parts(mount_path: str) -> Parts | None:
    """None for a path that cannot be mounted: relative, the root itself, or with a step upwards."""
    path = PurePosixPath(mount_path)
    usable = path.is_absolute() and len(path.parts) > 1 and ".." not in path.parts
    return path.parts[1:] if usable else None


def _real(source: str) -> Path | None:
    """None for anything but a real path: a link put there since it was attached must not decide where it leads."""
    path = Path(source)
    try:
        return path if path.is_absolute() and os.path.realpath(path) == str(path) else None
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL
        return None
