"""The limited network of one command: its own namespace, with nothing in it but the socket our forwarder answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from holaboss_runtime.containment.doorway import PORT
from holaboss_runtime.containment.forwarder import Forwarder, Resolve, resolve
from holaboss_runtime.containment.network import HostList
from holaboss_runtime.processes import self_command

HANDED_S = 20.0
_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_DIRECT = ("localhost", "127.0.0.1", "::1")
_OUTER = ("--unshare-user", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/")


def proxy_variables(hosts: HostList, port: int) -> dict[str, str]:
    """What makes curl, git, pip and npm use the forwarder. Loopback inside stays direct unless it is on the list."""
    direct = ",".join(name for name in _DIRECT if not hosts.names(name))
    fixed = {"NO_PROXY": direct, "no_proxy": direct, "NODE_USE_ENV_PROXY": "1"}
    return dict.fromkeys(_PROXY, f"http://127.0.0.1:{port}") | fixed


class Entrance:
    """One per command. `inherited` and `wrap` are for its start; after `started` its requests are answered."""

    def __init__(self, program: str, hosts: HostList, resolver: Resolve = resolve) -> None:
        self._program = program
        self._forwarder = Forwarder(hosts, resolver)
        self._inside, self._outside = socket.socketpair()
        self._serving: asyncio.Task[None] | None = None
        self.variables = proxy_variables(hosts, PORT)
        self.inherited = (self._outside.fileno(),)

    @property
    def refused(self) -> Sequence[str]:
        return self._forwarder.refused

    def wrap(self, inner: Sequence[str]) -> list[str]:
        door = self_command("doorway", str(self._outside.fileno()), *inner)
        return [self._program, *_OUTER, "--", *door]

    def started(self) -> None:
        self._outside.close()  # so that the other end is seen to close
        self._serving = asyncio.create_task(self._serve())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._outside.close()
        if self._serving is not None:
            self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving
        await self._forwarder.close()
        self._inside.close()

    async def _serve(self) -> None:
        """Wait for the socket; a command that ended before hands none out."""
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()
        self._inside.setblocking(False)
        loop.add_reader(self._inside, lambda: arrived.done() or arrived.set_result(None))
        try:
            async with asyncio.timeout(HANDED_S):
                await arrived
            message, descriptors, *_ = socket.recv_fds(self._inside, 1, 1)
        except (OSError, TimeoutError):
            return
        finally:
            loop.remove_reader(self._inside)
        if message and descriptors:
            await self._forwarder.serve(socket.socket(fileno=descriptors[0]))
