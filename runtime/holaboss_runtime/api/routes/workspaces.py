"""Workspaces and the files inside them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from holaboss_client import workspaces as w
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1/workspaces")


@router.get("")
async def list_workspaces(
    state: State,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    status: str | None = None,
    include_deleted: bool = False,
) -> w.WorkspaceList:
    return state.workspaces.list(limit=limit, offset=offset, status=status, include_deleted=include_deleted)


@router.post("")
async def create_workspace(state: State, body: w.CreateWorkspace) -> w.WorkspaceReply:
    return w.WorkspaceReply(workspace=await state.workspaces.create(body))


@router.get("/{workspace_id}")
async def get_workspace(state: State, workspace_id: str) -> w.WorkspaceReply:
    return w.WorkspaceReply(workspace=state.workspaces.get(workspace_id))


@router.patch("/{workspace_id}")
async def patch_workspace(state: State, workspace_id: str, body: w.PatchWorkspace) -> w.WorkspaceReply:
    return w.WorkspaceReply(workspace=await state.workspaces.patch(workspace_id, body))


@router.delete("/{workspace_id}")
async def delete_workspace(state: State, workspace_id: str, keep_files: bool | None = None) -> dict[str, str]:
    await state.workspaces.delete(workspace_id, keep_files=keep_files)
    return {"status": "deleted"}


@router.get("/{workspace_id}/folders")
async def list_folder(state: State, workspace_id: str, path: str = "") -> w.FolderListing:
    return await state.files.list(workspace_id, path)


@router.get("/{workspace_id}/files/{path:path}")
async def read_file(state: State, workspace_id: str, path: str) -> w.FileContent:
    return await state.files.read(workspace_id, path)


@router.put("/{workspace_id}/files/{path:path}")
async def write_file(state: State, workspace_id: str, path: str, body: w.PutFile) -> w.FileWritten:
    return await state.files.write(workspace_id, path, body)
