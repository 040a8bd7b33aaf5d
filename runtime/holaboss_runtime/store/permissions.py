"""Rows of `workspace_permissions` and `permission_rules`: the profiles of a workspace, and the rules a person keeps.

It knows no profile by what it allows, and judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_client.base import new_id, utc_now
from holaboss_client.permissions import KeptRule, RuleText
from holaboss_runtime.store.database import Database, Row

CONVERSATIONS = "ask"
UNATTENDED = "unattended"
"""The profiles of a workspace of which nobody said anything."""

_TEXT = ("effect", "tool", "command", "path", "host", "server")


@dataclass(frozen=True, slots=True)
class Profiles:
    """`attended` holds for conversations, `unattended` for sessions that nobody watches."""

    attended: str = CONVERSATIONS
    unattended: str = UNATTENDED


class PermissionRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def profiles(self, workspace_id: str) -> Profiles:
        row = self._database.row(
            "SELECT * FROM workspace_permissions WHERE workspace_id = ?", (workspace_id,)
        )
        return Profiles() if row is None else Profiles(row["profile"], row["unattended_profile"])

    def set_profiles(self, workspace_id: str, profiles: Profiles) -> None:
        self._database.execute(
            "INSERT INTO workspace_permissions (workspace_id, profile, unattended_profile, updated_at)"
            " VALUES (?, ?, ?, ?) ON CONFLICT (workspace_id) DO UPDATE SET profile = excluded.profile,"
            " unattended_profile = excluded.unattended_profile, updated_at = excluded.updated_at",
            (workspace_id, profiles.attended, profiles.unattended, utc_now()),
        )

    def rules(self, workspace_id: str) -> list[KeptRule]:
        """In the order they were made."""
        rows = self._database.rows(
            "SELECT * FROM permission_rules WHERE workspace_id = ? ORDER BY seq", (workspace_id,)
        )
        return [_rule(row) for row in rows]

    def keep(self, workspace_id: str, rule: RuleText, *, action_id: str | None = None) -> KeptRule:
        """Keep a rule as the newest. The same rule, made before, is not kept twice: it becomes the newest."""
        values = [getattr(rule, name) for name in _TEXT]
        same = " AND ".join(f"coalesce({name}, '') = coalesce(?, '')" for name in _TEXT)
        self._database.execute(
            f"DELETE FROM permission_rules WHERE workspace_id = ? AND {same}", (workspace_id, *values)
        )
        row = self._database.row(
            f"INSERT INTO permission_rules (id, workspace_id, {', '.join(_TEXT)}, action_id, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
            (new_id(), workspace_id, *values, action_id, utc_now()),
        )
        if row is None:
            raise RuntimeError("a rule vanished inside a transaction")
        return _rule(row)

    def remove(self, workspace_id: str, rule_id: str) -> bool:
        """False when it was not there."""
        removed = self._database.execute(
            "DELETE FROM permission_rules WHERE workspace_id = ? AND id = ?", (workspace_id, rule_id)
        )
        return removed == 1

    def forget(self, workspace_id: str) -> None:
        """Everything that was allowed in a workspace goes with it."""
        for table in ("permission_rules", "workspace_permissions"):
            self._database.execute(f"DELETE FROM {table} WHERE workspace_id = ?", (workspace_id,))


def _rule(row: Row) -> KeptRule:
    return KeptRule(id=row["id"], created_at=row["created_at"], **{name: row[name] for name in _TEXT})
