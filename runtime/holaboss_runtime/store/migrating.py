"""Bringing a database to the newest schema: whether it is ours and whole, a copy of it first, then the numbered files.

Nothing here is ever undone by a migration backwards: whoever wants the old schema puts the copy back.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import cast

import apsw

from holaboss_runtime.store.connection import (
    BUSY_TIMEOUT_MS,
    Connection,
    DatabaseDamagedError,
    ForeignDatabaseError,
    MigrationError,
    NewerDatabaseError,
    UnusableDatabaseError,
    pragma,
    scalar,
)

APPLICATION_ID = 0x484F4C41  # "HOLA": tells our files from anybody else's
KEPT_COPIES = 2
CHECK_TIME_S = 2.0
"""How long the check may take; it reads some 200 MB/s, and what it did not reach by then is taken on trust."""
_STEPS_PER_LOOK = 20_000


def refuse_unusable(connection: Connection, path: Path) -> tuple[int, int]:
    """The schema of the file and the newest this program knows. Raises a `DatabaseError` unless it is ours to use."""
    latest = max(version for version, _ in migrations())
    tables = scalar(connection, "SELECT count(*) FROM sqlite_master")
    found = int(pragma(connection, "user_version"))
    if tables and pragma(connection, "application_id") != APPLICATION_ID:
        raise ForeignDatabaseError(f"{path} was made by another program and is left alone.")
    if found > latest:
        raise NewerDatabaseError(
            f"{path} has schema {found}; this version of Holaboss knows {latest}. Update Holaboss to open it."
        )
    return found, latest


def check(connection: Connection, path: Path) -> bool:
    """Look for damage. Raises `DatabaseDamagedError`; False when there was no time to look at everything."""
    deadline = time.monotonic() + CHECK_TIME_S
    # One view of it for the whole check, taken by the first question: another process may be migrating the file.
    connection.execute("BEGIN")
    try:
        scalar(connection, "SELECT count(*) FROM sqlite_master")
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_PER_LOOK)
        finding = pragma(connection, "quick_check(1)")
    except apsw.InterruptError:
        return False
    finally:
        connection.set_progress_handler(None)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    if finding != "ok":
        raise DatabaseDamagedError(
            f"{path} is damaged ({finding}). Put a copy of it back, or move it away to start with an empty one."
        )
    return True


def migrate(connection: Connection, path: Path, found: int) -> None:
    """Apply what is missing, each file in a transaction of its own. A database with records is copied first.

    Raises `MigrationError`; the files before the one that failed stay applied.
    """
    missing = [(version, sql) for version, sql in migrations() if version > found]
    if not missing:
        return
    copy = back_up(connection, path, found, missing[-1][0]) if found else None
    for version, sql in missing:
        try:
            _apply(connection, version, sql)
        except apsw.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            schema = pragma(connection, "user_version")
            kept = f" What it was before is in {copy}." if copy else ""
            raise MigrationError(
                f"{path} could not be brought to schema {version} ({error}); it has schema {schema} now and"
                f" lost nothing.{kept} Use the version of Holaboss that made it, and report this."
            ) from error


def back_up(connection: Connection, path: Path, found: int, latest: int) -> Path:
    """A whole copy beside the database, readable by its owner alone; the newest two are kept.

    Raises `UnusableDatabaseError` when there is no room for it.
    """
    copy = path.with_name(f"{path.name}.before-{found}-to-{latest}")
    partial = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        target = cast("Connection", apsw.Connection(str(partial)))
        try:
            target.set_busy_timeout(BUSY_TIMEOUT_MS)
            with target.backup("main", connection, "main") as pages:
                while not pages.step():
                    pass
            schema = pragma(target, "user_version")
        finally:
            target.close()
        if (
            schema == found
        ):  # else another process migrated it meanwhile, and the copy that it made is the one to keep
            partial.replace(copy)
    except (OSError, apsw.Error) as error:
        raise UnusableDatabaseError(
            f"{path} must be copied before it is updated to schema {latest}, and that did not work ({error})."
            " Make room beside it and start again."
        ) from error
    finally:
        for left in path.parent.glob(f"{partial.name}*"):
            left.unlink(missing_ok=True)
    _drop_older_copies(path)
    return copy


def migrations() -> list[tuple[int, str]]:
    """Numbered SQL files, `0001_name.sql`, in order."""
    folder = resources.files("holaboss_runtime.store") / "migrations"
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted((int(file.name.split("_")[0]), file.read_text("utf-8")) for file in files)


def _apply(connection: Connection, version: int, sql: str) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    if int(pragma(connection, "user_version")) < version:  # else another process was faster
        connection.execute(sql)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")
    connection.execute("PRAGMA synchronous = NORMAL")


def _drop_older_copies(path: Path) -> None:
    copies = [
        file
        for file in path.parent.glob(f"{path.name}.before-*-to-*")
        if file.name.rpartition("-")[2].isdigit()
    ]
    copies.sort(key=lambda file: file.stat().st_mtime_ns)
    for old in copies[:-KEPT_COPIES]:
        with suppress(OSError):
            old.unlink()
