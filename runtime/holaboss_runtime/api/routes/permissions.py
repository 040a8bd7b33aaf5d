"""What a person allows in a workspace: its profiles, and the rules they keep."""

from __future__ import annotations

from fastapi import APIRouter

from holaboss_client import permissions as p
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1/workspaces/{workspace_id}/permissions")


@router.get("")
async def workspace_permissions(state: State, workspace_id: str) -> p.WorkspacePermissions:
    return state.sessions.permissions.of(workspace_id)


@router.put("")
async def set_workspace_permissions(
    state: State, workspace_id: str, body: p.SetPermissions
) -> p.WorkspacePermissions:
    """Holds for runs that begin from now on."""
    return state.sessions.permissions.set(workspace_id, body)


@router.post("/rules")
async def keep_rule(state: State, workspace_id: str, body: p.KeepRule) -> p.KeptRule:
    return state.sessions.permissions.keep(workspace_id, body)


@router.delete("/rules/{rule_id}")
async def remove_rule(state: State, workspace_id: str, rule_id: str) -> p.WorkspacePermissions:
    return state.sessions.permissions.remove(workspace_id, rule_id)
