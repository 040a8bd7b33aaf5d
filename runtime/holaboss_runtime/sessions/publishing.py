"""Telling every screen what changed in a session, in the transaction that changes it."""

from __future__ import annotations

from holaboss_client.events import Change
from holaboss_runtime.sessions.state import derive_state
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.records import Records


class Publisher:
    def __init__(self, records: Records, changes: ChangeLog) -> None:
        self._records = records
        self._changes = changes

    def session(self, workspace_id: str, session_id: str) -> None:
        """Its title, its place in the list, or that it exists."""
        self._changes.append(Change.SESSION, workspace_id=workspace_id, session_id=session_id)

    def state(self, session_id: str) -> None:
        facts = self._records.facts.get(session_id)
        if facts is not None:
            self._changes.append(
                Change.SESSION_STATE,
                workspace_id=facts.workspace_id,
                session_id=session_id,
                payload=derive_state(facts).model_dump(),
            )

    def queue(self, workspace_id: str, session_id: str, input_id: str) -> None:
        self._changes.append(
            Change.QUEUE, workspace_id=workspace_id, session_id=session_id, payload={"input_id": input_id}
        )

    def files(self, workspace_id: str, session_id: str, paths: list[str]) -> None:
        """An empty list means that anything may have changed."""
        self._changes.append(
            Change.FILES, workspace_id=workspace_id, session_id=session_id, payload={"paths": paths}
        )

    def permissions(self, workspace_id: str) -> None:
        """The profiles of a workspace, or a rule that is kept for it."""
        self._changes.append(Change.PERMISSIONS, workspace_id=workspace_id)

    def notice(self, workspace_id: str, session_id: str, code: str, message: str) -> None:
        """Something a person should hear of."""
        self._changes.append(
            Change.NOTICE,
            workspace_id=workspace_id,
            session_id=session_id,
            payload={"code": code, "message": message},
        )
