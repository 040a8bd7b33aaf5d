"""The connection to `runtime.db`: opening and transactions.

One connection serves the whole process, on the thread of its event loop: a write takes tens of microseconds, so there
is nothing to gain from a second thread and an order of events to lose. Other processes may write to the same file at
the same time, which is why every transaction begins with `BEGIN IMMEDIATE`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import apsw

from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.connection import (
    BUSY_TIMEOUT_MS,
    Connection,
    Cursor,
    DatabaseDamagedError,
    DatabaseError,
    ForeignDatabaseError,
    MigrationError,
    NewerDatabaseError,
    OlderDatabaseError,
    Row,
    UnusableDatabaseError,
    Value,
)
from holaboss_runtime.store.migrating import APPLICATION_ID, check, migrate, refuse_unusable

__all__ = [
    "APPLICATION_ID",
    "Connection",
    "Database",
    "DatabaseDamagedError",
    "DatabaseError",
    "ForeignDatabaseError",
    "MigrationError",
    "NewerDatabaseError",
    "OlderDatabaseError",
    "Row",
    "UnusableDatabaseError",
    "Value",
]

_MAX_NAMES = 512
_STATEMENTS = 512
"""As many as apsw keeps prepared. Each use moves on in its ring, so with the 100 it begins with a run, which takes some
120, came round too late and had a fifth of its statements prepared anew; a prepared one takes 3 KB."""
_TURNS = 100
_SENTENCES: dict[type[apsw.Error], tuple[str, str]] = {
    apsw.FullError: ("disk_full", "The disk is full, so nothing was saved. Free some space and try again."),
    apsw.ReadOnlyError: (
        "disk_read_only",
        "The database cannot be written, so nothing was saved. Make its disk writable and try again.",
    ),
    apsw.IOError: (
        "disk_failed",
        "The disk did not take what was written, so nothing was saved. Check the disk and try again.",
    ),
    apsw.BusyError: (
        "database_busy",
        "Another program has been writing to the database for too long. Try again in a moment.",
    ),
}
_DISK_ERRORS = tuple(_SENTENCES)


class Database:
    """An open, migrated `runtime.db`. Not for use from several threads."""

    def __init__(self, connection: Connection, path: Path, schema_version: int) -> None:
        self._connection = connection
        self._depth = 0
        self._after_commit: list[Callable[[], None]] = []
        self._names: dict[str, tuple[str, ...]] = {}
        self.path = path
        self.schema_version = schema_version

    @classmethod
    def open(cls, path: Path, *, beside_others: bool = False) -> Database:
        """Open, create or migrate the file. Raises a `DatabaseError` and changes nothing when it is not ours to use.

        A database that was not closed in order is looked through first, for two seconds at most. `beside_others` is for
        a program that shares the file with a running server, where an open log is no sign of a crash.
        """
        connection: Connection | None = None
        had_log = _has_log(path)
        try:
            connection = cast("Connection", apsw.Connection(str(path), statementcachesize=_STATEMENTS))
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            # Without it SQLite plans a statement that could use a partial index anew for every bound value; measured:
            # 84 instead of 8 us for the state of a session, 57 instead of 13 us to append an output event.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            found, latest = refuse_unusable(connection, path)
            if beside_others and 0 < found < latest:
                raise OlderDatabaseError(
                    f"The running server uses {path} with schema {found}, and this program would change it to {latest}."
                    " Stop the server first, or use the commands that came with it."
                )
            if found and (found < latest or (had_log and not beside_others)):
                check(connection, path)
            path.chmod(0o600)
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            # A statement with RETURNING keeps its rows in a temporary table: claiming an input took 230 us with that in
            # a file, and takes 24 us with it in memory.
            connection.execute("PRAGMA temp_store = MEMORY")
            if beside_others:  # moving the log into the file is the server's business
                connection.execute("PRAGMA wal_autocheckpoint = 0")
            migrate(connection, path, found)
        except DatabaseError:
            _leave(connection, had_log=had_log)
            raise
        except (apsw.NotADBError, apsw.CorruptError) as error:
            _leave(connection, had_log=had_log)
            raise DatabaseDamagedError(f"{path} is not a readable SQLite database ({error}).") from error
        except (apsw.Error, OSError) as error:
            _leave(connection, had_log=had_log)
            raise UnusableDatabaseError(f"{path} cannot be opened ({error}).") from error
        return cls(connection, path, latest)

    def close(self) -> None:
        self._connection.close()

    def transaction(self, *, durable: bool = False) -> AbstractContextManager[None]:
        """All or nothing. Inside another transaction it joins that one.

        `durable` waits until the commit is on the disk; without it a power cut may lose the newest commits, though it
        can never damage the file. Raises `DomainError` (`disk_full`, `disk_read_only`, `disk_failed`,
        `database_busy`); nothing is changed then.
        """
        return _JOINED if self._depth else self._outermost(durable=durable)

    @contextmanager
    def _outermost(self, *, durable: bool) -> Generator[None]:
        if durable:
            self._connection.execute("PRAGMA synchronous = FULL")
        try:
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
        except _DISK_ERRORS as error:
            raise _disk_error(error) from error
        finally:
            if durable:
                self._connection.execute("PRAGMA synchronous = NORMAL")
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

    def insert(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Insert one row; its row number. `RETURNING` would keep it in a temporary table first."""
        self._connection.execute(sql, values)
        return self._connection.last_insert_rowid()

    def write(self, sql: str, values: Sequence[Value] = ()) -> int:
        """One statement that is a transaction of its own, or part of the current one; the number of rows it changed.

        The same as `transaction` around `execute` for a third of its cost: SQLite takes the write lock before it reads
        anything. Raises what `transaction` raises.
        """
        try:
            self._connection.execute(sql, values)
        except _DISK_ERRORS as error:
            if self._depth:
                raise  # the transaction around it says so
            raise _disk_error(error) from error
        return self._connection.changes()

    def execute_many(self, sql: str, values: Iterable[Sequence[Value]]) -> None:
        """Run one statement once for each of `values`."""
        self._connection.executemany(sql, values)

    def tuples(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Rows without the names of their columns, for where many are read."""
        return list(self._connection.execute(sql, values))

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        cursor = self._connection.execute(sql, values)
        first = next(cursor, None)
        if first is None:
            return []
        names = self._columns(sql, cursor)
        return [dict(zip(names, first, strict=True)), *(dict(zip(names, row, strict=True)) for row in cursor)]

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        cursor = self._connection.execute(sql, values)
        first = next(cursor, None)
        return None if first is None else dict(zip(self._columns(sql, cursor), first, strict=True))

    def scalar(self, sql: str, values: Sequence[Value] = ()) -> Any:  # noqa: ANN401
        """The only column of the first row, or None."""
        first = next(self._connection.execute(sql, values), None)
        return None if first is None else first[0]

    def _columns(self, sql: str, cursor: Cursor) -> tuple[str, ...]:
        """The names of a result; asking SQLite for them again for each row took longer than reading it."""
        names = self._names.get(sql)
        if names is None:
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()
            names = self._names[sql] = tuple(column[0] for column in cursor.get_description())
        return names


class _Joined:
    """A transaction inside another one: the outer one commits."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        return None


_JOINED = _Joined()


def _write_ahead(connection: Connection) -> None:
    """Switch to a write-ahead log. SQLite does not wait for others with that, so this waits for its turn to write."""
    for _ in range(_TURNS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")


def _has_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:  # also when another program has just taken it into the file
        return False


def _leave(connection: Connection | None, *, had_log: bool) -> None:
    """Close without changing anything: a log that was there stays where it is, for the file may be somebody else's."""
    if connection is not None:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(had_log))
        connection.close()


def _disk_error(error: apsw.Error) -> DomainError:
    code, sentence = next(words for kind, words in _SENTENCES.items() if isinstance(error, kind))
    return DomainError("unavailable", code, sentence)
