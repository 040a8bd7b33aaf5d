"""Staged files that will not be sent: deleted in the runtime, now or as soon as there is one again."""

from __future__ import annotations

from collections.abc import Iterable

from holaboss_app.core.attachments import is_staged
from holaboss_app.panes.chat.drafts import DraftStore
from holaboss_app.services.tasks import Tasks
from holaboss_client.attachments import MessageAttachment
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError, RuntimeUnreachableError


class Discards:
    def __init__(self, drafts: DraftStore, tasks: Tasks) -> None:
        self._drafts, self._tasks = drafts, tasks
        self._client: RuntimeClient | None = None

    def attach(self, client: RuntimeClient) -> None:
        self._client = client
        for workspace_id, path in self._drafts.discarded():
            self._tasks.start(self._delete(client, workspace_id, path))

    def detach(self) -> None:
        self._client = None

    def add(self, workspace_id: str, files: Iterable[MessageAttachment]) -> None:
        """A draft is given up. Files of the workspace itself stay, and so does what a message names after all."""
        paths = [file.workspace_path for file in files if is_staged(file)]
        self._drafts.save_discarded([*self._drafts.discarded(), *((workspace_id, path) for path in paths)])
        if self._client is not None:
            for path in paths:
                self._tasks.start(self._delete(self._client, workspace_id, path))

    async def _delete(self, client: RuntimeClient, workspace_id: str, path: str) -> None:
        try:
            await client.discard_attachment(workspace_id, path)
        except RuntimeUnreachableError:
            return  # it is asked again when a runtime is there
        except ProblemError:
            pass  # a message names it, or its workspace is gone: nothing is left to do
        left = [each for each in self._drafts.discarded() if each != (workspace_id, path)]
        self._drafts.save_discarded(left)
