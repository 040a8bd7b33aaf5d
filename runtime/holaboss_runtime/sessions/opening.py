"""One door for both kinds of sessions: conversations of a workspace, and sessions of an agent."""

from __future__ import annotations

from holaboss_client.agents import CreateAgentSession
from holaboss_client.sessions import CreateSession, Session, SessionList
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.agent_directory import AgentDirectory
from holaboss_runtime.sessions.directory import WORKSPACE_SESSION, SessionDirectory
from holaboss_runtime.store.sessions import AGENT_SESSION


class Opening:
    """With an `agent_id` it is about the agent's sessions, without one about those of a workspace."""

    def __init__(self, directory: SessionDirectory, agent_directory: AgentDirectory, agents: Agents) -> None:
        self._directory = directory
        self._agent_directory = agent_directory
        self._agents = agents

    def create(self, body: CreateSession) -> Session:
        """Raises `DomainError`: what the two directories raise, `workspace_or_agent_required`,
        `environment_needs_agent`, `session_kind_invalid`, `session_workspace_mismatch`."""
        if body.agent_id is None:
            if body.environment_id is not None:
                raise _unprocessable(
                    "environment_needs_agent",
                    "Only a session of an agent has an environment. Name the agent.",
                )
            return self._directory.create(body)
        if body.kind not in (WORKSPACE_SESSION, AGENT_SESSION):
            raise _unprocessable(
                "session_kind_invalid",
                f"A session of an agent has no kind {body.kind[:80]!r}. Leave the kind out.",
            )
        self._check_workspace(body.agent_id, body.workspace_id)
        wanted = CreateAgentSession(
            agent_id=body.agent_id,
            session_id=body.session_id,
            environment_id=body.environment_id,
            title=body.title,
            parent_session_id=body.parent_session_id,
        )
        return self._agent_directory.create(wanted, created_by=body.created_by)

    def page(
        self,
        *,
        workspace_id: str | None,
        agent_id: str | None,
        include_archived: bool,
        limit: int,
        before: str | None,
    ) -> SessionList:
        """The most recently used first; `before` is the id of the last session of the page before."""
        if agent_id is not None:
            self._check_workspace(agent_id, workspace_id)
            return self._agent_directory.page(
                agent_id, include_archived=include_archived, limit=limit, before=before
            )
        if workspace_id is None:
            raise _unprocessable("workspace_or_agent_required", "Name a workspace or an agent.")
        return self._directory.page(
            workspace_id, include_archived=include_archived, limit=limit, before=before
        )

    def _check_workspace(self, agent_id: str, workspace_id: str | None) -> None:
        """An agent has one workspace; a workspace that is its own agent has the agent's id."""
        if workspace_id is None or workspace_id == agent_id:
            return
        if self._agents.record(agent_id).workspace_id != workspace_id:
            raise _unprocessable(
                "session_workspace_mismatch",
                "This agent belongs to another workspace. Leave the workspace out.",
            )


def _unprocessable(code: str, detail: str) -> DomainError:
    return DomainError("unprocessable", code, detail)
