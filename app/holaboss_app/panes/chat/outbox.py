"""Messages on their way to the runtime. One that could not be delivered stays until it can, under the same
key, so that nothing is lost and nothing is said twice."""

from __future__ import annotations

from dataclasses import dataclass, field

from holaboss_client.attachments import MessageAttachment
from holaboss_client.base import new_id
from holaboss_client.sessions import QueueRequest


@dataclass(slots=True)
class Outgoing:
    """One message. `shown` is true while it already stands in the conversation."""

    workspace_id: str
    session_id: str
    text: str
    model: str | None
    files: tuple[MessageAttachment, ...] = ()
    key: str = field(default_factory=new_id)
    shown: bool = False
    sending: bool = False

    @property
    def draft_key(self) -> str:
        return f"{self.workspace_id}/{self.session_id}"

    def request(self) -> QueueRequest:
        return QueueRequest(
            workspace_id=self.workspace_id,
            session_id=self.session_id,
            text=self.text,
            attachments=[file.model_dump() for file in self.files],
            model=self.model,
            idempotency_key=self.key,
        )


class Outbox:
    """All messages that the runtime has not taken yet, oldest first."""

    def __init__(self) -> None:
        self._items: list[Outgoing] = []

    def add(self, item: Outgoing) -> None:
        self._items.append(item)

    def remove(self, item: Outgoing) -> None:
        """Delivered, refused or taken back; removing twice is fine."""
        if item in self._items:
            self._items.remove(item)

    def find(self, key: str) -> Outgoing | None:
        return next((item for item in self._items if item.key == key), None)

    def all(self) -> list[Outgoing]:
        return list(self._items)

    def of_session(self, session_id: str) -> list[Outgoing]:
        return [item for item in self._items if item.session_id == session_id]

    def undelivered(self) -> list[Outgoing]:
        """Messages that nobody is delivering right now."""
        return [item for item in self._items if not item.sending]
