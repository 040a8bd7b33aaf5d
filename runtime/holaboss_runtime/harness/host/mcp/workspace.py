"""The servers of one workspace: each started once, shared by all runs, ended when nobody needs it any more.

A server whose settings changed gets a new connection; runs that hold the old one keep it until they end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.host.mcp import names
from holaboss_runtime.harness.host.mcp.server import GRACE_S, ServerConnection
from holaboss_runtime.harness.host.mcp.surroundings import Surroundings

IDLE_S = 600.0


class WorkspaceServers:
    """`idle_s` is how long a server stays warm without a run. `close` ends everything."""

    def __init__(self, surroundings: Surroundings, idle_s: float = IDLE_S) -> None:
        self._surroundings = surroundings
        self._idle_s = idle_s
        self._connections: dict[str, ServerConnection] = {}
        self._retired: set[ServerConnection] = set()
        self._timers: dict[ServerConnection, asyncio.TimerHandle] = {}
        self._endings: set[asyncio.Task[None]] = set()

    @property
    def connections(self) -> list[ServerConnection]:
        return list(self._connections.values())

    def find(self, name: str) -> ServerConnection | None:
        return self._connections.get(name)

    @asynccontextmanager
    async def held(self, servers: Iterable[McpServer]) -> AsyncGenerator[list[ServerConnection]]:
        """Connections of the enabled ones, in their order, kept for as long as this is entered."""
        held = [self._current(server) for server in servers if server.config.enabled]
        for connection in held:
            connection.users += 1
        try:
            yield held
        finally:
            for connection in held:
                connection.users -= 1
                self._rest(connection)

    async def stop(self, name: str) -> None:
        """End a server at once, also under those who hold it; who wants it next gets a new one."""
        ended = [each for each in (*self._connections.values(), *self._retired) if each.name == name]
        self._connections.pop(name, None)
        for connection in ended:
            self._retired.discard(connection)
            if (timer := self._timers.pop(connection, None)) is not None:
                timer.cancel()
        await asyncio.gather(*(connection.close() for connection in ended))

    async def close(self, grace_s: float = GRACE_S) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        everything = [*self._connections.values(), *self._retired]
        self._connections.clear()
        self._retired.clear()
        await asyncio.gather(*(connection.close(grace_s) for connection in everything), *self._endings)

    def _current(self, server: McpServer) -> ServerConnection:
        known = self._connections.get(server.name)
        if known is not None and known.fingerprint == names.fingerprint(server.config):
            return known
        if known is not None:
            self._retire(known)
        connection = self._connections[server.name] = ServerConnection(server, self._surroundings)
        connection.open()
        return connection

    def _retire(self, connection: ServerConnection) -> None:
        self._retired.add(connection)
        self._rest(connection)

    def _rest(self, connection: ServerConnection) -> None:
        """Nobody may hold it any more: end it now if it is retired, otherwise after a while."""
        if (timer := self._timers.pop(connection, None)) is not None:
            timer.cancel()
        if connection.users:
            return
        if connection in self._retired:
            self._retired.discard(connection)
            self._own(connection.close())
        elif self._connections.get(connection.name) is connection:
            loop = asyncio.get_running_loop()
            self._timers[connection] = loop.call_later(self._idle_s, self._sleep, connection)

    def _sleep(self, connection: ServerConnection) -> None:
        self._timers.pop(connection, None)
        if not connection.users and self._connections.get(connection.name) is connection:
            del self._connections[connection.name]
            self._own(connection.close())

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
