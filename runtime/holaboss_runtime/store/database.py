"""The connection to `runtime.db`: opening, migrating, transactions.

One connection serves the whole process, on the thread of its event loop: a write takes tens of microseconds, so there
is nothing to gain from a second thread and an order of events to lose. Other processes may write to the same file at
the same time, which is why every transaction begins with `BEGIN IMMEDIATE`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Protocol, cast

import apsw

from holaboss_runtime.errors import DomainError

Row = dict[str, Any]
Value = str | int | float | bytes | None

APPLICATION_ID = 0x484F4C41  # "HOLA": tells our files from anybody else's
BUSY_TIMEOUT_MS = 5_000


class Connection(Protocol):
    """What is used of `apsw.Connection`, whose own annotations are only partly known to a type checker."""

    row_trace: Callable[[apsw.Cursor, tuple[Value, ...]], Row] | None

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statements: str, bindings: Sequence[Value] = ()) -> Iterator[Row]: ...
    def changes(self) -> int: ...
    def config(self, operation: int, value: int, /) -> int: ...
    def set_busy_timeout(self, milliseconds: int) -> None: ...
    def close(self) -> None: ...


class DatabaseError(Exception):
    """The database cannot be used; it was left exactly as it was found."""

    code = "database_damaged"


class DatabaseDamagedError(DatabaseError):
    pass


class UnusableDatabaseError(DatabaseError):
    """The operating system or another program is in the way: no permission, no space, locked for too long."""

    code = "root_not_writable"


class ForeignDatabaseError(DatabaseError):
    code = "database_foreign"


class NewerDatabaseError(DatabaseError):
    code = "database_newer"


class Database:
    """An open, migrated `runtime.db`. Not for use from several threads."""

    def __init__(self, connection: Connection, schema_version: int) -> None:
        self._connection = connection
        self._depth = 0
        self._after_commit: list[Callable[[], None]] = []
        self.schema_version = schema_version

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open, create or migrate the file. Raises a `DatabaseError` and changes nothing when it is not ours to use."""
        log = path.with_name(f"{path.name}-wal")
        had_log = log.exists() and log.stat().st_size > 0
        connection: Connection | None = None
        try:
            connection = cast("Connection", apsw.Connection(str(path)))
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            # Without it SQLite plans a statement that could use a partial index anew for every bound value; measured:
            # 84 instead of 8 us for the state of a session, 57 instead of 13 us to append an output event.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            connection.row_trace = _as_dict
            latest = _refuse_unusable(connection, path)
            path.chmod(0o600)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            database = cls(connection, latest)
            database._migrate()
        except DatabaseError:
            if connection is not None:
                # Closing would move a log into the file of somebody else; without one it only tidies up.
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(had_log))
                connection.close()
            raise
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise DatabaseDamagedError(f"{path} is not a readable SQLite database ({error}).") from error
        except apsw.Error as error:
            raise UnusableDatabaseError(f"{path} cannot be opened ({error}).") from error
        return database

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Generator[None]:
        """All or nothing. Inside another transaction it joins that one.

        `durable` waits until the commit is on the disk; without it a power cut may lose the newest commits, though it
        can never damage the file. Raises `DomainError` `disk_full`; nothing is changed then.
        """
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        if durable:
            self._connection.execute("PRAGMA synchronous = FULL")
        try:
            yield from self._outermost()
        except apsw.FullError as error:
            raise DomainError(
                "unavailable",
                "disk_full",
                "The disk is full, so nothing was saved. Free some space and try again.",
            ) from error
        finally:
            if durable:
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def _outermost(self) -> Generator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            self._depth = 0
            callbacks, self._after_commit = self._after_commit, []
            self._connection.execute("COMMIT")
        except BaseException:
            self._depth = 0
            self._after_commit.clear()
            if self._connection.in_transaction:  # SQLite ends it by itself when the disk is full
                self._connection.execute("ROLLBACK")
            raise
        for callback in callbacks:
            callback()

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the current transaction is committed; at once when there is none."""
        if self._depth:
            self._after_commit.append(callback)
        else:
            callback()

    def execute(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Run one statement; returns the number of rows it changed."""
        self._connection.execute(sql, values)
        return self._connection.changes()

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        return list(self._connection.execute(sql, values))

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        return next(iter(self._connection.execute(sql, values)), None)

    def scalar(self, sql: str, values: Sequence[Value] = ()) -> Any:  # noqa: ANN401
        """The only column of the first row, or None."""
        row = self.row(sql, values)
        return None if row is None else next(iter(row.values()))

    def _migrate(self) -> None:
        current = int(self.scalar("PRAGMA user_version"))
        for version, sql in _migrations():
            if version <= current:
                continue
            with self.transaction(durable=True):
                self._connection.execute(sql)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {version}")


def _as_dict(cursor: apsw.Cursor, row: tuple[Value, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}


def _refuse_unusable(connection: Connection, path: Path) -> int:
    """The newest schema version this program knows, after checking that the file is ours and not newer."""
    latest = max(version for version, _ in _migrations())
    tables = next(iter(connection.execute("SELECT count(*) AS n FROM sqlite_master")))["n"]
    owner = next(iter(connection.execute("PRAGMA application_id")))["application_id"]
    found = next(iter(connection.execute("PRAGMA user_version")))["user_version"]
    if tables and owner != APPLICATION_ID:
        raise ForeignDatabaseError(f"{path} was made by another program and is left alone.")
    if found > latest:
        raise NewerDatabaseError(
            f"{path} has schema {found}; this version of Holaboss knows {latest}. Update Holaboss to open it."
        )
    return latest


def _migrations() -> list[tuple[int, str]]:
    """Numbered SQL files, `0001_name.sql`, each applied in its own transaction."""
    folder = resources.files("holaboss_runtime.store") / "migrations"
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted((int(file.name.split("_")[0]), file.read_text("utf-8")) for file in files)
