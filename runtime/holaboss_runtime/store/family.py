"""What most record families have in common: one table, one frozen record per row, some columns that are JSON or flags.

The names in the SQL come from the records and from the modules of the store, never from a caller: a column that a
family does not have is refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import apsw

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database, Value
from holaboss_runtime.store.json_text import encode


class Record(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


R = TypeVar("R", bound=Record)


class Family(Generic[R]):
    """Rows of `table` as `record`, whose fields are the columns. `key` names the columns that identify a row."""

    def __init__(
        self,
        database: Database,
        table: str,
        record: type[R],
        *,
        key: Sequence[str],
        json_columns: Collection[str] = (),
        flags: Collection[str] = (),
    ) -> None:
        self.database = database
        self._table = table
        self._record = record
        self._names = [field.name for field in fields(record)]
        self._columns = ", ".join(self._names)
        self._key = " AND ".join(f"{column} = ?" for column in key)
        self._key_columns = tuple(key)
        self._json = frozenset(json_columns)
        self._flags = frozenset(flags)

    def put(self, values: Mapping[str, Any], *, replace: Collection[str] = ()) -> R:
        """Insert a row; where the key is in use already, set the columns `replace` of that row instead.

        Times of creation and change are filled in. Raises conflict `<table>_exists` when there is nothing to replace.
        """
        row = self._stamped(dict(values))
        columns = list(row)
        conflict = ", ".join(f"{column} = excluded.{column}" for column in replace) if replace else ""
        then = f"UPDATE SET {conflict}" if replace else "NOTHING"
        found = self._first(
            f"INSERT INTO {self._table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
            f" ON CONFLICT ({', '.join(self._key_columns)}) DO {then} RETURNING {self._columns}",
            [self._stored(column, row[column]) for column in columns],
        )
        if found is None:
            raise DomainError(
                "conflict",
                f"{self._table}_exists",
                f"This id is already in use in {self._table}. Choose another.",
            )
        return found

    def get(self, *key: Value) -> R | None:
        return self._first(f"SELECT {self._columns} FROM {self._table} WHERE {self._key}", key)

    def update(self, key: Sequence[Value], changes: Mapping[str, Any]) -> R | None:
        """Set columns; the row as it is now, or None without one. Without changes nothing is written."""
        if not changes:
            return self.get(*key)
        row = dict(changes)
        if "updated_at" in self._names:
            row.setdefault("updated_at", utc_now())
        self._check(row)
        assignments = ", ".join(f"{column} = ?" for column in row)
        return self._first(
            f"UPDATE {self._table} SET {assignments} WHERE {self._key} RETURNING {self._columns}",
            [*(self._stored(column, value) for column, value in row.items()), *key],
        )

    def delete(self, *key: Value) -> bool:
        """False when it was not there."""
        with self.database.transaction():
            return self.database.execute(f"DELETE FROM {self._table} WHERE {self._key}", key) > 0

    def select(
        self,
        equal: Mapping[str, Value | None],
        *,
        order: str,
        where: str = "1",
        values: Sequence[Value] = (),
        limit: int = -1,
        offset: int = 0,
    ) -> list[R]:
        """Rows whose columns have the given values (None: any). `order` and `where`, with its
        `values`, are SQL of the calling module."""
        wanted = {column: value for column, value in equal.items() if value is not None}
        self._check(wanted)
        conditions = [where, *(f"{column} = ?" for column in wanted)]
        rows = self.database.tuples(
            f"SELECT {self._columns} FROM {self._table} WHERE {' AND '.join(conditions)} ORDER BY {order}"
            " LIMIT ? OFFSET ?",
            [*values, *wanted.values(), limit, offset],
        )
        return [self._decode(row) for row in rows]

    def _first(self, sql: str, values: Sequence[Value]) -> R | None:
        try:
            with self.database.transaction():
                rows = self.database.tuples(sql, values)
        except apsw.ConstraintError as error:
            raise DomainError(
                "unprocessable",
                f"{self._table}_invalid",
                f"{self._table} cannot hold this ({error}). Give every field it needs, and only what exists.",
            ) from error
        return self._decode(rows[0]) if rows else None

    def _stamped(self, row: dict[str, Any]) -> dict[str, Any]:
        now = utc_now()
        for column in ("created_at", "updated_at"):
            if column in self._names:
                row.setdefault(column, now)
        self._check(row)
        return row

    def _check(self, columns: Collection[str]) -> None:
        if unknown := sorted(set(columns) - set(self._names)):
            raise ValueError(f"{self._table} has no {', '.join(unknown)}")

    def _stored(self, column: str, value: Any) -> Value:  # noqa: ANN401
        if value is None:
            return None
        if column in self._json:
            return encode(value)
        return int(bool(value)) if column in self._flags else value

    def _decode(self, row: tuple[Any, ...]) -> R:
        values = dict(zip(self._names, row, strict=True))
        for column in self._json:
            if values[column] is not None:
                values[column] = json.loads(values[column])
        for column in self._flags:
            values[column] = bool(values[column])
        return self._record(**values)
