"""Rows of `mcp_consents`: the commands that a person allowed to be started as MCP servers.

It does not know what a fingerprint is taken of, and judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database


@dataclass(frozen=True, slots=True)
class ConsentRow:
    """`command_text` is what the person was shown when they allowed it."""

    server: str
    fingerprint: str
    command_text: str
    created_at: str


class McpConsentRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, workspace_id: str, server: str) -> ConsentRow | None:
        row = self._database.row(
            "SELECT * FROM mcp_consents WHERE workspace_id = ? AND server = ?", (workspace_id, server)
        )
        if row is None:
            return None
        return ConsentRow(row["server"], row["fingerprint"], row["command_text"], row["created_at"])

    def keep(self, workspace_id: str, server: str, fingerprint: str, command_text: str) -> None:
        """Instead of what was allowed of this server before."""
        with self._database.transaction(durable=True):
            self._database.execute(
                "INSERT INTO mcp_consents (workspace_id, server, fingerprint, command_text, created_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (workspace_id, server) DO UPDATE SET"
                " fingerprint = excluded.fingerprint, command_text = excluded.command_text,"
                " created_at = excluded.created_at",
                (workspace_id, server, fingerprint, command_text, utc_now()),
            )

    def remove(self, workspace_id: str, server: str) -> bool:
        """False when nothing was allowed."""
        with self._database.transaction(durable=True):
            removed = self._database.execute(
                "DELETE FROM mcp_consents WHERE workspace_id = ? AND server = ?", (workspace_id, server)
            )
        return removed == 1

    def forget(self, workspace_id: str) -> None:
        """Everything that was allowed in a workspace goes with it. Inside a transaction."""
        self._database.execute("DELETE FROM mcp_consents WHERE workspace_id = ?", (workspace_id,))
