"""Rows of `app_builds`, `app_ports` and `app_catalog`: how far each app is, its port, what there is.

Ports are only reserved here; whether something listens is the business of whoever starts apps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family

PORTS = range(38080, 38980)
_OVER = frozenset({"completed", "running", "stopped", "failed"})


@dataclass(frozen=True, slots=True)
class AppBuild:
    """`status` is pending, building, completed, running, stopped or failed."""

    workspace_id: str
    app_id: str
    status: str
    started_at: str | None
    completed_at: str | None
    error: str | None
    restart_attempts: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class AppPort:
    workspace_id: str
    app_id: str
    port: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class CatalogApp:
    app_id: str
    source: str
    name: str
    description: str | None
    icon: str | None
    category: str | None
    tags_json: list[str]
    version: str | None
    archive_url: str | None
    archive_path: str | None
    target: str
    cached_at: str


class AppBuilds:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(database, "app_builds", AppBuild, key=("workspace_id", "app_id"))

    def put(self, workspace_id: str, app_id: str, status: str, *, error: str | None = None) -> AppBuild:
        """Say where an app is. `building` starts the clock, an end stops it; `running` forgets failed restarts."""
        now = utc_now()
        changes: dict[str, Any] = {"status": status, "error": error, "updated_at": now}
        if status == "building":
            changes |= {"started_at": now, "completed_at": None}
        elif status in _OVER:
            changes["completed_at"] = now
        if status == "running":
            changes["restart_attempts"] = 0
        return self._rows.put(
            {"workspace_id": workspace_id, "app_id": app_id, **changes}, replace=tuple(changes)
        )

    def get(self, workspace_id: str, app_id: str) -> AppBuild | None:
        return self._rows.get(workspace_id, app_id)

    def of_workspace(self, workspace_id: str) -> list[AppBuild]:
        return self._rows.select({"workspace_id": workspace_id}, order="app_id")

    def count_restart(self, workspace_id: str, app_id: str) -> int:
        """One more attempt; how many there were since the app last ran. 0 for an app without a build."""
        with self._database.transaction():
            found = self.get(workspace_id, app_id)
            if found is None:
                return 0
            attempts = found.restart_attempts + 1
            self._rows.update((workspace_id, app_id), {"restart_attempts": attempts})
        return attempts

    def delete(self, workspace_id: str, app_id: str) -> bool:
        return self._rows.delete(workspace_id, app_id)


class AppPorts:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(database, "app_ports", AppPort, key=("workspace_id", "app_id"))

    def allocate(self, workspace_id: str, app_id: str, *, avoid: Collection[int] = ()) -> AppPort:
        """The port of an app: the one it has, or the lowest free one. `avoid` are ports that others listen on.

        Raises `DomainError` (`unavailable`, `ports_exhausted`).
        """
        with self._database.transaction():
            found = self._rows.get(workspace_id, app_id)
            if found is not None:
                return found
            used = {row[0] for row in self._database.tuples("SELECT port FROM app_ports")} | set(avoid)
            port = next((port for port in PORTS if port not in used), None)
            if port is None:
                raise DomainError(
                    "unavailable", "ports_exhausted", "Every port for apps is taken. Remove an app first."
                )
            return self._rows.put({"workspace_id": workspace_id, "app_id": app_id, "port": port})

    def of_workspace(self, workspace_id: str) -> list[AppPort]:
        return self._rows.select({"workspace_id": workspace_id}, order="app_id")

    def free(self, workspace_id: str, app_id: str) -> bool:
        return self._rows.delete(workspace_id, app_id)


class AppCatalog:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(
            database, "app_catalog", CatalogApp, key=("source", "app_id"), json_columns=("tags_json",)
        )

    def replace(self, source: str, apps: Iterable[Mapping[str, Any]]) -> list[CatalogApp]:
        """What a source offers now; everything it offered before is forgotten. All or nothing."""
        with self._database.transaction():
            self._database.execute("DELETE FROM app_catalog WHERE source = ?", (source,))
            now = utc_now()
            return [self._rows.put({**app, "source": source, "cached_at": now}) for app in apps]

    def page(self, source: str | None = None) -> list[CatalogApp]:
        return self._rows.select({"source": source}, order="source, name, app_id")
