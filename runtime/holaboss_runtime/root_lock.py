"""One server per sandbox root and per database: operating system locks, and notes that tell others who holds them."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.file_locks import is_locked, is_only_looked_at, lock
from holaboss_runtime.launch import StartError

_TRIES, _BETWEEN_TRIES_S = 10, 0.01
_LOOK_S = 10.0
"""How long whoever only looks may take about it: a busy machine may stop a program in the middle of that."""


@dataclass(frozen=True, slots=True)
class ServerNote:
    """Who serves a root or a database. `poke_token` is good for the poke route only."""

    pid: int
    url: str
    poke_token: str


def live_server(state_folder: Path, database_path: Path) -> ServerNote | None:
    """The server that works on this database right now, if it has said where it listens."""
    for lock_file, note in _places(state_folder, database_path):
        if is_locked(lock_file):
            return _read(note)
    return None


class RootLock:
    """Held until the process ends, however it ends."""

    def __init__(self, state_folder: Path, database_path: Path) -> None:
        self._root = state_folder.parent
        self._database = database_path
        self._places = _places(state_folder, database_path)
        self._descriptors: list[int] = []

    def acquire(self) -> None:
        """Raises `StartError` `root_locked`, naming the server that is there, and `root_not_writable`."""
        for place, (lock_file, note) in enumerate(self._places):
            try:
                descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                self._let_go()
                message = f"{lock_file.parent} cannot be used ({error.strerror})."
                raise StartError("root_not_writable", message) from error
            self._descriptors.append(descriptor)
            try:
                _take(descriptor)
            except OSError as error:
                self._let_go()
                raise self._taken(place, note) from error

    def announce(self, url: str, poke_token: str) -> None:
        """Tell local programs where this server is, and a token that is good for the poke route only.

        Raises `StartError` `root_not_writable`.
        """
        content = json.dumps({"pid": os.getpid(), "url": url, "poke_token": poke_token})
        for _, note in self._places:
            try:
                _write(note, content)
            except OSError as error:
                message = f"{note} cannot be written ({error.strerror}). Move away what is there."
                raise StartError("root_not_writable", message) from error

    def release(self) -> None:
        for _, note in self._places:
            with suppress(OSError):
                note.unlink()
        self._let_go()

    def _let_go(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def _taken(self, place: int, note: Path) -> StartError:
        found = _read(note)
        other = "" if found is None else f" (process {found.pid}, {found.url})"
        if place == 0:
            what, way_out = f"{self._root}", "choose another HB_SANDBOX_ROOT"
        else:
            what, way_out = f"the database {self._database}", "choose another HOLABOSS_RUNTIME_DB_PATH"
        return StartError(
            "root_locked",
            f"Another Holaboss runtime{other} already uses {what}. Stop it first, or {way_out}.",
        )


def _take(descriptor: int) -> None:
    """Whoever only asks whether a server is there holds the lock for a moment, and is not one. Raises `OSError`."""
    tries, until = _TRIES, time.monotonic() + _LOOK_S
    while True:
        try:
            lock(descriptor)
        except OSError:
            if is_only_looked_at(descriptor) and time.monotonic() < until:
                tries = _TRIES
            elif (tries := tries - 1) < 0:
                raise
            time.sleep(_BETWEEN_TRIES_S)
        else:
            return


def _places(state_folder: Path, database_path: Path) -> list[tuple[Path, Path]]:
    """Lock and note of the root, and those of a database that lies elsewhere: another root may share it."""
    places = [(state_folder / "server.lock", state_folder / "server.json")]
    if database_path.parent.resolve() != state_folder.resolve():
        name = database_path.name
        places.append(
            (database_path.with_name(f"{name}-server.lock"), database_path.with_name(f"{name}-server.json"))
        )
    return places


def _write(note: Path, content: str) -> None:
    partial = note.with_suffix(".part")
    with suppress(FileNotFoundError):
        partial.unlink()
    with os.fdopen(
        os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(content)
    partial.replace(note)


def _read(note: Path) -> ServerNote | None:
    try:
        content: object = json.loads(note.read_text("utf-8"))
        fields = cast(dict[str, Any], content) if isinstance(content, dict) else {}
        return ServerNote(int(fields["pid"]), str(fields["url"]), str(fields["poke_token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
