"""Everything that asks an agent for something: one event and its input, written together or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holaboss_client.base import new_id
from holaboss_client.sessions import InputReply, QueueRequest
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.inputs import CANCELLED, QUEUED, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.workspace.paths import resolve_inside

USER_MESSAGE = "user.message"
MESSAGE_EDITED = "user.message_edited"
MESSAGE_CANCELLED = "user.message_cancelled"
TITLE_CHARS = 80


class Inbound:
    """`queued` is called after each commit that made an input available."""

    def __init__(self, records: Records, publisher: Publisher, queued: Callable[[], None]) -> None:
        self._records = records
        self._publish = publisher
        self._queued = queued

    def append_inbound(
        self,
        workspace_id: str,
        session_id: str,
        event_type: str,
        payload: dict[str, Any],
        *,
        priority: int = 0,
        idempotency_key: str | None = None,
    ) -> InputRecord:
        """Append to a session that exists. A key that was used before in the workspace returns the first input."""
        database = self._records.database
        with database.transaction():
            if idempotency_key is not None:
                first = self._records.inputs.by_key(workspace_id, idempotency_key)
                if first is not None:
                    return first
            input_id = new_id()
            self._records.events.append_pending(input_id, session_id, event_type, payload)
            self._records.inputs.insert(
                input_id,
                session_id,
                workspace_id,
                payload,
                priority=priority,
                idempotency_key=idempotency_key,
            )
            self._records.sessions.accept_inbound(session_id, title=_title(payload))
            self._publish.queue(workspace_id, session_id, input_id)
            self._publish.state(session_id)
            self._publish.session(workspace_id, session_id)
            database.after_commit(self._queued)
            return self._require(session_id, input_id)

    def edit(self, workspace_id: str, session_id: str, input_id: str, text: str) -> InputReply:
        """Change the text of an input that no run has claimed. The log keeps both texts."""
        if not text.strip():
            raise DomainError("unprocessable", "text_required", "A message needs some text.")
        with self._records.database.transaction():
            found = self._waiting(workspace_id, session_id, input_id)
            self._records.inputs.rewrite(input_id, {**found.payload, "text": text})
            self._records.events.append(session_id, MESSAGE_EDITED, {"input_id": input_id, "text": text})
            self._publish.queue(workspace_id, session_id, input_id)
        return InputReply(input_id=input_id, session_id=session_id, status=QUEUED)

    def cancel(self, workspace_id: str, session_id: str, input_id: str) -> InputReply:
        """Take an input that no run has claimed out of the queue."""
        with self._records.database.transaction():
            self._waiting(workspace_id, session_id, input_id)
            self._records.inputs.leave_queue(input_id, CANCELLED)
            self._records.events.mark_processed(input_id, None)
            self._records.events.append(session_id, MESSAGE_CANCELLED, {"input_id": input_id})
            facts = self._records.facts.get(session_id)
            if facts is not None and facts.next_input is None:
                self._records.sessions.rest(session_id)
            self._publish.queue(workspace_id, session_id, input_id)
            self._publish.state(session_id)
            # What stood behind it may run now.
            self._records.database.after_commit(self._queued)
        return InputReply(input_id=input_id, session_id=session_id, status=CANCELLED)

    def _require(self, session_id: str, input_id: str) -> InputRecord:
        found = self._records.inputs.get(input_id)
        if found is None or found.session_id != session_id:
            raise not_found("input", input_id)
        return found

    def _waiting(self, workspace_id: str, session_id: str, input_id: str) -> InputRecord:
        found = self._require(session_id, input_id)
        if found.workspace_id != workspace_id:
            raise not_found("input", input_id)
        if found.status != QUEUED or found.attempt > 0:
            raise DomainError(
                "conflict",
                "input_not_queued",
                "This message is not waiting any more. Stop the run, or send another message.",
                status=found.status,
            )
        return found


def message_payload(body: QueueRequest, folder: Path) -> dict[str, Any]:
    """The payload of a person's message. Raises `DomainError` for one that cannot be sent."""
    if body.image_urls:
        raise DomainError(
            "unprocessable",
            "image_urls_unsupported",
            "Images from the web cannot be sent. Save the image in the workspace and attach the file.",
        )
    if not body.text.strip() and not body.attachments:
        raise DomainError("unprocessable", "text_required", "Write something, or attach a file.")
    for attachment in body.attachments:
        _check_attachment(attachment, folder)
    payload: dict[str, Any] = {"text": body.text}
    optional: dict[str, Any] = {
        "attachments": body.attachments,
        "model": body.model,
        "thinking_value": body.thinking_value,
    }
    return payload | {name: value for name, value in optional.items() if value}


def _check_attachment(attachment: dict[str, Any], folder: Path) -> None:
    path = attachment.get("workspace_path")
    # Flat and finite: it is stored with the message and goes back to every client that reads the history.
    plain = all(
        value is None or isinstance(value, str | int) or _is_finite(value) for value in attachment.values()
    )
    if not isinstance(path, str) or not path or not plain:
        raise DomainError(
            "unprocessable",
            "attachment_invalid",
            "An attachment must name a file with `workspace_path`, and consists of plain values.",
        )
    if not resolve_inside(folder, path).exists():
        raise DomainError(
            "unprocessable", "attachment_missing", f"There is no file {path!r} in the workspace to attach."
        )


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _title(payload: dict[str, Any]) -> str | None:
    return preview(str(payload.get("text", "")), TITLE_CHARS) or None
