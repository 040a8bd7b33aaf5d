"""Sessions of the agent layer: making them, with their folders and what they may reach.

A session belongs to one agent and one environment for good. It starts nothing: what is asked of it comes later, as an
event.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holaboss_client.agents import AttachResource, CreateAgentSession, ResourceAttachment
from holaboss_client.base import new_id
from holaboss_client.sessions import Session, SessionList
from holaboss_runtime.agents.environments import LOCAL_DEFAULT
from holaboss_runtime.agents.ids import check_agent_id, check_new_session_id
from holaboss_runtime.agents.resources import Owner, default_resources, local_file, local_source
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.agents import AgentRecord
from holaboss_runtime.store.outbox import SESSION
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import AGENT_SESSION, ALL, SessionRecord

MAX_TITLE = 200
_TERMINATED = "terminated"


class AgentDirectory:
    """`private` are files and folders of the runtime outside of its root, which no session may reach."""

    def __init__(
        self, records: Records, publisher: Publisher, agents: Agents, *, private: Sequence[Path] = ()
    ) -> None:
        self._records = records
        self._publish = publisher
        self._agents = agents
        self._private = tuple(private)

    def create(self, body: CreateAgentSession, *, created_by: str = "workspace_user") -> Session:
        """A new session; its agent and the default environment are made when they do not exist.

        With the id of a session that this agent has already, that session. Raises `DomainError`: `agent_id_invalid`,
        `session_id_invalid`, conflict `session_id_in_use`, `environment_not_found`, `session_not_found` or
        `session_agent_mismatch` for the parent, and what `Agents.ensure` raises.
        """
        check_agent_id(body.agent_id)
        if body.session_id is not None:
            check_new_session_id(body.session_id)
            if (existing := self._existing(body.session_id, body.agent_id)) is not None:
                return existing.wire()
        if body.parent_session_id is not None:
            self._check_parent(body.parent_session_id, body.agent_id)
        environment = self._agents.environments.get(body.environment_id or LOCAL_DEFAULT)
        agent = self._agents.prepare(body.agent_id)
        session_id = body.session_id or new_id()
        owner = Owner(self._agents.tree, agent.agent_id, session_id)
        resources = default_resources(owner, self._agents.substrate_folder(agent.agent_id), environment)
        self._agents.tree.make_session(agent.agent_id, session_id)
        with self._records.database.transaction():
            if self._existing(session_id, agent.agent_id) is None:
                self._insert(session_id, agent, environment.environment_id, body, created_by, resources)
        return self.require(session_id).wire()

    def create_child(self, parent: SessionRecord, session_id: str, *, kind: str, title: str) -> None:
        """A session of the same agent in the same environment, with a folder of its own. In the transaction of the
        caller, who chose an id that fits into a path."""
        agent = self._agents.record(str(parent.agent_id))
        environment = self._agents.environments.get(parent.environment_id or LOCAL_DEFAULT)
        owner = Owner(self._agents.tree, agent.agent_id, session_id)
        resources = default_resources(owner, self._agents.substrate_folder(agent.agent_id), environment)
        self._agents.tree.make_session(agent.agent_id, session_id)
        body = CreateAgentSession(agent_id=agent.agent_id, title=title, parent_session_id=parent.session_id)
        self._insert(session_id, agent, environment.environment_id, body, "agent", resources, kind=kind)

    def page(self, agent_id: str, *, include_archived: bool, limit: int, before: str | None) -> SessionList:
        """The most recently used first; `before` is the id of the last session of the page before.

        Raises `DomainError` `agent_not_found`, and `session_not_found` or `session_agent_mismatch` for `before`.
        """
        self._agents.record(agent_id)
        anchor = None if before is None else self.require(before)
        if anchor is not None and anchor.agent_id != agent_id:
            raise DomainError(
                "unprocessable", "session_agent_mismatch", "This session belongs to another agent."
            )
        found = self._records.sessions.of_agent(
            agent_id, include_archived=include_archived, limit=limit, before=anchor
        )
        return SessionList(items=[session.wire() for session in found], count=len(found))

    def require(self, session_id: str) -> SessionRecord:
        """A session of the agent layer. Raises `session_not_found`, or conflict `session_kind_mismatch`."""
        found = self._records.sessions.get(session_id)
        if found is None:
            raise not_found("session", session_id)
        if found.agent_id is None:
            raise DomainError(
                "conflict",
                "session_kind_mismatch",
                "This session is a conversation of the desktop. Only a session of an agent has resources.",
            )
        return found

    def resources(self, session_id: str) -> list[ResourceAttachment]:
        """In the order they were attached, the default ones first."""
        return _attachments(self.require(session_id))

    def attach(
        self, session_id: str, body: AttachResource, *, base: Path | None = None
    ) -> ResourceAttachment:
        """Let a session reach a file or folder from its next run on; the same once more changes nothing.

        `base` is the folder that a relative path of the caller starts from. Raises `DomainError`: those of
        `local_source`, `local_file` and `require`, and conflict `session_terminated`.
        """
        session = self._attachable(session_id)
        owner = Owner(self._agents.tree, str(session.agent_id), session_id)
        source = local_source(body, owner, base=base, private=self._private)
        with self._records.database.transaction():
            session = self._attachable(session_id)
            attached = _attachments(session)
            resource = local_file(body, source, session_id, attached)
            if resource not in attached:
                self._records.sessions.set_resources(
                    session_id, [one.model_dump() for one in (*attached, resource)]
                )
                self._publish.session(session.workspace_id, session_id)
        return resource

    def _attachable(self, session_id: str) -> SessionRecord:
        session = self.require(session_id)
        if session.status == _TERMINATED:
            raise DomainError(
                "conflict", "session_terminated", "This session is over. Start a new one, and attach there."
            )
        return session

    def _existing(self, session_id: str, agent_id: str) -> SessionRecord | None:
        found = self._records.sessions.get(session_id)
        if found is not None and found.agent_id != agent_id:
            raise DomainError(
                "conflict",
                "session_id_in_use",
                "This session id belongs to another agent. Choose another, or leave it out.",
            )
        return found

    def _check_parent(self, parent_id: str, agent_id: str) -> None:
        if self.require(parent_id).agent_id != agent_id:
            raise DomainError(
                "unprocessable",
                "session_agent_mismatch",
                "The parent session belongs to another agent. A session can only be started by one of its own agent.",
            )

    def _insert(
        self,
        session_id: str,
        agent: AgentRecord,
        environment_id: str,
        body: CreateAgentSession,
        created_by: str,
        resources: list[ResourceAttachment],
        *,
        kind: str = AGENT_SESSION,
    ) -> None:
        self._records.sessions.create(
            session_id,
            agent.workspace_id,
            kind=kind,
            created_by=created_by,
            title=(body.title or "").strip()[:MAX_TITLE] or None,
            parent_session_id=body.parent_session_id,
            coalesce=ALL,
            agent_id=agent.agent_id,
            environment_id=environment_id,
            resources=[one.model_dump() for one in resources],
        )
        self._publish.session(agent.workspace_id, session_id)
        self._records.outbox.mark(session_id, SESSION)


def _attachments(session: SessionRecord) -> list[ResourceAttachment]:
    return [ResourceAttachment.model_validate(one) for one in session.resources]
