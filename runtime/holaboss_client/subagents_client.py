"""The calls about background tasks."""

from __future__ import annotations

from collections.abc import Sequence

from holaboss_client import subagents as b
from holaboss_client.transport import Transport
from holaboss_client.transport import segment as _segment


class BackgroundTaskCalls(Transport):
    async def background_tasks(
        self,
        workspace_id: str,
        *,
        owner_main_session_id: str | None = None,
        statuses: Sequence[b.BackgroundTaskStatus] = (),
        include_archived: bool = False,
        limit: int = 50,
    ) -> b.BackgroundTaskList:
        """The newest first; without `statuses` whatever became of them."""
        params: dict[str, str | int] = {"workspace_id": workspace_id, "limit": limit}
        if owner_main_session_id is not None:
            params["owner_main_session_id"] = owner_main_session_id
        if statuses:
            params["statuses"] = ",".join(statuses)
        if include_archived:
            params["include_archived"] = "true"
        return await self._get(b.BackgroundTaskList, "/background-tasks", **params)

    async def background_task(self, subagent_id: str) -> b.BackgroundTask:
        return (await self._get(b.BackgroundTaskReply, f"/background-tasks/{_segment(subagent_id)}")).task

    async def cancel_background_task(self, subagent_id: str) -> b.BackgroundTask:
        path = f"/background-tasks/{_segment(subagent_id)}/cancel"
        return (await self._call(b.BackgroundTaskReply, "POST", path)).task

    async def archive_background_task(self, subagent_id: str) -> b.BackgroundTask:
        path = f"/background-tasks/{_segment(subagent_id)}/archive"
        return (await self._call(b.BackgroundTaskReply, "POST", path)).task
