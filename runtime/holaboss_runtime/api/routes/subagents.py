"""Background tasks: what sessions handed to subagents, and how that is doing."""

from __future__ import annotations

from typing import Annotated, get_args

from fastapi import APIRouter, Query

from holaboss_client import subagents as b
from holaboss_runtime.api.state import State
from holaboss_runtime.errors import DomainError

router = APIRouter(prefix="/api/v1/background-tasks")

STATUSES: tuple[str, ...] = get_args(b.BackgroundTaskStatus)


@router.get("")
async def background_tasks(
    state: State,
    workspace_id: str,
    owner_main_session_id: str | None = None,
    statuses: Annotated[str, Query(max_length=200)] = "",
    include_archived: bool = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> b.BackgroundTaskList:
    """The newest first; `statuses` is a list with commas."""
    state.workspaces.get(workspace_id)
    return state.sessions.subagents.page(
        workspace_id,
        owner_session_id=owner_main_session_id,
        statuses=_statuses(statuses),
        include_archived=include_archived,
        limit=limit,
    )


@router.get("/{subagent_id}")
async def background_task(state: State, subagent_id: str) -> b.BackgroundTaskReply:
    return b.BackgroundTaskReply(task=state.sessions.subagents.get(subagent_id))


@router.post("/{subagent_id}/cancel")
async def cancel_background_task(state: State, subagent_id: str) -> b.BackgroundTaskReply:
    return b.BackgroundTaskReply(task=state.sessions.subagents.cancel(subagent_id))


@router.post("/{subagent_id}/archive")
async def archive_background_task(state: State, subagent_id: str) -> b.BackgroundTaskReply:
    return b.BackgroundTaskReply(task=state.sessions.subagents.archive(subagent_id))


def _statuses(listed: str) -> list[str]:
    wanted = [name.strip() for name in listed.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(STATUSES)):
        known = ", ".join(STATUSES)
        raise DomainError(
            "unprocessable", "status_invalid", f"There is no status {unknown[0][:40]!r}. There are: {known}."
        )
    return wanted
