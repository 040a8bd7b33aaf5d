"""Rows of `agents`: the last good reading of each definition. The file of an agent is the truth, this is its copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_client.agents import AgentDefinition
from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional, encode

FROM_FILE = "file"
FROM_WORKSPACE = "workspace"
"""Where a definition comes from (`source`)."""


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """What a definition says, and the document it says it in."""

    provider: str
    model: str
    runner: str
    config: dict[str, Any]
    config_fingerprint: str


@dataclass(frozen=True, slots=True)
class AgentRecord:
    agent_id: str
    workspace_id: str
    provider: str
    model: str
    runner: str
    config: dict[str, Any]
    config_fingerprint: str
    source: str
    created_at: str
    updated_at: str

    def wire(self, session_count: int) -> AgentDefinition:
        return AgentDefinition(
            agent_id=self.agent_id,
            workspace_id=self.workspace_id,
            provider=self.provider,
            model=self.model,
            runner=self.runner,
            source=self.source,
            session_count=session_count,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )


class AgentRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, agent_id: str, workspace_id: str, source: str, identity: AgentIdentity) -> None:
        """Nothing happens when the agent is there already."""
        now = utc_now()
        self._database.execute(
            "INSERT INTO agents (agent_id, workspace_id, provider, model, runner, config, config_fingerprint, source,"
            " created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id) DO NOTHING",
            (
                agent_id,
                workspace_id,
                identity.provider,
                identity.model,
                identity.runner,
                encode(identity.config),
                identity.config_fingerprint,
                source,
                now,
                now,
            ),
        )

    def update(self, agent_id: str, identity: AgentIdentity) -> None:
        self._database.execute(
            "UPDATE agents SET provider = ?, model = ?, runner = ?, config = ?, config_fingerprint = ?, updated_at = ?"
            " WHERE agent_id = ?",
            (
                identity.provider,
                identity.model,
                identity.runner,
                encode(identity.config),
                identity.config_fingerprint,
                utc_now(),
                agent_id,
            ),
        )

    def get(self, agent_id: str) -> AgentRecord | None:
        row = self._database.row("SELECT * FROM agents WHERE agent_id = ?", (agent_id,))
        return None if row is None else _record(row)

    def same_letters(self, agent_id: str) -> str | None:
        """Another agent whose id differs in upper and lower case only: some file systems give both one folder."""
        found = self._database.scalar(
            "SELECT agent_id FROM agents WHERE lower(agent_id) = lower(?) AND agent_id <> ?",
            (agent_id, agent_id),
        )
        return None if found is None else str(found)

    def all(self) -> list[AgentRecord]:
        return [_record(row) for row in self._database.rows("SELECT * FROM agents ORDER BY agent_id")]

    def session_count(self, agent_id: str) -> int:
        """Counted in the index; no row of a session is read."""
        return int(
            self._database.scalar("SELECT count(*) FROM agent_sessions WHERE agent_id = ?", (agent_id,))
        )


def _record(row: Row) -> AgentRecord:
    return AgentRecord(
        agent_id=row["agent_id"],
        workspace_id=row["workspace_id"],
        provider=row["provider"],
        model=row["model"],
        runner=row["runner"],
        config=decode_optional(row["config"]),
        config_fingerprint=row["config_fingerprint"],
        source=row["source"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
