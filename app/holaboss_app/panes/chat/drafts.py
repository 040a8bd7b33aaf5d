"""What the chat remembers between two starts, as a port: the settings of the desktop implement it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holaboss_app.services.kept_pictures import KeptPictures
from holaboss_app.services.waiting_files import WaitingFile
from holaboss_client.attachments import MessageAttachment


class DraftStore(Protocol):
    """Keys of drafts are `<workspace id>/<session id>`. Nothing here may block or raise, but for `pictures`."""

    @property
    def pictures(self) -> KeptPictures:
        """Where pictures are that have no file of their own."""
        ...

    def draft(self, key: str) -> str:
        """The unsent text, or an empty string."""
        ...

    def save_draft(self, key: str, text: str) -> None: ...

    def files(self, key: str) -> list[MessageAttachment]:
        """The files that go with the unsent text; the runtime has them."""
        ...

    def waiting(self, key: str) -> list[WaitingFile]:
        """The files that the runtime does not have yet."""
        ...

    def save_files(
        self, key: str, files: Sequence[MessageAttachment], waiting: Sequence[WaitingFile]
    ) -> None: ...

    def discarded(self) -> list[tuple[str, str]]:
        """Staged files that the runtime has still to delete: workspace id and path."""
        ...

    def save_discarded(self, files: Sequence[tuple[str, str]]) -> None: ...

    def last_model(self, workspace_id: str) -> str | None:
        """The model chosen last in a workspace, `provider/model`; null or empty for the default."""
        ...

    def save_last_model(self, workspace_id: str, model: str) -> None: ...
