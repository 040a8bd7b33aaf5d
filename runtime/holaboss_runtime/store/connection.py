"""What the store knows of a SQLite connection: its type, its values, and the ways in which opening one can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

Row = dict[str, Any]
Value = str | int | float | bytes | None

BUSY_TIMEOUT_MS = 5_000


class Copy(Protocol):
    """What is used of `apsw.Backup`."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...
    def step(self, npages: int = -1) -> bool: ...


class Cursor(Protocol):
    """What is used of `apsw.Cursor`."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[Value, ...]: ...
    def get_description(self) -> tuple[tuple[str, str | None], ...]: ...


class Connection(Protocol):
    """What is used of `apsw.Connection`, whose own annotations are only partly known to a type checker."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statements: str, bindings: Sequence[Value] = ()) -> Cursor: ...
    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Value]]) -> Cursor: ...
    def changes(self) -> int: ...
    def last_insert_rowid(self) -> int: ...
    def config(self, operation: int, value: int, /) -> int: ...
    def set_busy_timeout(self, milliseconds: int) -> None: ...
    def set_progress_handler(self, callable: Callable[[], bool] | None, nsteps: int = 100) -> None: ...  # noqa: A002
    def backup(self, databasename: str, sourceconnection: Any, sourcedatabasename: str) -> Copy: ...  # noqa: ANN401
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


class OlderDatabaseError(DatabaseError):
    """A running server still uses it as it is."""

    code = "database_older"


class MigrationError(DatabaseError):
    """A migration did not work. The database keeps the schema it had; the message names the copy made before."""

    code = "migration_failed"


def pragma(connection: Connection, name: str) -> Any:  # noqa: ANN401
    """The first column of the first row a pragma answers with, or None."""
    return scalar(connection, f"PRAGMA {name}")


def scalar(connection: Connection, sql: str) -> Any:  # noqa: ANN401
    row = next(connection.execute(sql), None)
    return None if row is None else row[0]
