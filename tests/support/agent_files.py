"""A database with agents and sessions, and the files that follow it: without a runtime, without a harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holaboss_client.agents import SessionEvent
from holaboss_client.base import new_id, utc_now
from holaboss_client.workspaces import Workspace
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import not_found
from holaboss_runtime.sessions.projections.projector import Projector
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import AGENT_SESSION, ALL

AGENT = "alpha"


class AgentRows:
    """The rows of the workspace registry, without its rules."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, workspace_id: str) -> Workspace:
        row = self._database.row("SELECT * FROM workspaces WHERE id = ?", (workspace_id,))
        if row is None:
            raise not_found("workspace", workspace_id)
        return Workspace.model_validate({**row, "folder_state": "healthy"})

    def folder(self, workspace_id: str) -> Path:
        return Path(self.get(workspace_id).workspace_path)

    def register_agent(self, agent_id: str, folder: Path, name: str) -> str:
        now = utc_now()
        self._database.execute(
            "INSERT INTO workspaces (id, workspace_path, kind, name, status, harness, created_at, updated_at)"
            " VALUES (?, ?, 'agent', ?, 'active', 'native', ?, ?) ON CONFLICT DO NOTHING",
            (agent_id, str(folder), name, now, now),
        )
        return agent_id

    def agent_workspace(self, workspace_id: str) -> bool:
        kind = self._database.scalar("SELECT kind FROM workspaces WHERE id = ?", (workspace_id,))
        return kind == "agent"


class AgentFiles:
    """`close` it. Several may be open on one root, as several processes are."""

    def __init__(self, root: Path, name: str = "runtime.db") -> None:
        self.root = root
        (root / "state").mkdir(exist_ok=True)
        self.database = Database.open(root / "state" / name)
        self.records = Records(self.database)
        self.tree = AgentTree(root)
        self.projector = Projector(self.records, root)
        self.agents = Agents(self.database, self.tree, AgentRows(self.database))

    def __enter__(self) -> AgentFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def agent(self, agent_id: str = AGENT) -> str:
        self.agents.ensure(agent_id)
        self.agents.environments.get("local-default")
        return agent_id

    def session(self, agent_id: str | None = AGENT, session_id: str | None = None) -> str:
        """A new session of an agent, or with None one of the desktop."""
        session_id = session_id or new_id()
        self.agent(agent_id or AGENT)
        with self.database.transaction():
            self.records.sessions.create(
                session_id,
                agent_id or AGENT,
                kind=AGENT_SESSION if agent_id else "workspace_session",
                created_by="workspace_user",
                coalesce=ALL,
                agent_id=agent_id,
                environment_id="local-default" if agent_id else None,
                resources=[
                    {
                        "id": "res_1",
                        "kind": "workspace_directory",
                        "role": "session_workspace",
                        "source_ref": str(self.tree.session_workspace(agent_id or AGENT, session_id)),
                        "mount_path": "/workspace",
                        "access": "read_write",
                        "prompt": "Yours.",
                    }
                ],
            )
            self.records.outbox.mark(session_id, "session")
        return session_id

    def say(self, session_id: str, text: str) -> SessionEvent:
        """A message that waits."""
        with self.database.transaction():
            event_id = new_id()
            event = self.records.events.append_pending(event_id, session_id, "user.message", {"text": text})
            self.records.inputs.insert(event_id, session_id, AGENT, {"text": text})
            self.records.sessions.accept_inbound(session_id, title=None)
            self.records.outbox.mark(session_id, "session")
            return event

    def answer(self, session_id: str, event: SessionEvent, text: str) -> str:
        """A run that took the message; the id of its wake."""
        wake_id = new_id()
        with self.database.transaction():
            self.records.events.mark_processed(event.event_id, wake_id)
            self.records.inputs.settle(event.event_id, "DONE")
            payload = {"message": text, "summary": text, "input_id": event.event_id}
            self.records.events.append(session_id, "agent.message", payload, wake_id=wake_id)
            self.records.messages.insert(AGENT, session_id, event.event_id, "user", event.payload["text"])
            self.records.messages.insert(AGENT, session_id, event.event_id, "assistant", text)
            self.records.outbox.mark(session_id, "session")
        return wake_id

    def events_file(self, session_id: str, agent_id: str = AGENT) -> Path:
        return self.tree.session_events(agent_id, session_id)

    def lines(self, session_id: str, agent_id: str = AGENT) -> list[dict[str, Any]]:
        return read_jsonl(self.events_file(session_id, agent_id))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
