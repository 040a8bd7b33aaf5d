"""Rows of `runtime_notifications`: what a person should know, the more important before the newer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family

PRIORITIES = ("critical", "high", "normal", "low")
LEVELS = frozenset({"info", "success", "warning", "error"})
STATES = frozenset({"unread", "read", "dismissed"})

_ORDER = (
    "CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END,"
    " created_at DESC, id DESC"
)


@dataclass(frozen=True, slots=True)
class Notification:
    id: str
    workspace_id: str
    cronjob_id: str | None
    source_type: str
    source_label: str | None
    title: str
    message: str
    level: str
    priority: str
    state: str
    metadata: dict[str, Any]
    read_at: str | None
    dismissed_at: str | None
    created_at: str
    updated_at: str


class Notifications:
    def __init__(self, database: Database) -> None:
        self._rows = Family(
            database, "runtime_notifications", Notification, key=("id",), json_columns=("metadata",)
        )

    def create(
        self,
        workspace_id: str,
        *,
        source_type: str,
        title: str,
        message: str,
        level: str = "info",
        priority: str = "normal",
        **values: Any,  # noqa: ANN401
    ) -> Notification:
        """`values` are further columns. An unknown level or priority becomes the ordinary one."""
        given = {name: value for name, value in values.items() if value is not None}
        return self._rows.put(
            {
                "id": new_id(),
                "workspace_id": workspace_id,
                "source_type": source_type,
                "title": title,
                "message": message,
                "level": level if level in LEVELS else "info",
                "priority": priority if priority in PRIORITIES else "normal",
                **given,
            }
        )

    def get(self, notification_id: str) -> Notification | None:
        return self._rows.get(notification_id)

    def page(
        self,
        workspace_id: str | None = None,
        *,
        state: str | None = None,
        include_dismissed: bool = False,
        limit: int = 50,
    ) -> list[Notification]:
        """The most important first, then the newest; dismissed ones only on request."""
        shown = "1" if include_dismissed or state else "state <> 'dismissed'"
        return self._rows.select(
            {"workspace_id": workspace_id, "state": state}, order=_ORDER, where=shown, limit=limit
        )

    def set_state(self, notification_id: str, state: str) -> Notification | None:
        """Mark it unread, read or dismissed. None when it is not there. Raises `unprocessable` `state_invalid`."""
        if state not in STATES:
            raise DomainError(
                "unprocessable", "state_invalid", f"A state is one of {', '.join(sorted(STATES))}."
            )
        now = utc_now()
        changes: dict[str, Any] = {"state": state}
        if state == "unread":
            changes["read_at"] = None
        else:
            changes[f"{state}_at"] = now
        return self._rows.update((notification_id,), changes)
