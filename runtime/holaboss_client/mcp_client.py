"""The routes of MCP servers and stored secrets, as methods of the client."""

from __future__ import annotations

from holaboss_client import mcp as m
from holaboss_client import secrets as s
from holaboss_client.transport import Transport, segment


class McpCalls(Transport):
    async def mcp_servers(self, workspace_id: str) -> m.McpServerList:
        return await self._get(m.McpServerList, f"/workspaces/{segment(workspace_id)}/mcp-servers")

    async def connect_mcp_server(self, workspace_id: str, server: str) -> m.McpServerList:
        path = f"{_path(workspace_id, server)}/connect"
        return await self._call(m.McpServerList, "POST", path, json={}, timeout=90.0)

    async def restart_mcp_server(self, workspace_id: str, server: str) -> m.McpServerList:
        path = f"{_path(workspace_id, server)}/restart"
        return await self._call(m.McpServerList, "POST", path, json={}, timeout=90.0)

    async def authorize_mcp_server(self, workspace_id: str, server: str) -> m.McpAuthorizationStart:
        path = f"{_path(workspace_id, server)}/authorize"
        return await self._call(m.McpAuthorizationStart, "POST", path, json={}, timeout=90.0)

    async def forget_mcp_authorization(self, workspace_id: str, server: str) -> m.McpServerList:
        return await self._call(m.McpServerList, "DELETE", f"{_path(workspace_id, server)}/authorization")

    async def allow_mcp_server(self, workspace_id: str, server: str, fingerprint: str) -> m.McpServerList:
        """`fingerprint` is that of the consent that was shown."""
        body = m.GiveMcpConsent(fingerprint=fingerprint).model_dump()
        return await self._call(m.McpServerList, "POST", f"{_path(workspace_id, server)}/consent", json=body)

    async def disallow_mcp_server(self, workspace_id: str, server: str) -> m.McpServerList:
        return await self._call(m.McpServerList, "DELETE", f"{_path(workspace_id, server)}/consent")

    async def mcp_server_log(self, workspace_id: str, server: str) -> m.McpServerLog:
        return await self._get(m.McpServerLog, f"{_path(workspace_id, server)}/log")

    async def stored_secrets(self) -> s.SecretStoreState:
        return await self._get(s.SecretStoreState, "/runtime/stored-secrets")

    async def put_stored_secret(self, name: str, value: str) -> s.StoredSecretState:
        path = f"/runtime/stored-secrets/{segment(name)}"
        return await self._call(s.StoredSecretState, "PUT", path, json={"value": value})

    async def delete_stored_secret(self, name: str) -> s.SecretStoreState:
        path = f"/runtime/stored-secrets/{segment(name)}"
        return await self._call(s.SecretStoreState, "DELETE", path)

    async def hand_over_stored_secret(self, name: str) -> s.HandedOverStoredSecret:
        path = f"/runtime/stored-secrets/{segment(name)}/hand-over"
        return await self._call(s.HandedOverStoredSecret, "POST", path)

    async def confirm_stored_secret(self, name: str, version: int) -> s.StoredSecretState:
        path = f"/runtime/stored-secrets/{segment(name)}/confirm-hand-over"
        return await self._call(s.StoredSecretState, "POST", path, json={"version": version})


def _path(workspace_id: str, server: str) -> str:
    return f"/workspaces/{segment(workspace_id)}/mcp-servers/{segment(server)}"
