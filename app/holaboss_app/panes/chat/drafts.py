"""What the chat remembers between two starts, as a port: the settings of the desktop implement it."""

from __future__ import annotations

from typing import Protocol


class DraftStore(Protocol):
    """Keys of drafts are `<workspace id>/<session id>`. Nothing here may block or raise."""

    def draft(self, key: str) -> str:
        """The unsent text, or an empty string."""
        ...

    def save_draft(self, key: str, text: str) -> None: ...

    def last_model(self, workspace_id: str) -> str | None:
        """The model chosen last in a workspace, `provider/model`; null or empty for the default."""
        ...

    def save_last_model(self, workspace_id: str, model: str) -> None: ...
