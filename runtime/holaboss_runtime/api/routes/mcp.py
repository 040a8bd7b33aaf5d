"""MCP servers of a workspace, and the stored secrets they need."""

from __future__ import annotations

from fastapi import APIRouter

from holaboss_client import mcp as m
from holaboss_client import secrets as s
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1/workspaces/{workspace_id}/mcp-servers")
secrets_router = APIRouter(prefix="/api/v1/runtime/stored-secrets")


@router.get("")
async def list_mcp_servers(state: State, workspace_id: str) -> m.McpServerList:
    return await state.mcp.list(workspace_id)


@router.post("/{server}/connect")
async def connect_mcp_server(state: State, workspace_id: str, server: str) -> m.McpServerList:
    return await state.mcp.connect(workspace_id, server)


@router.post("/{server}/restart")
async def restart_mcp_server(state: State, workspace_id: str, server: str) -> m.McpServerList:
    return await state.mcp.restart(workspace_id, server)


@router.post("/{server}/authorize")
async def authorize_mcp_server(state: State, workspace_id: str, server: str) -> m.McpAuthorizationStart:
    return await state.mcp.authorize(workspace_id, server)


@router.delete("/{server}/authorization")
async def forget_mcp_authorization(state: State, workspace_id: str, server: str) -> m.McpServerList:
    return await state.mcp.forget_authorization(workspace_id, server)


@router.post("/{server}/consent")
async def allow_mcp_server(
    state: State, workspace_id: str, server: str, body: m.GiveMcpConsent
) -> m.McpServerList:
    return await state.mcp.allow(workspace_id, server, body.fingerprint)


@router.delete("/{server}/consent")
async def disallow_mcp_server(state: State, workspace_id: str, server: str) -> m.McpServerList:
    return await state.mcp.disallow(workspace_id, server)


@router.get("/{server}/log")
async def mcp_server_log(state: State, workspace_id: str, server: str) -> m.McpServerLog:
    return await state.mcp.log(workspace_id, server)


@secrets_router.get("")
async def stored_secrets(state: State) -> s.SecretStoreState:
    await state.secrets.open()
    return state.secrets.state()


@secrets_router.put("/{name}")
async def put_stored_secret(state: State, name: str, body: s.PutStoredSecret) -> s.StoredSecretState:
    return await state.secrets.receive(name, body.value.get_secret_value())


@secrets_router.delete("/{name}")
async def delete_stored_secret(state: State, name: str) -> s.SecretStoreState:
    await state.secrets.delete(name)
    return state.secrets.state()


@secrets_router.post("/{name}/hand-over")
async def hand_over_stored_secret(state: State, name: str) -> s.HandedOverStoredSecret:
    return state.secrets.hand_over(name)


@secrets_router.post("/{name}/confirm-hand-over")
async def confirm_stored_secret(state: State, name: str, body: s.ConfirmStoredSecret) -> s.StoredSecretState:
    return await state.secrets.confirm(name, body.version)
