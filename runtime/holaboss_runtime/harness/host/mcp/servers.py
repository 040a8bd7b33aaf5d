"""All MCP servers of this host: what a run gets of them, and what the runtime may ask about them.

Nothing here loads the protocol's library; a host without servers never does.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import McpServer, RunnerEvent, RunPackage, RunResult
from holaboss_runtime.harness.host.asks import AskError, Asks
from holaboss_runtime.harness.host.mcp import sidecar
from holaboss_runtime.harness.host.mcp.memory import memory_of
from holaboss_runtime.harness.host.mcp.problems import McpToolMissingError
from holaboss_runtime.harness.host.mcp.server import LONGEST_WAIT_S, ServerConnection
from holaboss_runtime.harness.host.mcp.surroundings import AuthFactory, Health, Surroundings
from holaboss_runtime.harness.host.mcp.tools import context_tokens, tools_of, wanted_of
from holaboss_runtime.harness.host.mcp.workspace import IDLE_S, WorkspaceServers
from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.processes import kill_group, owner_of

if TYPE_CHECKING:
    import httpx2

HOST_END_GRACE_S = 0.2
TAIL_CHARS = 16 * 1024


@dataclass(frozen=True)
class Served:
    """What a run gets. `notices` are for the person, `lines` for the model."""

    tools: list[HostTool] = field(default_factory=list[HostTool])
    notices: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lines: list[str] = field(default_factory=list[str])


def _no_auth(_workspace_id: str, _server: McpServer, _needed: Callable[[], None]) -> httpx2.Auth | None:
    return None


class McpServers:
    """`announce(pgid, alive)` and `tell(name, arguments)` reach the runtime. Set `auth` before the first run."""

    def __init__(
        self,
        announce: Callable[[int, bool], None],
        tell: Callable[[str, dict[str, Any]], None],
        idle_s: float = IDLE_S,
    ) -> None:
        self.auth: AuthFactory = _no_auth
        self._announce = announce
        self._tell = tell
        self._idle_s = idle_s
        self._numbers = itertools.count()
        self._workspaces: dict[str, WorkspaceServers] = {}
        self._folders: dict[str, Path] = {}
        self._moved: set[asyncio.Task[None]] = set()
        self._groups: set[int] = set()
        self._notes: asyncio.Queue[Callable[[], None]] = asyncio.Queue()
        self._noting: asyncio.Task[None] | None = None

    def register(self, asks: Asks) -> None:
        asks.register("mcp.status", self._status)
        asks.register("mcp.ensure", self._ensure)
        asks.register("mcp.restart", self._restart)
        asks.register("mcp.stop", self._stop)
        asks.register("mcp.close", self._close)

    @asynccontextmanager
    async def serving(self, package: RunPackage) -> AsyncGenerator[Served]:
        """The tools of a run, while it runs. Raises `McpToolMissingError` for one that was named and is not there."""
        if not package.mcp_servers and not package.mcp_tool_refs:
            yield Served()
            return
        servers = self._of(package.workspace_id, Path(package.workspace_dir))
        wanted = wanted_of(package.mcp_tool_refs)
        async with servers.held(package.mcp_servers) as connections:
            await asyncio.gather(*(_settled(held, wanted.get(held.name)) for held in connections))
            _check_present(connections, wanted)
            there = [held for held in connections if held.health.state == "ready"]
            missing = [held for held in connections if held.health.state != "ready"]
            yield Served(
                tools_of(there, wanted),
                [_notice(held) for held in missing],
                [_line(held) for held in missing],
            )

    def connection(self, workspace_id: str, server: str) -> ServerConnection | None:
        servers = self._workspaces.get(workspace_id)
        return servers.find(server) if servers is not None else None

    def retry(self, workspace_id: str, server: str) -> None:
        """Connect again, because something outside has changed, such as a token that has arrived."""
        if (connection := self.connection(workspace_id, server)) is not None:
            connection.retry()

    async def close(self) -> None:
        """End every server; for a host that is about to exit."""
        servers = list(self._workspaces.values())
        self._workspaces.clear()
        await asyncio.gather(*(each.close(HOST_END_GRACE_S) for each in servers), *self._moved)
        if self._noting is not None:
            await self._notes.join()
            self._noting.cancel()
            await asyncio.gather(self._noting, return_exceptions=True)

    def kill_all(self) -> None:
        """End every process group at once; from any thread."""
        for pgid in list(self._groups):
            kill_group(pgid)

    def _of(self, workspace_id: str, folder: Path) -> WorkspaceServers:
        known = self._workspaces.get(workspace_id)
        if known is not None and self._folders[workspace_id] != folder:  # it was moved
            self._moved.add(ending := asyncio.create_task(known.close()))
            ending.add_done_callback(self._moved.discard)
            known = None
        if known is None:
            surroundings = Surroundings(
                workspace_id=workspace_id,
                folder=folder,
                announce=self._mark,
                owner=lambda: f"{owner_of(os.getpid())}mcp-{next(self._numbers)}.",
                news=partial(self._hear, workspace_id, folder),
                logs=partial(sidecar.log_path, folder),
                auth=lambda workspace, server, needed: self.auth(workspace, server, needed),
                tls=_trusted,
            )
            known = self._workspaces[workspace_id] = WorkspaceServers(surroundings, self._idle_s)
            self._folders[workspace_id] = folder
        return known

    def _mark(self, pgid: int, alive: bool) -> None:
        (self._groups.add if alive else self._groups.discard)(pgid)
        self._announce(pgid, alive)

    def _hear(self, workspace_id: str, folder: Path, server: McpServer, health: Health) -> None:
        self._tell(
            "mcp.changed",
            {
                "workspace_id": workspace_id,
                "server": server.name,
                "state": health.state,
                "last_error": health.last_error,
                "tool_count": len(health.offers),
            },
        )
        running = health.pid if health.state == "ready" else None
        self._notes.put_nowait(partial(sidecar.note, folder, server, running))
        if self._noting is None:
            self._noting = asyncio.create_task(self._note())

    async def _note(self) -> None:
        """Notes are written one after the other, and nobody waits for them."""
        while True:
            work = await self._notes.get()
            try:
                await asyncio.to_thread(work)
            finally:
                self._notes.task_done()

    async def _status(self, arguments: dict[str, Any]) -> dict[str, Any]:
        servers = self._workspaces.get(str(arguments.get("workspace_id")))
        return {"servers": [await report(each) for each in servers.connections] if servers else []}

    async def _ensure(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`{workspace_id, workspace_dir, servers}`: connect without a run, and wait a moment for the outcome."""
        workspace_id, folder = str(arguments.get("workspace_id")), Path(str(arguments.get("workspace_dir")))
        try:
            wanted = [McpServer.model_validate(each) for each in arguments.get("servers", [])]
        except (ValidationError, TypeError) as error:
            raise AskError("mcp_servers_invalid", "The settings of the MCP servers are not valid.") from error
        if not folder.is_absolute():
            raise AskError("workspace_missing", "The folder of the workspace cannot be found.")
        async with self._of(workspace_id, folder).held(wanted) as connections:
            await asyncio.gather(*(_settled(held, None) for held in connections))
        return await self._status(arguments)

    async def _restart(self, arguments: dict[str, Any]) -> dict[str, Any]:
        name = str(arguments.get("server"))
        connection = self.connection(str(arguments.get("workspace_id")), name)
        if connection is None:
            raise AskError(
                "mcp_server_not_running", f"The MCP server {name} is not running: connect it first."
            )
        connection.retry()
        await _settled(connection, None)
        return {"server": await report(connection)}

    async def _stop(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`{workspace_id, server}`: end one server, also under the runs that use it."""
        servers = self._workspaces.get(str(arguments.get("workspace_id")))
        if servers is not None:
            await servers.stop(str(arguments.get("server")))
        return {}

    async def _close(self, arguments: dict[str, Any]) -> dict[str, Any]:
        servers = self._workspaces.pop(str(arguments.get("workspace_id")), None)
        if servers is not None:
            await servers.close()
        return {}


async def report(connection: ServerConnection) -> dict[str, Any]:
    """What there is to know of a server, without a secret."""
    health = connection.health
    return {
        "name": connection.name,
        "state": health.state,
        "protocol_revision": health.protocol_revision,
        "transport": health.transport,
        "pid": health.pid,
        "tool_count": len(health.offers),
        "tools": [{"name": offer.name, "description": offer.description[:300]} for offer in health.offers],
        "context_tokens": context_tokens(health.offers),
        "memory_bytes": await asyncio.to_thread(memory_of, health.pid) if health.pid else None,
        "restarts": health.restarts,
        "last_error": health.last_error,
        "started_at": health.started_at,
        "stderr_tail": connection.errors.tail(TAIL_CHARS),
    }


def missing_tool_event(error: McpToolMissingError, package: RunPackage) -> RunnerEvent:
    """The end of a run that may only see tools that are not there."""
    payload: dict[str, Any] = {
        "type": "mcp_tool_missing",
        "message": str(error),
        "provider_id": package.provider_id,
        "model_id": package.model_id,
        "retryable": False,
    }
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload, result=RunResult())


async def _settled(connection: ServerConnection, wanted: frozenset[str] | None) -> None:
    limit = min(connection.server.config.timeout_s, LONGEST_WAIT_S)
    await connection.settled(limit, wanted or frozenset())


def _check_present(connections: list[ServerConnection], wanted: dict[str, frozenset[str]]) -> None:
    """Raises `McpToolMissingError` for the first tool that is not there."""
    by_name = {held.name: held for held in connections}
    for server, tools in wanted.items():
        held = by_name.get(server)
        ready = held is not None and held.health.state == "ready"
        offered = {offer.name for offer in held.health.offers} if held is not None and ready else set[str]()
        if not (missing := sorted(tools - offered)):
            continue
        if held is None:
            why = f"the MCP server {server} is not enabled there."
        elif ready:
            why = f"the MCP server {server} does not offer it."
        else:
            why = f"the MCP server {server} is not available. {_reason(held)}"
        raise McpToolMissingError(f"The tool {server}.{missing[0]} is allowed in workspace.yaml, but {why}")


def _notice(held: ServerConnection) -> dict[str, Any]:
    return {
        "code": "mcp_server_unavailable",
        "message": f"The MCP server {held.name} is left out of this run. {_reason(held)}",
        "mcp_server_id": held.name,
        "state": held.health.state,
    }


def _line(held: ServerConnection) -> str:
    return (
        f"The MCP server {held.name} is not available in this run, so its tools are missing. {_reason(held)}"
    )


def _reason(held: ServerConnection) -> str:
    if held.health.state == "needs_authorization":
        return "Somebody has to sign in to it first."
    if held.health.state == "starting":
        return "It is still starting."
    return held.health.last_error or "It cannot be reached."


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the certificates of the system takes a while; once is enough."""
    from holaboss_runtime.harness.host.mcp.remote import trusted

    return trusted()
