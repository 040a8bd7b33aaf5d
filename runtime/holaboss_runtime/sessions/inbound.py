"""Everything that asks an agent for something: one event and its input, written together or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from holaboss_client.agents import INBOUND
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.base import new_id
from holaboss_client.sessions import InputReply
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.actions import Actions
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.inputs import CANCELLED, QUEUED, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import TERMINATED, SessionRecord

TITLE_CHARS = 80
_EVENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")


class Inbound:
    """`queued` is called after each commit that made an input available."""

    def __init__(self, records: Records, publisher: Publisher, queued: Callable[[], None]) -> None:
        self._records = records
        self._publish = publisher
        self._queued = queued
        self._actions = Actions(records, publisher)

    def append_inbound(
        self,
        session: SessionRecord,
        event_type: str,
        payload: dict[str, Any],
        *,
        event_id: str | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
        resumes: bool = True,
    ) -> InputRecord:
        """Append to a session that exists; a decision is carried out with it. Unless it `resumes`, a pause stays.

        A key that was used before in the workspace, or an event id that was used in the session, returns the first
        input. Raises `DomainError` for a session that has ended, for a decision that nothing waits for, and for an id
        that is in use elsewhere.
        """
        if event_type not in INBOUND:
            raise ValueError(f"{event_type} is not an inbound event")
        if event_id is not None and not _EVENT_ID.fullmatch(event_id):
            raise DomainError(
                "unprocessable",
                "event_id_invalid",
                "An event id has at most 200 letters, digits, dots, dashes, colons, at signs and underscores.",
            )
        database, session_id = self._records.database, session.session_id
        with database.transaction():
            first = self._first(session, event_id, idempotency_key)
            if first is not None:
                return first
            self._refuse_ended(session_id)
            event_type, payload = self._actions.complete(session, event_type, payload)
            input_id = event_id or new_id()
            self._records.events.append_pending(input_id, session_id, event_type, payload)
            self._records.inputs.insert(
                input_id,
                session_id,
                session.workspace_id,
                payload,
                event_type=event_type,
                priority=priority,
                idempotency_key=idempotency_key,
            )
            self._actions.decide(session, event_type, payload, input_id)
            title = _title(payload) if event_type == Event.USER_MESSAGE else None
            resumes = resumes and event_type != Event.USER_INTERRUPT  # to stop something is not to go on
            self._records.sessions.accept_inbound(session_id, title=title, resumes=resumes)
            self._publish.queue(session.workspace_id, session_id, input_id)
            self._publish.state(session_id)
            self._publish.session(session.workspace_id, session_id)
            self.notify_after_commit()
            return self._require(session_id, input_id)

    def notify_after_commit(self) -> None:
        self._records.database.after_commit(self._queued)

    def edit(self, workspace_id: str, session_id: str, input_id: str, text: str) -> InputReply:
        """Change the text of an input that no run has claimed. The log keeps both texts."""
        if not text.strip():
            raise DomainError("unprocessable", "text_required", "A message needs some text.")
        with self._records.database.transaction():
            found = self._waiting(workspace_id, session_id, input_id)
            self._records.inputs.rewrite(input_id, {**found.payload, "text": text})
            self._records.events.append(
                session_id, Event.USER_MESSAGE_EDITED, {"input_id": input_id, "text": text}
            )
            self._publish.queue(workspace_id, session_id, input_id)
        return InputReply(input_id=input_id, session_id=session_id, status=QUEUED)

    def cancel(self, workspace_id: str, session_id: str, input_id: str) -> InputReply:
        """Take an input that no run has claimed out of the queue."""
        with self._records.database.transaction():
            self._waiting(workspace_id, session_id, input_id)
            self._records.inputs.leave_queue(input_id, CANCELLED)
            self._records.events.mark_processed(input_id, None)
            self._records.events.append(session_id, Event.USER_MESSAGE_CANCELLED, {"input_id": input_id})
            facts = self._records.facts.get(session_id)
            if facts is not None and facts.next_input is None:
                self._records.sessions.rest(session_id)
            self._publish.queue(workspace_id, session_id, input_id)
            self._publish.state(session_id)
            self.notify_after_commit()  # what stood behind it may run now
        return InputReply(input_id=input_id, session_id=session_id, status=CANCELLED)

    def _first(
        self, session: SessionRecord, event_id: str | None, idempotency_key: str | None
    ) -> InputRecord | None:
        if event_id is not None and (first := self._records.inputs.get(event_id)) is not None:
            if first.session_id != session.session_id:
                raise DomainError("conflict", "event_id_in_use", f"Event {event_id} is in another session.")
            return first
        if event_id is not None and self._records.events.get(event_id) is not None:
            raise DomainError(
                "conflict", "event_id_in_use", f"Event {event_id} is in a log, and nobody sent it."
            )
        if idempotency_key is None:
            return None
        return self._records.inputs.by_key(session.workspace_id, idempotency_key)

    def _refuse_ended(self, session_id: str) -> None:
        status = self._records.sessions.status(session_id)
        if status is None:
            raise not_found("session", session_id)
        if status == TERMINATED:
            raise DomainError(
                "conflict", "session_terminated", "This session has ended. Start another one to go on."
            )

    def _require(self, session_id: str, input_id: str) -> InputRecord:
        found = self._records.inputs.get(input_id)
        if found is None or found.session_id != session_id:
            raise not_found("input", input_id)
        return found

    def _waiting(self, workspace_id: str, session_id: str, input_id: str) -> InputRecord:
        found = self._require(session_id, input_id)
        if found.workspace_id != workspace_id:
            raise not_found("input", input_id)
        if found.status != QUEUED or found.attempt > 0 or found.event_type != Event.USER_MESSAGE:
            raise DomainError(
                "conflict",
                "input_not_queued",
                "This message is not waiting any more. Stop the run, or send another message.",
                input_status=found.status,
            )
        return found


def _title(payload: dict[str, Any]) -> str | None:
    return preview(str(payload.get("text", "")), TITLE_CHARS) or None
