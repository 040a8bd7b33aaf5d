"""An agent layer over a real database and a real tree, with a workspace registry that only registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holaboss_client.base import new_id, utc_now
from holaboss_client.workspaces import Workspace
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import not_found
from holaboss_runtime.store.database import Database


class PlainRegistry:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, workspace_id: str, folder: Path, *, kind: str = "workspace") -> str:
        now = utc_now()
        self._database.execute(
            "INSERT INTO workspaces (id, workspace_path, kind, name, status, harness, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, 'active', 'native', ?, ?)",
            (workspace_id, str(folder), kind, workspace_id, now, now),
        )
        return workspace_id

    def get(self, workspace_id: str) -> Workspace:
        row = self._database.row("SELECT * FROM workspaces WHERE id = ?", (workspace_id,))
        if row is None or row["deleted_at_utc"] is not None:
            raise not_found("workspace", workspace_id)
        return Workspace.model_validate({**row, "folder_state": "healthy"})

    def folder(self, workspace_id: str) -> Path:
        return Path(self.get(workspace_id).workspace_path)

    def register_agent(self, agent_id: str, folder: Path, name: str) -> str:
        sql = "SELECT id FROM workspaces WHERE workspace_path = ? AND kind = 'agent'"
        found = self._database.scalar(sql, (str(folder),))
        if found is not None:
            return str(found)
        taken = self._database.row("SELECT id FROM workspaces WHERE id = ?", (agent_id,))
        return self.add(new_id() if taken else agent_id, folder, kind="agent")

    def agent_workspace(self, workspace_id: str) -> bool:
        return self._database.scalar("SELECT kind FROM workspaces WHERE id = ?", (workspace_id,)) == "agent"


@dataclass
class Place:
    root: Path
    database: Database
    registry: PlainRegistry
    tree: AgentTree
    agents: Agents

    def again(self) -> Agents:
        """As another process would see it."""
        return Agents(self.database, self.tree, self.registry)


@contextmanager
def agent_place(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "root"
    root.mkdir()
    database = Database.open(tmp_path / "runtime.db")
    registry = PlainRegistry(database)
    tree = AgentTree(root)
    yield Place(root, database, registry, tree, Agents(database, tree, registry))
    database.close()
