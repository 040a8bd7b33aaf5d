"""Background tasks, as they travel: work that a session handed to subagents."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from holaboss_client.agents import PendingAction
from holaboss_client.base import WireModel

BackgroundTaskStatus = Literal["queued", "running", "waiting_on_user", "completed", "failed", "cancelled"]


class BackgroundTask(WireModel):
    """`subagent_id` is the id of the session that does the work; `owner_main_session_id` handed it out.

    `result` is what the work came to, cut at 6,000 characters; the whole is in the history of the session. `error` has
    `code` and `message`. What waits in `waiting_for` is decided in the session of the subagent.
    """

    subagent_id: str
    workspace_id: str
    owner_main_session_id: str
    parent_input_id: str
    child_session_id: str
    title: str
    goal: str
    status: str
    tools: list[str] = Field(default_factory=list[str])
    model: str | None = None
    timeout_ms: int | None = None
    result: str = ""
    error: dict[str, Any] | None = None
    waiting_for: list[PendingAction] = Field(default_factory=list[PendingAction])
    turns: int = 0
    created_at: str
    started_at: str | None = None
    completed_at: str | None = None
    cancelled_at: str | None = None
    archived_at: str | None = None
    updated_at: str


class BackgroundTaskReply(WireModel):
    task: BackgroundTask


class BackgroundTaskList(WireModel):
    """The newest first."""

    items: list[BackgroundTask]
    count: int
