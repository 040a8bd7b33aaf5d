"""The session core: what may be said to a session, what waits in it, when it runs, and what its runs left behind."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from holaboss_client import agents as a
from holaboss_client import inspection as i
from holaboss_client.sessions import SessionState
from holaboss_runtime.api.state import State
from holaboss_runtime.errors import DomainError

router = APIRouter(prefix="/api/v1")
SESSION = "/agent-sessions/{session_id}"

Limit = Annotated[int, Query(ge=1, le=1000)]
ShortLimit = Annotated[int, Query(ge=1, le=200)]
Seq = Annotated[int | None, Query(ge=0, le=2**62)]


@router.post(f"{SESSION}/events")
async def append_event(state: State, session_id: str, body: a.AppendEvent) -> a.AppendedEvent:
    return state.sessions.control.append(session_id, body)


@router.get(f"{SESSION}/events")
async def read_events(
    state: State,
    session_id: str,
    after_seq: Seq = None,
    before_seq: Seq = None,
    types: Annotated[str, Query(max_length=2000)] = "",
    wake_id: str | None = None,
    limit: Limit = 100,
) -> a.SessionEventPage:
    """Oldest first. `types` is a list with commas; without `after_seq` these are the newest that match."""
    state.sessions.directory.get(session_id)
    wanted = [name.strip() for name in types.split(",") if name.strip()]
    return state.sessions.views.events(
        session_id, after_seq=after_seq, before_seq=before_seq, types=wanted, wake_id=wake_id, limit=limit
    )


@router.post(f"{SESSION}/wake", responses={202: {"model": a.WakeReport}})
async def wake(
    state: State, session_id: str, response: Response, body: a.WakeRequest | None = None
) -> a.WakeReport:
    """With `wait` 200 and what the run did, once it is over; else 202 and what is known at once.

    A client that goes away stops nothing.
    """
    state.sessions.directory.get(session_id)
    body = body or a.WakeRequest()
    if body.wait:
        outcome = await state.sessions.orchestrator.run_now(session_id, body.reason)
        return state.sessions.views.report(outcome)
    response.status_code = 202
    begun = await state.sessions.orchestrator.begin_now(session_id, body.reason)
    return state.sessions.views.report(begun) if begun is not None else state.sessions.views.begun(session_id)


@router.get(f"{SESSION}/status")
async def session_status(state: State, session_id: str) -> a.SessionStatus:
    return state.sessions.views.status(session_id)


@router.post(f"{SESSION}/terminate")
async def terminate(state: State, session_id: str) -> SessionState:
    return state.sessions.control.terminate(session_id)


@router.get(f"{SESSION}/pending-actions")
async def pending_actions(
    state: State, session_id: str, status: Literal["open"] | None = None
) -> a.PendingActionList:
    """The newest first, whatever became of them; with `status=open` what waits, in the order it was asked."""
    state.sessions.directory.get(session_id)
    return state.sessions.views.actions(session_id, only_open=status is not None)


@router.post(f"{SESSION}/pending-actions/{{action_id}}")
async def decide_action(
    state: State, session_id: str, action_id: str, body: a.DecideAction
) -> a.AppendedEvent:
    """The same as appending the event that decides."""
    return state.sessions.control.append(session_id, body.event(action_id))


@router.get(f"{SESSION}/wakes")
async def scheduled_wakes(state: State, session_id: str, limit: Limit = 100) -> a.ScheduledWakeList:
    """What still waits, the next one first."""
    state.sessions.directory.get(session_id)
    return state.sessions.delayed.waiting(session_id, limit=limit)


@router.post(f"{SESSION}/wakes")
async def schedule_wake(state: State, session_id: str, body: a.ScheduleWake) -> a.ScheduledWake:
    return state.sessions.delayed.schedule(state.sessions.directory.get(session_id), body)


@router.delete(f"{SESSION}/wakes/{{wake_id}}")
async def cancel_wake(state: State, session_id: str, wake_id: str) -> a.ScheduledWake:
    return state.sessions.delayed.cancel(state.sessions.directory.get(session_id), wake_id)


@router.get(f"{SESSION}/resources")
async def resources(state: State, session_id: str) -> a.ResourceList:
    items = state.sessions.agent_directory.resources(session_id)
    return a.ResourceList(items=items, count=len(items))


@router.post(f"{SESSION}/resources")
async def attach_resource(state: State, session_id: str, body: a.AttachResource) -> a.ResourceAttachment:
    return state.sessions.agent_directory.attach(session_id, body)


@router.get(f"{SESSION}/turn-results")
async def turn_results(
    state: State, session_id: str, before_seq: Seq = None, limit: ShortLimit = 50
) -> i.TurnResultList:
    """The newest first; `before_seq` is the `seq` of the last one of the page before."""
    state.sessions.directory.get(session_id)
    return state.sessions.inspection.turn_results(session_id, before_seq=before_seq, limit=limit)


@router.get(f"{SESSION}/request-snapshots")
async def request_snapshots(
    state: State, session_id: str, before: str | None = None, limit: ShortLimit = 20
) -> i.RequestSnapshotList:
    """The newest first; `before` is the input id of the last one of the page before."""
    state.sessions.directory.get(session_id)
    return state.sessions.inspection.request_snapshots(session_id, before=before, limit=limit)


@router.get(f"{SESSION}/compaction-boundaries")
async def compaction_boundaries(
    state: State, session_id: str, before_seq: Seq = None, limit: ShortLimit = 20
) -> i.BoundaryList:
    """The newest first."""
    state.sessions.directory.get(session_id)
    return state.sessions.inspection.boundaries(session_id, before_seq=before_seq, limit=limit)


@router.get(f"{SESSION}/resume-context")
async def resume_context(state: State, session_id: str) -> i.ResumeContext:
    """What the next run is told of the ones before it."""
    state.sessions.directory.get(session_id)
    return state.sessions.inspection.resume_context(session_id)


@router.get("/workspaces/{workspace_id}/search")
async def search(
    state: State,
    workspace_id: str,
    q: Annotated[str, Query(max_length=1000)],
    session_id: str | None = None,
    before: Annotated[str | None, Query(max_length=64)] = None,
    limit: ShortLimit = 20,
) -> i.SearchHits:
    """Messages and tool output that contain every word, the newest first; `before` is the cursor of the last hit."""
    state.workspaces.get(workspace_id)
    if not q.strip():
        raise DomainError("unprocessable", "query_required", "Say what to look for: `q` is empty.")
    return state.sessions.inspection.search(
        workspace_id, q, session_id=session_id, before=before, limit=limit
    )


@router.post("/store/rebuild-projections")
async def rebuild_projections(state: State, body: i.RebuildProjections | None = None) -> i.RebuiltProjections:
    """The files of the agent layer anew from the database; the old ones stay under another name."""
    return await state.sessions.files.rebuild_projections(None if body is None else body.agent_id)


@router.post("/store/import")
async def import_tree(state: State) -> i.ImportedTree:
    """Take in the agents and sessions that exist only as files."""
    return await state.sessions.files.import_tree()
