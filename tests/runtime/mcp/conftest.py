"""MCP servers as a host keeps them, in this very process: what was announced and told is written down."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import McpServer, McpServerConfig, McpToolRef
from holaboss_runtime.harness.host.asks import Asks
from holaboss_runtime.harness.host.mcp import child as child_module
from holaboss_runtime.harness.host.mcp import server as server_module
from holaboss_runtime.harness.host.mcp import servers as servers_module
from holaboss_runtime.harness.host.mcp.server import ServerConnection
from holaboss_runtime.harness.host.mcp.servers import McpServers
from tests.project.repository import ROOT
from tests.support.processes import PATIENCE_S

MISBEHAVING = ROOT / "tests" / "support" / "mcp_servers" / "misbehaving.py"
INSTALLED = ROOT / ".venv" / "mcp-servers"


class Kept:
    """Servers of a host, with the process groups and the news it passed on."""

    def __init__(self, **options: Any) -> None:
        self.groups: list[tuple[int, bool]] = []
        self.told: list[dict[str, Any]] = []
        self.asks = Asks()
        self.servers = McpServers(
            lambda pgid, alive: self.groups.append((pgid, alive)),
            lambda name, arguments: self.told.append({"news": name, **arguments}),
            **options,
        )
        self.servers.register(self.asks)
        self._handlers = self.asks._handlers

    async def ask(self, name: str, **arguments: Any) -> Any:
        return await self._handlers[name]({"workspace_id": "workspace", **arguments})

    async def ensure(self, folder: Path, *servers: McpServer) -> dict[str, dict[str, Any]]:
        """Their reports by name."""
        given = [server.model_dump() for server in servers]
        found = await self.ask("mcp.ensure", workspace_dir=str(folder), servers=given)
        return {report["name"]: report for report in found["servers"]}

    async def report(self, name: str) -> dict[str, Any]:
        found = await self.ask("mcp.status")
        return next(report for report in found["servers"] if report["name"] == name)

    def connection(self, name: str) -> ServerConnection:
        found = self.servers.connection("workspace", name)
        assert found is not None
        return found

    def grant(self, name: str, timeout_s: float) -> None:
        """Another limit for its answers, once it is ready: what bounds a call bounds the start as well."""
        connection = self.connection(name)
        config = connection.server.config.model_copy(update={"timeout_s": timeout_s})
        connection.server = connection.server.model_copy(update={"config": config})

    async def until(self, name: str, state: str, limit_s: float = PATIENCE_S) -> ServerConnection:
        connection = self.connection(name)
        async with asyncio.timeout(limit_s):
            while connection.health.state != state:
                await connection._news.wait()
        return connection

    def states(self, name: str) -> list[str]:
        return [news["state"] for news in self.told if news.get("server") == name]


@asynccontextmanager
async def kept_servers(**options: Any) -> AsyncGenerator[Kept]:
    """They may take their time to start and to end: a busy machine must not make other sentences of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_module, "LONGEST_WAIT_S", PATIENCE_S)
        patch.setattr(servers_module, "LONGEST_WAIT_S", PATIENCE_S)
        patch.setattr(child_module, "_GOING_S", PATIENCE_S)
        kept = Kept(**options)
        try:
            yield kept
        finally:
            await kept.servers.close()


@pytest.fixture
async def kept(anyio_backend: str) -> AsyncIterator[Kept]:
    async with kept_servers() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace of a root, so that the files about servers lie beside it."""
    found = tmp_path / "workspace" / "one"
    found.mkdir(parents=True)
    (tmp_path / "state").mkdir()
    return found


def local(name: str, *command: str, **config: Any) -> McpServer:
    return McpServer(name=name, config=McpServerConfig(type="local", command=list(command), **config))


def remote(name: str, url: str, **config: Any) -> McpServer:
    return McpServer(name=name, config=McpServerConfig(type="remote", url=url, **config))


def bad(mode: str, *arguments: str, name: str = "bad", **config: Any) -> McpServer:
    """The server that goes wrong in this way."""
    return local(name, sys.executable, str(MISBEHAVING), mode, *arguments, **config)


def ref(server: str, tool: str) -> McpToolRef:
    return McpToolRef(tool_id=f"{server}.{tool}", server_id=server, tool_name=tool)


def installed(program: str) -> str:
    """The path of a real server. `scripts/test` installs them; a path given to pytest alone goes without."""
    for place in (INSTALLED / "python" / "bin", INSTALLED / "node" / "node_modules" / ".bin"):
        if (place / program).exists():
            return str(place / program)
    pytest.skip(f"{program} is not installed: run scripts/support/mcp_servers.py")
