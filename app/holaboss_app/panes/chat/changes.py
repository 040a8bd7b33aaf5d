"""What the turns of the session on screen did to files: fetched when one ends, shown under it, moved on request."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from holaboss_app.panes.chat.conversation import Conversation
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.services.tasks import Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError, RuntimeUnreachableError

_TURNS = 100


class Changes(QObject):
    complained = Signal(str)
    """Nothing was moved, and why."""

    def __init__(self, pane: ChatPane, tasks: Tasks) -> None:
        super().__init__(pane)
        self._view = pane.transcript
        self._tasks = tasks
        self._client: RuntimeClient | None = None
        self._conversation: Conversation | None = None
        self._view.move_requested.connect(self._move)

    def attach(self, client: RuntimeClient) -> None:
        self._client = client
        self.refresh()

    def detach(self) -> None:
        self._client = None
        self._tasks.cancel("changes")

    def show(self, conversation: Conversation | None) -> None:
        """Another session is on screen, or none."""
        self._conversation = conversation
        self._tasks.cancel("changes")
        self._view.show_changes({})
        self.refresh()

    def refresh(self) -> None:
        """A turn has ended, or files were moved."""
        if self._client is not None and self._conversation is not None:
            self._tasks.start(self._load(self._client, self._conversation), key="changes")

    async def _load(self, client: RuntimeClient, conversation: Conversation) -> None:
        try:
            listed = await client.turn_changes(
                conversation.workspace_id, session_id=conversation.session_id, limit=_TURNS
            )
        except (ProblemError, RuntimeUnreachableError):
            return  # It is asked again after the next turn.
        if conversation is self._conversation:
            self._view.show_changes({changes.input_id: changes for changes in listed.items})

    def _move(self, input_id: str, forward: bool) -> None:
        if self._client is not None and self._conversation is not None:
            self._tasks.start(self._send(self._client, self._conversation, input_id, forward=forward))

    async def _send(
        self, client: RuntimeClient, conversation: Conversation, input_id: str, *, forward: bool
    ) -> None:
        move = client.redo if forward else client.undo
        try:
            await move(conversation.workspace_id, input_id)
        except ProblemError as error:
            self.complained.emit(str(error))
        except RuntimeUnreachableError:
            self.complained.emit(self.tr("The runtime did not answer. Nothing is known to have changed."))
        self.refresh()
