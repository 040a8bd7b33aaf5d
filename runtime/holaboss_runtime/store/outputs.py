"""Rows of `outputs` and `output_folders`: what turns and apps produced, as a person finds it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family

# Where an output came from stays known through changes that do not speak of it.
_ORIGIN = ("origin_type", "artifact_type", "change_type")
_NEWEST_FIRST = "created_at DESC, id DESC"


@dataclass(frozen=True, slots=True)
class Output:
    """`output_type` is file, document, html, post …; `status` is draft, completed, or a word of its app."""

    id: str
    workspace_id: str
    output_type: str
    title: str
    status: str
    module_id: str | None
    module_resource_id: str | None
    file_path: str | None
    html_content: str | None
    session_id: str | None
    input_id: str | None
    artifact_id: str | None
    folder_id: str | None
    platform: str | None
    metadata: dict[str, Any]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class OutputFolder:
    id: str
    workspace_id: str
    name: str
    position: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class OutputCounts:
    """`by_folder` counts under the empty string what lies in no folder; likewise `by_platform`."""

    total: int
    by_status: dict[str, int]
    by_platform: dict[str, int]
    by_folder: dict[str, int]


class Outputs:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(database, "outputs", Output, key=("id",), json_columns=("metadata",))

    def create(self, workspace_id: str, output_type: str, **values: Any) -> Output:  # noqa: ANN401
        """`values` are further columns. Raises conflict `outputs_exists` for an id in use."""
        given = {name: value for name, value in values.items() if value is not None}
        return self._rows.put(
            {"id": new_id(), "workspace_id": workspace_id, "output_type": output_type, **given}
        )

    def get(self, workspace_id: str, output_id: str) -> Output | None:
        found = self._rows.get(output_id)
        return found if found is not None and found.workspace_id == workspace_id else None

    def exists(self, output_id: str) -> bool:
        """In any workspace."""
        return self._rows.get(output_id) is not None

    def page(
        self, workspace_id: str, *, limit: int = 50, offset: int = 0, **equal: str | None
    ) -> list[Output]:
        """The newest first. `equal` narrows by output_type, status, platform, folder_id, session_id, input_id."""
        return self._rows.select(
            {"workspace_id": workspace_id, **equal}, order=_NEWEST_FIRST, limit=limit, offset=offset
        )

    def update(self, workspace_id: str, output_id: str, changes: Mapping[str, Any]) -> Output | None:
        """Set columns; new metadata keeps what the old said about the origin. None when it is not there."""
        with self._database.transaction():
            found = self.get(workspace_id, output_id)
            if found is None:
                return None
            changed = dict(changes)
            if changed.get("metadata") is not None:
                kept = {key: found.metadata[key] for key in _ORIGIN if key in found.metadata}
                changed["metadata"] = kept | dict(changed["metadata"])
            return self._rows.update((output_id,), changed)

    def delete(self, workspace_id: str, output_id: str) -> bool:
        with self._database.transaction():
            return self.get(workspace_id, output_id) is not None and self._rows.delete(output_id)

    def counts(self, workspace_id: str) -> OutputCounts:
        def by(column: str) -> dict[str, int]:
            rows = self._database.tuples(
                f"SELECT coalesce({column}, ''), count(*) FROM outputs WHERE workspace_id = ? GROUP BY 1 ORDER BY 1",
                (workspace_id,),
            )
            return {str(value): int(count) for value, count in rows}

        by_status = by("status")
        return OutputCounts(sum(by_status.values()), by_status, by("platform"), by("folder_id"))


class OutputFolders:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(database, "output_folders", OutputFolder, key=("id",))

    def create(self, workspace_id: str, name: str) -> OutputFolder:
        """It gets the last place."""
        with self._database.transaction():
            last = self._database.scalar(
                "SELECT coalesce(max(position) + 1, 0) FROM output_folders WHERE workspace_id = ?",
                (workspace_id,),
            )
            return self._rows.put(
                {"id": new_id(), "workspace_id": workspace_id, "name": name, "position": int(last)}
            )

    def get(self, workspace_id: str, folder_id: str) -> OutputFolder | None:
        found = self._rows.get(folder_id)
        return found if found is not None and found.workspace_id == workspace_id else None

    def in_order(self, workspace_id: str) -> list[OutputFolder]:
        return self._rows.select({"workspace_id": workspace_id}, order="position, created_at, id")

    def update(self, workspace_id: str, folder_id: str, changes: Mapping[str, Any]) -> OutputFolder | None:
        """Set name or position. None when it is not there."""
        with self._database.transaction():
            if self.get(workspace_id, folder_id) is None:
                return None
            return self._rows.update((folder_id,), changes)

    def delete(self, workspace_id: str, folder_id: str) -> bool:
        """What lies in it stays, in no folder."""
        with self._database.transaction():
            return self.get(workspace_id, folder_id) is not None and self._rows.delete(folder_id)
