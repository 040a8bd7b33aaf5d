"""Rows of the workspace registry. A deleted workspace keeps its row, so that its sessions stay readable."""

from __future__ import annotations

from holaboss_runtime.store.database import Database, Row, Value

WORKSPACE, AGENT = "workspace", "agent"
"""Kinds: a person's folder, and the folder an agent of the agent layer owns."""

_COLUMNS = frozenset(
    {
        "name",
        "status",
        "error_message",
        "icon",
        "icon_color",
        "onboarding_status",
        "onboarding_session_id",
        "onboarding_completed_at",
        "onboarding_completion_summary",
        "onboarding_requested_at",
        "onboarding_requested_by",
        "workspace_path",
        "updated_at",
        "deleted_at_utc",
    }
)


class WorkspaceRows:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, row: Row) -> None:
        self._database.execute(
            "INSERT INTO workspaces (id, workspace_path, kind, name, status, harness, error_message,"
            " onboarding_status, managed, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                row[key]
                for key in (
                    "id",
                    "workspace_path",
                    "kind",
                    "name",
                    "status",
                    "harness",
                    "error_message",
                    "onboarding_status",
                    "managed",
                    "created_at",
                    "updated_at",
                )
            ],
        )

    def get(self, workspace_id: str) -> Row | None:
        """The row, also that of a deleted workspace."""
        return self._database.row("SELECT * FROM workspaces WHERE id = ?", (workspace_id,))

    def at(self, path: str) -> Row | None:
        """The row of the workspace that lies exactly there."""
        return self._database.row("SELECT * FROM workspaces WHERE workspace_path = ?", (path,))

    def live(self) -> list[Row]:
        return self._database.rows("SELECT * FROM workspaces WHERE deleted_at_utc IS NULL ORDER BY id")

    def page(
        self,
        *,
        limit: int,
        offset: int,
        status: str | None = None,
        include_deleted: bool = False,
        include_agents: bool = False,
    ) -> tuple[list[Row], int]:
        """Rows, most recently changed first, and how many there are without the limit."""
        where = "(? IS NULL OR status = ?) AND (? OR deleted_at_utc IS NULL) AND (? OR kind <> 'agent')"
        values: tuple[Value, ...] = (status, status, int(include_deleted), int(include_agents))
        total = self._database.scalar(f"SELECT count(*) FROM workspaces WHERE {where}", values)
        rows = self._database.rows(
            f"SELECT * FROM workspaces WHERE {where}"
            " ORDER BY updated_at DESC, created_at DESC, id LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return rows, int(total)

    def update(self, workspace_id: str, changes: dict[str, Value]) -> None:
        """Set columns. Raises `ValueError` for a column that never changes."""
        if unknown := changes.keys() - _COLUMNS:
            raise ValueError(f"not updatable: {sorted(unknown)}")
        assignments = ", ".join(f"{column} = ?" for column in changes)
        self._database.execute(
            f"UPDATE workspaces SET {assignments} WHERE id = ?", (*changes.values(), workspace_id)
        )
