"""Sessions: their list, their queue, their state and what was said in them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from holaboss_client import sessions as s
from holaboss_client.events import OutputEventPage
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1")

Limit = Annotated[int, Query(ge=1, le=1000)]
RowId = Annotated[int, Query(ge=0, le=2**62)]


@router.post("/workspaces/{workspace_id}/ensure-main-session")
async def ensure_main_session(state: State, workspace_id: str) -> s.SessionReply:
    return s.SessionReply(session=state.sessions.directory.ensure_main(workspace_id).wire())


@router.get("/agent-sessions")
async def list_sessions(
    state: State,
    workspace_id: str | None = None,
    agent_id: str | None = None,
    include_archived: bool = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    before: str | None = None,
) -> s.SessionList:
    """Those of a workspace, or those of an agent."""
    return state.sessions.opening.page(
        workspace_id=workspace_id,
        agent_id=agent_id,
        include_archived=include_archived,
        limit=limit,
        before=before,
    )


@router.post("/agent-sessions")
async def create_session(state: State, body: s.CreateSession) -> s.SessionReply:
    return s.SessionReply(session=state.sessions.opening.create(body))


@router.post("/agent-sessions/queue")
async def queue_input(state: State, body: s.QueueRequest) -> s.QueueReply:
    return state.sessions.control.queue(body)


@router.get("/agent-sessions/by-workspace/{workspace_id}/runtime-states")
async def session_states(state: State, workspace_id: str) -> s.SessionStateList:
    return state.sessions.control.states(workspace_id)


@router.patch("/agent-sessions/{session_id}")
async def patch_session(state: State, session_id: str, body: s.PatchSession) -> s.SessionReply:
    return s.SessionReply(session=state.sessions.directory.patch(session_id, body))


@router.patch("/agent-sessions/{session_id}/inputs/{input_id}")
async def edit_input(state: State, session_id: str, input_id: str, body: s.EditInput) -> s.InputReply:
    return state.sessions.inbound.edit(body.workspace_id, session_id, input_id, body.text)


@router.delete("/agent-sessions/{session_id}/inputs/{input_id}")
async def cancel_input(state: State, session_id: str, input_id: str, workspace_id: str) -> s.InputReply:
    return state.sessions.inbound.cancel(workspace_id, session_id, input_id)


@router.post("/agent-sessions/{session_id}/pause")
async def pause(state: State, session_id: str, body: s.WorkspaceRef) -> s.InputReply:
    return state.sessions.control.pause(body.workspace_id, session_id)


@router.post("/agent-sessions/{session_id}/resume")
async def resume(state: State, session_id: str, body: s.WorkspaceRef) -> s.SessionState:
    return state.sessions.control.resume(body.workspace_id, session_id)


@router.get("/agent-sessions/{session_id}/state")
async def session_state(state: State, session_id: str, workspace_id: str) -> s.SessionState:
    return state.sessions.control.state(workspace_id, session_id)


@router.get("/agent-sessions/{session_id}/history")
async def history(
    state: State,
    session_id: str,
    workspace_id: str,
    limit: Limit = 200,
    offset: RowId = 0,
    order: Literal["asc", "desc"] = "asc",
) -> s.History:
    session = state.sessions.directory.require(workspace_id, session_id)
    return state.sessions.transcript.history(
        session, limit=limit, offset=offset, newest_first=order == "desc"
    )


@router.get("/agent-sessions/{session_id}/turns/index")
async def turn_index(state: State, session_id: str, workspace_id: str, after_seq: RowId = 0) -> s.TurnIndex:
    """`after_seq` leaves out the rows of older turns."""
    state.sessions.directory.require(workspace_id, session_id)
    return state.sessions.transcript.index(session_id, after_seq=after_seq)


@router.get("/agent-sessions/{session_id}/turns")
async def turns(
    state: State,
    session_id: str,
    workspace_id: str,
    from_seq: RowId = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> s.TurnPage:
    state.sessions.directory.require(workspace_id, session_id)
    return state.sessions.transcript.turns(session_id, from_seq=from_seq, limit=limit)


@router.get("/agent-sessions/{session_id}/outputs/events")
async def output_events(
    state: State,
    session_id: str,
    workspace_id: str,
    input_id: str | None = None,
    after_event_id: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    include_history: bool = True,
    limit: Limit = 1000,
) -> OutputEventPage:
    state.sessions.directory.require_if_known(workspace_id, session_id)
    return state.sessions.transcript.events(
        session_id,
        input_id=input_id,
        after_event_id=after_event_id,
        include_history=include_history,
        limit=limit,
    )
