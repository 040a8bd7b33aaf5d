"""What turns did to the files of a workspace, and taking it back; and files that clients add to messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from holaboss_client import attachments as a
from holaboss_client import undo as u
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1/workspaces/{workspace_id}")


@router.get("/changes")
async def list_changes(
    state: State,
    workspace_id: str,
    session_id: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> u.TurnChangesList:
    return await state.undo.turns(workspace_id, session_id=session_id, limit=limit)


@router.get("/changes/{input_id}")
async def diff_of_changes(state: State, workspace_id: str, input_id: str) -> u.TurnDiff:
    return await state.undo.diff(workspace_id, input_id)


@router.post("/changes/{input_id}/undo")
async def undo_changes(state: State, workspace_id: str, input_id: str, body: u.UndoRequest) -> u.UndoReply:
    return await state.undo.move(workspace_id, input_id, "undo", body)


@router.post("/changes/{input_id}/redo")
async def redo_changes(state: State, workspace_id: str, input_id: str, body: u.UndoRequest) -> u.UndoReply:
    return await state.undo.move(workspace_id, input_id, "redo", body)


@router.post("/attachments")
async def stage_attachment(state: State, workspace_id: str, body: a.StageAttachment) -> a.StagedAttachment:
    return await state.attachments.stage(workspace_id, body)


@router.delete("/attachments/{batch}/{name}")
async def discard_attachment(state: State, workspace_id: str, batch: str, name: str) -> dict[str, str]:
    state.attachments.discard(workspace_id, batch, name)
    return {"status": "discarded"}
