"""Rows of `environments`: the last good reading of each file, kept so that sessions have something to refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_client.agents import Environment
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional, encode


@dataclass(frozen=True, slots=True)
class EnvironmentRecord:
    """`document` is the file as it stands, `file_fingerprint` the sha256 of its bytes."""

    environment_id: str
    name: str
    kind: str
    document: dict[str, Any]
    file_fingerprint: str
    created_at: str
    updated_at: str


class EnvironmentRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, environment: Environment, document: dict[str, Any], file_fingerprint: str) -> None:
        """Write the row, or what changed in it."""
        self._database.execute(
            "INSERT INTO environments (environment_id, name, kind, document, file_fingerprint, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (environment_id) DO UPDATE SET name = excluded.name,"
            " kind = excluded.kind, document = excluded.document, file_fingerprint = excluded.file_fingerprint,"
            " updated_at = excluded.updated_at",
            (
                environment.environment_id,
                environment.name,
                environment.kind,
                encode(document),
                file_fingerprint,
                environment.created_at,
                environment.updated_at,
            ),
        )

    def get(self, environment_id: str) -> EnvironmentRecord | None:
        row = self._database.row("SELECT * FROM environments WHERE environment_id = ?", (environment_id,))
        return None if row is None else _record(row)

    def all(self) -> list[EnvironmentRecord]:
        return [
            _record(row) for row in self._database.rows("SELECT * FROM environments ORDER BY environment_id")
        ]


def _record(row: Row) -> EnvironmentRecord:
    return EnvironmentRecord(
        environment_id=row["environment_id"],
        name=row["name"],
        kind=row["kind"],
        document=decode_optional(row["document"]),
        file_fingerprint=row["file_fingerprint"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
