"""Rows of `cronjobs`: what happens at set times. When the next time is, is worked out by the worker that runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family


@dataclass(frozen=True, slots=True)
class Cronjob:
    """`delivery` is `{channel, mode, to}`; `next_run_at` null means that it was not worked out yet."""

    id: str
    workspace_id: str
    initiated_by: str
    name: str
    cron: str
    description: str
    instruction: str
    enabled: bool
    delivery: dict[str, Any]
    metadata: dict[str, Any]
    last_run_at: str | None
    next_run_at: str | None
    run_count: int
    last_status: str | None
    last_error: str | None
    created_at: str
    updated_at: str


class Cronjobs:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(
            database,
            "cronjobs",
            Cronjob,
            key=("id",),
            json_columns=("delivery", "metadata"),
            flags=("enabled",),
        )

    def create(
        self,
        workspace_id: str,
        *,
        initiated_by: str,
        cron: str,
        description: str,
        delivery: Mapping[str, Any],
        **values: Any,  # noqa: ANN401
    ) -> Cronjob:
        """`values` are further columns. Without an instruction the description is what the agent is told."""
        given = {name: value for name, value in values.items() if value is not None}
        return self._rows.put(
            {
                "id": new_id(),
                "workspace_id": workspace_id,
                "initiated_by": initiated_by,
                "cron": cron,
                "description": description,
                "instruction": description,
                "delivery": dict(delivery),
                **given,
            }
        )

    def get(self, workspace_id: str, job_id: str) -> Cronjob | None:
        found = self._rows.get(job_id)
        return found if found is not None and found.workspace_id == workspace_id else None

    def page(self, workspace_id: str | None = None, *, enabled_only: bool = False) -> list[Cronjob]:
        """The oldest first; of every workspace when none is named."""
        return self._rows.select(
            {"workspace_id": workspace_id},
            order="created_at, id",
            where="enabled = 1" if enabled_only else "1",
        )

    def due(self, now: str) -> list[Cronjob]:
        """Enabled jobs whose time has come, the longest overdue first."""
        return self._rows.select(
            {}, order="next_run_at, id", where="enabled = 1 AND next_run_at <= ?", values=(now,)
        )

    def update(self, workspace_id: str, job_id: str, changes: Mapping[str, Any]) -> Cronjob | None:
        """Set columns. An instruction that was only the description follows it. None when it is not there."""
        with self._database.transaction():
            found = self.get(workspace_id, job_id)
            if found is None:
                return None
            changed = dict(changes)
            follows = found.instruction == found.description and "instruction" not in changed
            if follows and changed.get("description") is not None:
                changed["instruction"] = changed["description"]
            return self._rows.update((job_id,), changed)

    def delete(self, workspace_id: str, job_id: str) -> bool:
        with self._database.transaction():
            return self.get(workspace_id, job_id) is not None and self._rows.delete(job_id)
