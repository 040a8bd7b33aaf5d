"""The HTTP client: one method per route, typed in and out."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import httpx

from holaboss_client import config as c
from holaboss_client import sessions as s
from holaboss_client import workspaces as w
from holaboss_client.agents_client import AgentCalls
from holaboss_client.changes_client import ChangeCalls
from holaboss_client.events import TERMINAL_EVENTS, Change, ChangeEvent, OutputEvent, OutputEventPage
from holaboss_client.handshake import Version
from holaboss_client.mcp_client import McpCalls
from holaboss_client.permissions_client import PermissionCalls
from holaboss_client.streams import ResumingStream
from holaboss_client.subagents_client import BackgroundTaskCalls
from holaboss_client.terminals_client import TerminalCalls
from holaboss_client.transport import API
from holaboss_client.transport import segment as _segment


class RuntimeClient(AgentCalls, ChangeCalls, PermissionCalls, McpCalls, BackgroundTaskCalls, TerminalCalls):
    """Speaks to one runtime. Safe to share between tasks; close it, or use it as an async context manager.

    Every method raises `ProblemError` when the runtime refuses and `RuntimeUnreachableError` when nobody
    answers.
    """

    # Runtime

    async def healthy(self) -> bool:
        """True when `/healthz` answers; never raises."""
        try:
            return (await self._http.get("/healthz", timeout=2.0)).status_code == 200
        except httpx.HTTPError:
            return False

    async def version(self) -> Version:
        return await self._get(Version, "/version")

    async def shutdown(self) -> None:
        await self._send("POST", "/lifecycle/shutdown")

    async def config(self) -> c.RuntimeConfig:
        return await self._get(c.RuntimeConfig, "/runtime/config")

    async def patch_config(self, patch: c.PatchRuntimeConfig) -> c.RuntimeConfig:
        body = patch.model_dump(exclude_none=True)
        if patch.auth_token is not None:
            body["auth_token"] = patch.auth_token.get_secret_value()
        return await self._call(c.RuntimeConfig, "PUT", "/runtime/config", json=body)

    async def status(self) -> c.RuntimeStatus:
        return await self._get(c.RuntimeStatus, "/runtime/status")

    async def profile(self) -> c.Profile:
        return await self._get(c.Profile, "/runtime/profile")

    async def put_profile(self, body: c.PutProfile) -> c.Profile:
        return await self._call(c.Profile, "PUT", "/runtime/profile", json=body.model_dump())

    # Providers and secrets

    async def providers(self) -> c.ProviderCatalogue:
        return await self._get(c.ProviderCatalogue, "/runtime/providers")

    async def put_provider(self, provider_id: str, body: c.PutProvider) -> c.ProviderCatalogue:
        path = f"/runtime/providers/{_segment(provider_id)}"
        return await self._call(c.ProviderCatalogue, "PUT", path, json=body.model_dump(exclude_none=True))

    async def delete_provider(self, provider_id: str) -> c.ProviderCatalogue:
        return await self._call(c.ProviderCatalogue, "DELETE", f"/runtime/providers/{_segment(provider_id)}")

    async def test_provider(
        self,
        provider_id: str,
        *,
        kind: c.ProviderKind | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        model: str | None = None,
    ) -> c.ProviderTest:
        draft = {"kind": kind, "base_url": base_url, "api_key": api_key, "model": model}
        body = {name: value for name, value in draft.items() if value is not None}
        path = f"/runtime/providers/{_segment(provider_id)}/test"
        return await self._call(c.ProviderTest, "POST", path, json=body)

    async def put_background_tasks(self, body: c.PutBackgroundTasks) -> c.ProviderCatalogue:
        return await self._call(
            c.ProviderCatalogue, "PUT", "/runtime/background-tasks", json=body.model_dump()
        )

    async def local_servers(self) -> c.LocalServerList:
        return await self._get(c.LocalServerList, "/runtime/local-servers")

    async def put_secret(self, provider_id: str, value: str) -> c.SecretState:
        path = f"/runtime/secrets/{_segment(provider_id)}"
        return await self._call(c.SecretState, "PUT", path, json={"value": value})

    async def delete_secret(self, provider_id: str) -> c.SecretState:
        return await self._call(c.SecretState, "DELETE", f"/runtime/secrets/{_segment(provider_id)}")

    async def hand_over_secret(self, provider_id: str) -> c.HandedOverSecret:
        path = f"/runtime/secrets/{_segment(provider_id)}/hand-over"
        return await self._call(c.HandedOverSecret, "POST", path)

    async def confirm_hand_over(self, provider_id: str) -> c.SecretState:
        path = f"/runtime/secrets/{_segment(provider_id)}/confirm-hand-over"
        return await self._call(c.SecretState, "POST", path)

    # Workspaces and files

    async def workspaces(self, *, limit: int = 200, offset: int = 0) -> w.WorkspaceList:
        return await self._get(w.WorkspaceList, "/workspaces", limit=limit, offset=offset)

    async def create_workspace(self, body: w.CreateWorkspace) -> w.Workspace:
        reply = await self._call(
            w.WorkspaceReply, "POST", "/workspaces", json=body.model_dump(exclude_none=True)
        )
        return reply.workspace

    async def workspace(self, workspace_id: str) -> w.Workspace:
        return (await self._get(w.WorkspaceReply, f"/workspaces/{_segment(workspace_id)}")).workspace

    async def patch_workspace(self, workspace_id: str, body: w.PatchWorkspace) -> w.Workspace:
        path = f"/workspaces/{_segment(workspace_id)}"
        json = body.model_dump(exclude_none=True)
        return (await self._call(w.WorkspaceReply, "PATCH", path, json=json)).workspace

    async def delete_workspace(self, workspace_id: str, *, keep_files: bool | None = None) -> None:
        params = {} if keep_files is None else {"keep_files": str(keep_files).lower()}
        await self._send("DELETE", f"/workspaces/{_segment(workspace_id)}", params=params)

    async def folder(self, workspace_id: str, path: str = "") -> w.FolderListing:
        route = f"/workspaces/{_segment(workspace_id)}/folders"
        return await self._call(w.FolderListing, "GET", route, params={"path": path})

    async def file(self, workspace_id: str, path: str) -> w.FileContent:
        return await self._get(w.FileContent, f"/workspaces/{_segment(workspace_id)}/files/{quote(path)}")

    async def put_file(
        self, workspace_id: str, path: str, content: bytes, *, expected_sha256: str | None = None
    ) -> w.FileWritten:
        body = w.PutFile(content_base64=base64.b64encode(content).decode(), expected_sha256=expected_sha256)
        route = f"/workspaces/{_segment(workspace_id)}/files/{quote(path)}"
        return await self._call(w.FileWritten, "PUT", route, json=body.model_dump(exclude_none=True))

    # Sessions

    async def ensure_main_session(self, workspace_id: str) -> s.Session:
        path = f"/workspaces/{_segment(workspace_id)}/ensure-main-session"
        return (await self._call(s.SessionReply, "POST", path, json={})).session

    async def sessions(self, workspace_id: str, *, include_archived: bool = False) -> s.SessionList:
        params = {"workspace_id": workspace_id, "include_archived": str(include_archived).lower()}
        return await self._get(s.SessionList, "/agent-sessions", **params)

    async def create_session(self, body: s.CreateSession) -> s.Session:
        json = body.model_dump(exclude_none=True)
        return (await self._call(s.SessionReply, "POST", "/agent-sessions", json=json)).session

    async def patch_session(self, session_id: str, body: s.PatchSession) -> s.Session:
        path = f"/agent-sessions/{_segment(session_id)}"
        json = body.model_dump(exclude_none=True)
        return (await self._call(s.SessionReply, "PATCH", path, json=json)).session

    async def queue(self, body: s.QueueRequest) -> s.QueueReply:
        return await self._call(
            s.QueueReply, "POST", "/agent-sessions/queue", json=body.model_dump(exclude_none=True)
        )

    async def edit_input(self, session_id: str, input_id: str, body: s.EditInput) -> s.InputReply:
        path = f"/agent-sessions/{_segment(session_id)}/inputs/{_segment(input_id)}"
        return await self._call(s.InputReply, "PATCH", path, json=body.model_dump())

    async def cancel_input(self, workspace_id: str, session_id: str, input_id: str) -> s.InputReply:
        path = f"/agent-sessions/{_segment(session_id)}/inputs/{_segment(input_id)}"
        return await self._call(s.InputReply, "DELETE", path, params={"workspace_id": workspace_id})

    async def pause(self, workspace_id: str, session_id: str) -> s.InputReply:
        path = f"/agent-sessions/{_segment(session_id)}/pause"
        return await self._call(s.InputReply, "POST", path, json={"workspace_id": workspace_id})

    async def resume(self, workspace_id: str, session_id: str) -> s.SessionState:
        path = f"/agent-sessions/{_segment(session_id)}/resume"
        return await self._call(s.SessionState, "POST", path, json={"workspace_id": workspace_id})

    async def session_state(self, workspace_id: str, session_id: str) -> s.SessionState:
        path = f"/agent-sessions/{_segment(session_id)}/state"
        return await self._get(s.SessionState, path, workspace_id=workspace_id)

    async def session_states(self, workspace_id: str) -> s.SessionStateList:
        path = f"/agent-sessions/by-workspace/{_segment(workspace_id)}/runtime-states"
        return await self._get(s.SessionStateList, path)

    async def history(
        self, workspace_id: str, session_id: str, *, limit: int = 200, offset: int = 0
    ) -> s.History:
        path = f"/agent-sessions/{_segment(session_id)}/history"
        return await self._get(s.History, path, workspace_id=workspace_id, limit=limit, offset=offset)

    async def turn_index(self, workspace_id: str, session_id: str, *, after_seq: int = 0) -> s.TurnIndex:
        path = f"/agent-sessions/{_segment(session_id)}/turns/index"
        return await self._get(s.TurnIndex, path, workspace_id=workspace_id, after_seq=after_seq)

    async def turns(self, workspace_id: str, session_id: str, *, from_seq: int, limit: int) -> s.TurnPage:
        path = f"/agent-sessions/{_segment(session_id)}/turns"
        return await self._get(s.TurnPage, path, workspace_id=workspace_id, from_seq=from_seq, limit=limit)

    async def output_events(
        self,
        workspace_id: str,
        session_id: str,
        *,
        input_id: str | None = None,
        after_event_id: int | None = None,
    ) -> OutputEventPage:
        params: dict[str, Any] = {"workspace_id": workspace_id}
        if input_id is not None:
            params["input_id"] = input_id
        if after_event_id is not None:
            params["after_event_id"] = after_event_id
        return await self._get(
            OutputEventPage, f"/agent-sessions/{_segment(session_id)}/outputs/events", **params
        )

    # Streams

    async def output_stream(
        self,
        workspace_id: str,
        session_id: str,
        *,
        input_id: str | None = None,
        after_event_id: int | None = None,
        coalesce_ms: int = 0,
        stop_on_terminal: bool = False,
    ) -> AsyncGenerator[OutputEvent | None, None]:
        """Events of a session, resumed by itself; `None` marks each (re)connection."""
        params = {
            "workspace_id": workspace_id,
            "stop_on_terminal": str(stop_on_terminal).lower(),
            "coalesce_ms": str(coalesce_ms),
        }
        if input_id is not None:
            params["input_id"] = input_id
        last = frozenset(str(event) for event in TERMINAL_EVENTS) if stop_on_terminal else frozenset[str]()
        path = f"{API}/agent-sessions/{_segment(session_id)}/outputs/stream"
        stream = ResumingStream(self._http, path, params, after=after_event_id, last=last)
        async with aclosing(stream.frames()) as frames:
            async for frame in frames:
                if frame is None:
                    yield None
                elif "input_id" in frame.data:
                    yield OutputEvent.model_validate(frame.data)

    async def changes(self, *, after: int | None = None) -> AsyncGenerator[ChangeEvent | None, None]:
        """The change feed, resumed by itself; `None` marks each (re)connection."""
        stream = ResumingStream(
            self._http, f"{API}/events", {}, after=after, last=frozenset({str(Change.SHUTDOWN)})
        )
        async with aclosing(stream.frames()) as frames:
            async for frame in frames:
                yield None if frame is None else ChangeEvent.model_validate(frame.data)
