"""What lies in `.holaboss/undo`: contents, manifests of turns, what the recorder saw, the journal of an undo, a lock.

    blobs/<2>/<sha256>   contents        turns/<time>-<id>.json   one manifest for each turn
    index.json           what the recorder last saw               journal.json   an undo that is under way

Files are 0600, folders 0700. What is found there is checked: a workspace may come from anywhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from holaboss_runtime.file_locks import lock
from holaboss_runtime.workspace.undo.blobs import BlobStore
from holaboss_runtime.workspace.undo.model import BadRecordError, Turn
from holaboss_runtime.workspace.undo.tree import Tree

QUOTA = 256 << 20
MAX_TURNS = 500
MAX_RECORD = 32 << 20
PATIENCE_S = 10.0
_COLLECT_EVERY = 8 << 20
_AGAIN_S = 0.005
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)

T = TypeVar("T")


class BusyError(Exception):
    """Another one works with it at this moment; it will be free again shortly."""


async def once_free(work: Callable[[], T]) -> T:
    """Do `work` in a thread, as soon as it does not raise `BusyError`. Raises `BusyError` when nobody has let go within
    `PATIENCE_S`; the work itself may take as long as it takes, because nothing could stop it."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await asyncio.to_thread(work)
        except BusyError:
            if time.monotonic() >= until:
                raise
            await asyncio.sleep(_AGAIN_S)


class UndoStore:
    """Of one workspace folder, which is real. Use it inside `held`, in a thread."""

    def __init__(self, root: Path, *, quota: int = QUOTA) -> None:
        self.tree = Tree(root)
        self.folder = root / ".holaboss" / "undo"
        self.blobs = BlobStore(self.folder / "blobs", self.folder / "staging")
        self._turns = self.folder / "turns"
        self._quota = quota
        self._collected = 0

    @property
    def exists(self) -> bool:
        return self._turns.is_dir()

    @contextmanager
    def held(self) -> Generator[None]:
        """The store for oneself, across processes. Raises `BusyError`, and `OSError` where there can be none."""
        for folder in (self.folder.parent, self.folder, self._turns, self.folder / "blobs"):
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.is_symlink():
                raise OSError(f"{folder.name} is a link")
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
        try:
            try:
                lock(descriptor)
            except OSError as error:
                raise BusyError from error
            yield
        finally:
            os.close(descriptor)

    # Turns

    def load(self, input_id: str) -> Turn | None:
        path = self._path_of(input_id)
        return None if path is None else _turn(path)

    def save(self, turn: Turn, *, durable: bool = False) -> None:
        """A turn with nothing in it has no manifest."""
        path = self._path_of(turn.input_id)
        if turn.empty:
            if path is not None:
                path.unlink()
            return
        name = f"{turn.created_at.replace(':', '')}-{_short(turn.input_id)}.json"
        self.write(path or self._turns / name, turn.as_json(), durable=durable)

    def turns(self) -> list[Turn]:
        """All there are, newest first; what cannot be read is left out."""
        found = (_turn(path) for path in reversed(self._paths()))
        return [turn for turn in found if turn is not None]

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self._turns.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []

    def _path_of(self, input_id: str) -> Path | None:
        return next(iter(self._turns.glob(f"*-{_short(input_id)}.json")), None)

    # Other records

    def read(self, name: str) -> Any:  # noqa: ANN401 - whatever is there
        """A record by file name; None when there is none that can be read."""
        return _read(self.folder / name)

    def write(self, path: Path | str, value: object, *, durable: bool = False) -> None:
        """A path, or the name of a record."""
        place = path if isinstance(path, Path) else self.folder / path
        staged = place.with_name(f".{secrets.token_hex(6)}.new")
        with open(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode())
            if durable:
                file.flush()
                os.fsync(file.fileno())
        staged.replace(place)
        if durable:
            _sync_folder(place.parent)

    def forget(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    # Room

    def collect(self, kept: Iterable[str], *, now: bool = False) -> None:
        """Make room when a good deal was written: contents nobody needs go first, then the oldest turns.

        `kept` are the contents the recorder wants to keep.
        """
        if (
            not now
            and self.blobs.written - self._collected < _COLLECT_EVERY
            and len(self._paths()) <= MAX_TURNS
        ):
            return
        self._collected = self.blobs.written
        self.blobs.tidy()
        for path in self._paths()[:-MAX_TURNS]:
            path.unlink()
        sizes, base = self.blobs.sizes(), set(kept)
        if sum(sizes.values()) <= self._quota:
            return
        room, needed = self._quota - sum(sizes.get(digest, 0) for digest in base), set(base)
        for path in reversed(self._paths()):
            turn = _turn(path)
            own = turn.digests() - needed if turn is not None else set[str]()
            room -= sum(sizes.get(digest, 0) for digest in own)
            if turn is None or room < 0:
                path.unlink()
            else:
                needed |= own
        self.blobs.drop_all_but(needed)


def _turn(path: Path) -> Turn | None:
    try:
        turn = Turn.from_json(_read(path))
    except BadRecordError:
        return None
    return turn if path.stem.endswith(_short(turn.input_id)) else None


def _read(path: Path) -> Any:  # noqa: ANN401
    try:
        if path.is_symlink() or path.stat().st_size > MAX_RECORD:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _short(input_id: str) -> str:
    """A name for a file whatever the id is made of."""
    return hashlib.sha256(input_id.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not everywhere can a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
