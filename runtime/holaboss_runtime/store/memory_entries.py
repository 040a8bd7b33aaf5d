"""Rows of `memory_entries` and `memory_embedding_index`: the catalogue of the memory tree and what of it was embedded.

The text of a memory is in its file, its vector with the vectors; here is what finds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """`workspace_id` is null for what is known of the person; `status` is active, superseded or stale."""

    memory_id: str
    workspace_id: str | None
    session_id: str | None
    scope: str
    memory_type: str
    subject_key: str
    path: str
    title: str
    summary: str
    tags: list[str]
    verification_policy: str
    staleness_policy: str
    stale_after_seconds: int | None
    source_turn_input_id: str | None
    source_message_id: str | None
    source_type: str | None
    observed_at: str | None
    last_verified_at: str | None
    confidence: float | None
    fingerprint: str
    status: str
    superseded_at: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class MemoryEmbedding:
    """`content_fingerprint` is that of the text the vector was made from: another one means that it is out of date."""

    vec_rowid: int
    memory_id: str
    path: str
    workspace_id: str | None
    scope_bucket: str
    memory_type: str
    content_fingerprint: str
    embedding_model: str
    embedding_dim: int
    indexed_at: str
    updated_at: str


class MemoryEntries:
    def __init__(self, database: Database) -> None:
        self._rows = Family(
            database, "memory_entries", MemoryEntry, key=("memory_id",), json_columns=("tags",)
        )

    def put(self, *, memory_id: str | None = None, **values: Any) -> MemoryEntry:  # noqa: ANN401
        """Insert an entry, or set all given columns of the one with this id. `values` are the columns."""
        given = {name: value for name, value in values.items() if name != "created_at"}
        row = {"memory_id": memory_id or new_id(), **given, "updated_at": utc_now()}
        return self._rows.put(row, replace=[*given, "updated_at"])

    def get(self, memory_id: str) -> MemoryEntry | None:
        return self._rows.get(memory_id)

    def page(
        self, *, limit: int = -1, offset: int = 0, status: str | None = "active", **equal: str | None
    ) -> list[MemoryEntry]:
        """The most recently changed first. `equal` narrows by workspace_id, scope, memory_type, path, subject_key."""
        return self._rows.select(
            {"status": status, **equal}, order="updated_at DESC, memory_id DESC", limit=limit, offset=offset
        )

    def supersede(self, memory_id: str) -> MemoryEntry | None:
        """Something newer says otherwise. None when it is not there."""
        return self._rows.update((memory_id,), {"status": "superseded", "superseded_at": utc_now()})

    def delete(self, memory_id: str) -> bool:
        """Its embedding row goes with it."""
        return self._rows.delete(memory_id)


class MemoryEmbeddings:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(database, "memory_embedding_index", MemoryEmbedding, key=("memory_id",))

    def put(
        self,
        entry: MemoryEntry,
        *,
        scope_bucket: str,
        content_fingerprint: str,
        embedding_model: str,
        embedding_dim: int,
    ) -> MemoryEmbedding:
        """Note that an entry was embedded; `vec_rowid` of the answer is where its vector belongs, now and later."""
        now = utc_now()
        values: dict[str, Any] = {
            "path": entry.path,
            "workspace_id": entry.workspace_id,
            "scope_bucket": scope_bucket,
            "memory_type": entry.memory_type,
            "content_fingerprint": content_fingerprint,
            "embedding_model": embedding_model,
            "embedding_dim": embedding_dim,
            "indexed_at": now,
            "updated_at": now,
        }
        return self._rows.put({"memory_id": entry.memory_id, **values}, replace=tuple(values))

    def get(self, memory_id: str) -> MemoryEmbedding | None:
        return self._rows.get(memory_id)

    def by_rows(self, vec_rowids: Sequence[int]) -> dict[int, MemoryEmbedding]:
        """Who the vectors belong to."""
        found: dict[int, MemoryEmbedding] = {}
        for rowid in vec_rowids:
            found |= {
                row.vec_rowid: row for row in self._rows.select({"vec_rowid": rowid}, order="vec_rowid")
            }
        return found

    def missing(self, embedding_model: str, *, limit: int) -> list[str]:
        """Ids of active entries that this model has not embedded as they are now, the newest first."""
        rows = self._database.tuples(
            "SELECT e.memory_id FROM memory_entries e LEFT JOIN memory_embedding_index x ON x.memory_id = e.memory_id"
            " WHERE e.status = 'active' AND (x.memory_id IS NULL OR x.embedding_model <> ?"
            " OR x.content_fingerprint <> e.fingerprint) ORDER BY e.updated_at DESC, e.memory_id LIMIT ?",
            (embedding_model, limit),
        )
        return [str(row[0]) for row in rows]

    def delete(self, memory_id: str) -> bool:
        return self._rows.delete(memory_id)
