"""Rows of `agent_runtime_sessions`: which session of a harness stands behind a session of ours."""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family


@dataclass(frozen=True, slots=True)
class Binding:
    workspace_id: str
    session_id: str
    harness: str
    harness_session_id: str
    created_at: str
    updated_at: str


class Bindings:
    def __init__(self, database: Database) -> None:
        self._rows = Family(database, "agent_runtime_sessions", Binding, key=("workspace_id", "session_id"))

    def put(self, workspace_id: str, session_id: str, harness: str, harness_session_id: str) -> Binding:
        """Bind, or bind anew."""
        return self._rows.put(
            {
                "workspace_id": workspace_id,
                "session_id": session_id,
                "harness": harness,
                "harness_session_id": harness_session_id,
            },
            replace=("harness", "harness_session_id", "updated_at"),
        )

    def get(self, workspace_id: str, session_id: str) -> Binding | None:
        return self._rows.get(workspace_id, session_id)

    def of_workspace(self, workspace_id: str) -> list[Binding]:
        """The most recently used first."""
        return self._rows.select({"workspace_id": workspace_id}, order="updated_at DESC, session_id")
