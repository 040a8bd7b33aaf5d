"""The calls about permissions: profiles of a workspace, and the rules a person keeps."""

from __future__ import annotations

from holaboss_client import permissions as p
from holaboss_client.transport import Transport
from holaboss_client.transport import segment as _segment


def _of(workspace_id: str) -> str:
    return f"/workspaces/{_segment(workspace_id)}/permissions"


class PermissionCalls(Transport):
    async def permissions(self, workspace_id: str) -> p.WorkspacePermissions:
        return await self._get(p.WorkspacePermissions, _of(workspace_id))

    async def set_permissions(self, workspace_id: str, body: p.SetPermissions) -> p.WorkspacePermissions:
        json = body.model_dump(exclude_none=True)
        return await self._call(p.WorkspacePermissions, "PUT", _of(workspace_id), json=json)

    async def keep_rule(self, workspace_id: str, body: p.KeepRule) -> p.KeptRule:
        json = body.model_dump(exclude_none=True)
        return await self._call(p.KeptRule, "POST", f"{_of(workspace_id)}/rules", json=json)

    async def remove_rule(self, workspace_id: str, rule_id: str) -> p.WorkspacePermissions:
        path = f"{_of(workspace_id)}/rules/{_segment(rule_id)}"
        return await self._call(p.WorkspacePermissions, "DELETE", path)
