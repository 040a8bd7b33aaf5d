"""MCP servers as the rest of the runtime sees them: what a workspace configures, and how the executor says they are.

The connections are the executor's. This side knows the plan, the secrets and the last thing that was heard, so that
there is an answer also while no executor is there; it starts nothing by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Protocol

from holaboss_client.events import Change
from holaboss_client.mcp import McpAuthorizationStart, McpServerList, McpServerLog, McpServerView
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.harness.mcp_consent import McpConsents
from holaboss_runtime.harness.mcp_resolve import Values, resolve_server, why_unavailable
from holaboss_runtime.harness.mcp_shown import Heard, heard_of, remembered, shown_server
from holaboss_runtime.harness.services import HostAskError, HostServices
from holaboss_runtime.redaction import redact, worth_hiding
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.workspace.mcp_plan import McpPlan, PlannedServer
from holaboss_runtime.workspace.plan import load_plan

log = logging.getLogger(__name__)

ASK_S = 10.0
LIST_S = 4.0
"""An executor that is not there is not waited for longer by who only looks."""

CONNECT_S = 60.0
AUTHORIZE_S = 60.0
LOG_CHARS = 64 * 1024
OAUTH = "mcp-oauth"


class Folders(Protocol):
    def folder(self, workspace_id: str) -> Path:
        """Raises `DomainError`."""
        ...


class Secrets(Values, Protocol):
    async def open(self) -> None: ...
    async def get(self, name: str) -> str | None: ...
    async def put(self, name: str, value: str) -> None: ...
    async def delete(self, name: str) -> None: ...
    async def forget_workspace(self, workspace_id: str) -> None: ...
    def peek(self, name: str) -> str | None: ...
    def live_values(self) -> frozenset[str]: ...


class McpServers:
    """Constructed once; `close` ends what it has begun."""

    def __init__(
        self,
        harness: Harness,
        folders: Folders,
        secrets: Secrets,
        changes: ChangeLog,
        consents: McpConsents,
    ) -> None:
        self._harness = harness
        self._folders = folders
        self._secrets = secrets
        self._changes = changes
        self._consents = consents
        self._heard: dict[str, dict[str, Heard]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def register(self, services: HostServices) -> None:
        """What hosts may ask of this side. Of the secrets they get those of authorizations only."""
        services.register("secret.get", self._get_secret)
        services.register("secret.put", self._put_secret)
        services.register("secret.delete", self._delete_secret)
        services.register("mcp.changed", self._told)
        services.register("mcp.authorization", self._told)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def list(self, workspace_id: str) -> McpServerList:
        """Raises `DomainError` of the workspace and its plan."""
        plan = await self._plan(workspace_id)
        live = True
        try:
            async with asyncio.timeout(LIST_S):
                answer = await self._harness.ask(workspace_id, "mcp.status", {"workspace_id": workspace_id})
            self._heard[workspace_id] = heard_of(answer)
        except (HostAskError, TimeoutError):
            live = False
            self._heard[workspace_id] = remembered(self._heard.get(workspace_id, {}))
        return McpServerList(
            items=[self._view(workspace_id, plan, server) for server in plan.servers], live=live
        )

    async def connect(self, workspace_id: str, name: str) -> McpServerList:
        """Connect a server without a run. Raises `mcp_server_not_found`, `mcp_server_disabled`, `mcp_needs_consent`
        for one that nobody allowed, and `mcp_server_unavailable` for one that lacks something."""
        server = self._planned(await self._plan(workspace_id), name, workspace_id)
        await self._connect(workspace_id, server)
        return await self.list(workspace_id)

    async def restart(self, workspace_id: str, name: str) -> McpServerList:
        """Connect a server anew, or for the first time."""
        server = self._planned(await self._plan(workspace_id), name, workspace_id)
        try:
            arguments = {"workspace_id": workspace_id, "server": name}
            await self._ask(workspace_id, "mcp.restart", arguments, CONNECT_S)
        except DomainError as error:
            if error.code != "mcp_server_not_running":
                raise
            await self._connect(workspace_id, server)
        return await self.list(workspace_id)

    async def allow(self, workspace_id: str, name: str, fingerprint: str) -> McpServerList:
        """Let the command of a local server be started; it is not started yet. Raises conflict
        `mcp_consent_outdated` when `fingerprint` is not of the command that stands in the plan now."""
        server = (await self._plan(workspace_id)).find(name)
        if server is None:
            raise not_found("mcp_server", name)
        self._consents.give(workspace_id, server, fingerprint)
        self._changes.append(Change.MCP, workspace_id=workspace_id, payload={"server": name})
        return await self.list(workspace_id)

    async def disallow(self, workspace_id: str, name: str) -> McpServerList:
        """Take that back, also of a server that is not in the plan any more, and end it, also under a run."""
        server = (await self._plan(workspace_id)).find(name)
        if not self._consents.withdraw(workspace_id, name) and server is None:
            raise not_found("mcp_server", name)
        await self._tell(workspace_id, "mcp.stop", {"workspace_id": workspace_id, "server": name})
        self._changes.append(Change.MCP, workspace_id=workspace_id, payload={"server": name})
        return await self.list(workspace_id)

    async def authorize(self, workspace_id: str, name: str) -> McpAuthorizationStart:
        """Where a browser has to go. Raises `authorization_not_possible`, and what the executor met."""
        server = self._planned(await self._plan(workspace_id), name, workspace_id)
        arguments = {
            "workspace_id": workspace_id,
            "server": resolve_server(server, workspace_id, self._secrets).model_dump(),
        }
        await self._connect(workspace_id, server)  # so that somebody is there when the token comes
        answer = await self._ask(workspace_id, "mcp.authorize", arguments, AUTHORIZE_S)
        return McpAuthorizationStart.model_validate(answer)

    async def forget_authorization(self, workspace_id: str, name: str) -> McpServerList:
        """Away with the tokens, also of a server that is not in the plan any more, and whether or not an executor is
        there to tell the other side."""
        plan = await self._plan(workspace_id)
        secret, server = _oauth_name(workspace_id, name), plan.find(name)
        if server is None and self._secrets.peek(secret) is None:
            raise not_found("mcp_server", name)
        if server is not None and why_unavailable(server, workspace_id, self._secrets) is None:
            given = resolve_server(server, workspace_id, self._secrets).model_dump()
            arguments = {"workspace_id": workspace_id, "server": given}
            await self._tell(workspace_id, "mcp.forget_authorization", arguments)
        await self._secrets.delete(secret)
        return await self.list(workspace_id)

    async def log(self, workspace_id: str, name: str) -> McpServerLog:
        await self.list(workspace_id)
        heard = self._heard.get(workspace_id, {}).get(name)
        text = heard.stderr_tail if heard is not None else ""
        return McpServerLog(text=redact(text[-LOG_CHARS:], worth_hiding(self._secrets.live_values())))

    def workspace_deleted(self, workspace_id: str) -> None:
        """Its servers end, and its secrets are forgotten."""
        self._heard.pop(workspace_id, None)
        self._begin(self._forget_workspace(workspace_id))

    def secret_received(self, name: str) -> None:
        """A secret came from a keychain or a person: a server that waited for its token is tried again."""
        kind, workspace_id, server = name.split(":", 2)
        if kind == OAUTH:
            arguments = {"workspace_id": workspace_id, "server": server}
            self._begin(self._tell(workspace_id, "mcp.credentials_changed", arguments))

    # What hosts ask

    async def _get_secret(self, arguments: dict[str, Any]) -> str | None:
        return await self._secrets.get(_checked(arguments))

    async def _put_secret(self, arguments: dict[str, Any]) -> None:
        await self._secrets.put(_checked(arguments), str(arguments["value"]))

    async def _delete_secret(self, arguments: dict[str, Any]) -> None:
        await self._secrets.delete(_checked(arguments))

    async def _told(self, arguments: dict[str, Any]) -> None:
        """News of a server go to everybody who shows servers; they carry no more than is named here."""
        workspace_id = str(arguments.get("workspace_id", ""))
        hidden = worth_hiding(self._secrets.live_values())
        payload = {
            key: redact(str(arguments[key])[:1_000], hidden)
            for key in ("server", "state", "code", "message")
            if arguments.get(key) is not None
        }
        self._changes.append(Change.MCP, workspace_id=workspace_id, payload=payload)

    # Inside

    async def _plan(self, workspace_id: str) -> McpPlan:
        await self._secrets.open()
        folder = self._folders.folder(workspace_id)
        return (await asyncio.to_thread(load_plan, folder)).mcp

    def _planned(self, plan: McpPlan, name: str, workspace_id: str) -> PlannedServer:
        """Raises `mcp_server_not_found`, `mcp_server_disabled`, `mcp_needs_consent`, `mcp_server_unavailable`."""
        server = plan.find(name)
        if server is None:
            raise not_found("mcp_server", name)
        if not server.enabled:
            raise DomainError(
                "conflict",
                "mcp_server_disabled",
                f"{name} is switched off in workspace.yaml. Switch it on first.",
            )
        if (reason := self._consents.why_not(workspace_id, server)) is not None:
            raise DomainError("conflict", "mcp_needs_consent", f"{name} was not started. {reason}")
        if (reason := why_unavailable(server, workspace_id, self._secrets)) is not None:
            raise DomainError("conflict", "mcp_server_unavailable", reason)
        return server

    async def _connect(self, workspace_id: str, server: PlannedServer) -> None:
        arguments = {
            "workspace_id": workspace_id,
            "workspace_dir": str(self._folders.folder(workspace_id)),
            "servers": [resolve_server(server, workspace_id, self._secrets).model_dump()],
        }
        await self._ask(workspace_id, "mcp.ensure", arguments, CONNECT_S)

    async def _ask(self, workspace_id: str, name: str, arguments: dict[str, Any], timeout_s: float) -> Any:  # noqa: ANN401
        try:
            return await self._harness.ask(workspace_id, name, arguments, timeout_s=timeout_s)
        except HostAskError as error:
            kind = "unavailable" if error.code.startswith("host_") else "conflict"
            raise DomainError(kind, error.code, str(error)) from error

    async def _tell(self, workspace_id: str, name: str, arguments: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(ASK_S):
                await self._harness.ask(workspace_id, name, arguments)
        except (HostAskError, TimeoutError) as error:
            log.info("%s was not heard: %s", name, error)

    async def _forget_workspace(self, workspace_id: str) -> None:
        await self._tell(workspace_id, "mcp.close", {"workspace_id": workspace_id})
        await self._secrets.forget_workspace(workspace_id)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _view(self, workspace_id: str, plan: McpPlan, server: PlannedServer) -> McpServerView:
        missing = why_unavailable(server, workspace_id, self._secrets) if server.enabled else None
        return shown_server(
            plan,
            server,
            consent=self._consents.shown(workspace_id, server),
            missing=missing,
            heard=self._heard.get(workspace_id, {}).get(server.name),
            kept=self._secrets.peek(_oauth_name(workspace_id, server.name)),
            hidden=worth_hiding(self._secrets.live_values()),
        )


def _oauth_name(workspace_id: str, server: str) -> str:
    return f"{OAUTH}:{workspace_id}:{server}"


def _checked(arguments: dict[str, Any]) -> str:
    """A name that a host may ask for. Raises `ValueError`."""
    name = str(arguments["name"])
    if not name.startswith(f"{OAUTH}:"):
        raise ValueError("a host asks for authorizations only")
    return name
