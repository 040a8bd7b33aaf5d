"""Which sessions there are: making, finding, naming and archiving them."""

from __future__ import annotations

import re

from holaboss_client.base import new_id
from holaboss_client.sessions import CreateSession, PatchSession, Session, SessionList
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.runs.ports import Workspaces
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord

MAIN_SESSION = "main_session"
WORKSPACE_SESSION = "workspace_session"
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")
"""What fits into one segment of an address as it is."""

CLIENT_KINDS = frozenset({WORKSPACE_SESSION, "onboarding", "task_proposal", "cronjob", "subagent"})


class SessionDirectory:
    def __init__(self, records: Records, publisher: Publisher, workspaces: Workspaces) -> None:
        self._records = records
        self._publish = publisher
        self._workspaces = workspaces

    def create(self, body: CreateSession) -> Session:
        """Raises `DomainError` for an unknown workspace, a kind that is not for clients, or an id in use."""
        workspace_id = body.workspace_id
        if workspace_id is None:
            raise DomainError("unprocessable", "workspace_or_agent_required", "Name a workspace or an agent.")
        self._workspaces.get(workspace_id)
        if body.kind not in CLIENT_KINDS:
            raise DomainError(
                "unprocessable",
                "session_kind_invalid",
                f"A session of kind {body.kind!r} cannot be made this way. Leave the kind out.",
            )
        with self._records.database.transaction():
            session_id = new_id() if body.session_id is None else body.session_id
            if self._records.sessions.get(session_id) is not None:
                raise DomainError(
                    "conflict",
                    "session_id_in_use",
                    "This session id is in use. Choose another, or leave it out.",
                )
            parent = body.parent_session_id
            if parent is not None:
                self.require(workspace_id, parent)
            return self._create(
                session_id, workspace_id, body.kind, body.created_by, title=body.title, parent=parent
            ).wire()

    def ensure_main(self, workspace_id: str) -> SessionRecord:
        """The one main session of a workspace, made when it is first asked for."""
        self._workspaces.get(workspace_id)
        with self._records.database.transaction():
            found = self._records.sessions.main(workspace_id)
            return found or self._create(f"main-{new_id()}", workspace_id, MAIN_SESSION, "system")

    def choose(self, workspace_id: str, session_id: str | None) -> SessionRecord:
        """The session a message goes to: the named one, made if it does not exist yet, or the main session."""
        if session_id is None:
            return self.ensure_main(workspace_id)
        with self._records.database.transaction():
            if self._records.sessions.get(session_id) is not None:
                return self.require(workspace_id, session_id)
            return self._create(session_id, workspace_id, WORKSPACE_SESSION, "workspace_user")

    def page(
        self, workspace_id: str, *, include_archived: bool, limit: int, before: str | None
    ) -> SessionList:
        """The most recently used first; `before` is the id of the last session of the page before."""
        self._workspaces.get(workspace_id)
        anchor = None if before is None else self.require(workspace_id, before)
        found = self._records.sessions.page(
            workspace_id, include_archived=include_archived, limit=limit, before=anchor
        )
        return SessionList(items=[session.wire() for session in found], count=len(found))

    def patch(self, session_id: str, body: PatchSession) -> Session:
        self.require(body.workspace_id, session_id)
        with self._records.database.transaction():
            if body.title is not None:
                if not body.title.strip():
                    raise DomainError("unprocessable", "title_required", "A session needs a title.")
                self._records.sessions.rename(session_id, body.title.strip())
            if body.archived is not None:
                self._records.sessions.archive(session_id, archived=body.archived)
            self._publish.session(body.workspace_id, session_id)
        return self.require(body.workspace_id, session_id).wire()

    def get(self, session_id: str) -> SessionRecord:
        """Raises `DomainError` when there is no such session."""
        found = self._records.sessions.get(session_id)
        if found is None:
            raise not_found("session", session_id)
        return found

    def require(self, workspace_id: str, session_id: str) -> SessionRecord:
        """Raises `DomainError` when there is no such session, or when it belongs to another workspace."""
        found = self.get(session_id)
        if found.workspace_id != workspace_id:
            raise DomainError(
                "unprocessable", "session_workspace_mismatch", "This session belongs to another workspace."
            )
        return found

    def require_if_known(self, workspace_id: str, session_id: str) -> None:
        """For readers that may come before the session does: the workspace must exist, the session may."""
        self._workspaces.get(workspace_id)
        if self._records.sessions.get(session_id) is not None:
            self.require(workspace_id, session_id)

    def _create(
        self,
        session_id: str,
        workspace_id: str,
        kind: str,
        created_by: str,
        *,
        title: str | None = None,
        parent: str | None = None,
    ) -> SessionRecord:
        if not _SESSION_ID.fullmatch(session_id):
            raise DomainError(
                "unprocessable",
                "session_id_invalid",
                "A session id has at most 200 letters, digits, dots, dashes, colons, at signs and underscores.",
            )
        self._records.sessions.create(
            session_id, workspace_id, kind=kind, created_by=created_by, title=title, parent_session_id=parent
        )
        self._publish.session(workspace_id, session_id)
        return self.require(workspace_id, session_id)
