"""What the agent may do in the workspace on screen: fetched, shown in the composer, changed there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.services.tasks import Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.permissions import ProfileId, SetPermissions, WorkspacePermissions
from holaboss_client.problems import ProblemError, RuntimeUnreachableError


class Permissions(QObject):
    complained = Signal(str)
    """A change was not taken, with the reason."""

    def __init__(self, pane: ChatPane, tasks: Tasks) -> None:
        super().__init__(pane)
        self._picker = pane.composer.permissions
        self._tasks = tasks
        self._client: RuntimeClient | None = None
        self._workspace_id = ""
        self._picker.profile_chosen.connect(self._choose)
        self._picker.rule_removed.connect(self._remove)

    def attach(self, client: RuntimeClient) -> None:
        self._client = client
        self.refresh()

    def detach(self) -> None:
        self._client = None
        self._tasks.cancel("permissions")

    def show(self, workspace_id: str) -> None:
        """Another workspace is on screen, or none."""
        if workspace_id != self._workspace_id:
            self._workspace_id = workspace_id
            self._picker.show_permissions(None)
            self.refresh()

    def refresh(self) -> None:
        """They have changed, perhaps in another window."""
        if self._client is not None and self._workspace_id:
            self._ask(partial(self._client.permissions, self._workspace_id))

    def complete(self) -> None:
        """What holds commands is known once the executor is warm: ask again while it is not."""
        if self._picker.containment is None:
            self.refresh()

    def _choose(self, profile: ProfileId) -> None:
        if self._client is not None:
            wanted = SetPermissions(profile=profile)
            self._ask(partial(self._client.set_permissions, self._workspace_id, wanted))

    def _remove(self, rule_id: str) -> None:
        if self._client is not None:
            self._ask(partial(self._client.remove_rule, self._workspace_id, rule_id))

    def _ask(self, request: Callable[[], Awaitable[WorkspacePermissions]]) -> None:
        self._tasks.start(self._take(request, self._workspace_id), key="permissions")

    async def _take(self, request: Callable[[], Awaitable[WorkspacePermissions]], workspace_id: str) -> None:
        try:
            permissions = await request()
        except RuntimeUnreachableError:
            return
        except ProblemError as error:
            self.complained.emit(str(error))
            return
        if workspace_id == self._workspace_id:
            self._picker.show_permissions(permissions)
