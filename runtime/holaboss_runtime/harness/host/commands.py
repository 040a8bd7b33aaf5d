"""Running a command for the agent: contained where possible, bounded in time and output, gone afterwards.

Nothing a command starts outlives it: its process group is ended, and on Linux also what left the group.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from holaboss_runtime.containment.holding import Containment, Held
from holaboss_runtime.containment.view import ContainmentName, Network, View
from holaboss_runtime.harness.host.background import Background
from holaboss_runtime.harness.host.command_result import CommandResult
from holaboss_runtime.harness.host.output import Ends
from holaboss_runtime.permissions.model import ContainmentDemand
from holaboss_runtime.processes import (
    OWNER_VARIABLE,
    child_environment,
    kill_group,
    owner_of,
    sweep,
    terminate_group,
)

GRACE_S = 0.5
_CHUNK = 64 * 1024
_PIPE_END_S = 1.0

NO_CONTAINMENT = (
    "Commands have to be contained here, and this machine cannot do that. Do it with other tools, or tell the person "
    "that commands need bubblewrap (Linux) or another permission profile."
)
NO_NETWORK = (
    "Commands must not reach the whole network here, and this machine cannot hold them to that. Do it with "
    "other tools, or tell the person."
)
NOT_READ_ONLY = "The workspace can only be read, and no command can be held to that on this machine."


class CommandRefusedError(Exception):
    """A command was not run, because what was demanded of its containment is not to be had. For the model."""


class Output(Protocol):
    """Takes what a command prints."""

    def add(self, chunk: bytes) -> None: ...


class CommandRunner:
    """Starts commands for all runs of a host and knows which of their process groups are alive.

    `announce(pgid, alive)` tells the runtime, which ends them should this host be lost.
    """

    def __init__(self, containment: Containment, announce: Callable[[int, bool], None]) -> None:
        self._containment = containment
        self._announce = announce
        self._numbers = itertools.count()
        self.groups: set[int] = set()
        self.background = Background(self.follow)

    @property
    def contained(self) -> bool:
        """Whether a command sees and writes only what its view says."""
        return self._containment.active

    @property
    def containment(self) -> ContainmentName:
        """What holds commands here."""
        return self._containment.name

    async def run(
        self, view: View, arguments: list[str], timeout_s: float, demand: ContainmentDemand | None = None
    ) -> CommandResult:
        """Run `arguments` in the folder of `view`. Cancelling it ends the command and everything it started.

        Raises `CommandRefusedError` when `demand` cannot be met.
        """
        output = Ends()
        ended = await self.follow(view, arguments, timeout_s, demand, output)
        whole = await asyncio.to_thread(output.whole) if output.is_cut else None
        return replace(ended, output=output.text(), whole=whole)

    async def follow(
        self,
        view: View,
        arguments: list[str],
        timeout_s: float | None,
        demand: ContainmentDemand | None,
        output: Output,
    ) -> CommandResult:
        """The same with the output going to `output` as it comes; that of the result is empty."""
        network = await self._network(view, demand)
        owner = f"{owner_of(os.getpid())}{next(self._numbers)}."
        async with self._containment.hold(view, arguments, _environment(owner), network) as held:
            exit_code = await self._start(held, owner, timeout_s, output)
            refused = tuple(held.refused)
        return CommandResult(exit_code, "", self._containment.name, network.mode, refused_hosts=refused)

    async def check(self, view: View, demand: ContainmentDemand | None) -> None:
        """Raise the `CommandRefusedError` that running there would raise."""
        await self._network(view, demand)

    async def _network(self, view: View, demand: ContainmentDemand | None) -> Network:
        """What is demanded, if it can be had: whatever cannot be kept is refused, never left out."""
        if not view.writable and not self.contained and demand is not None:
            raise CommandRefusedError(NOT_READ_ONLY)
        if demand is None:
            return Network()
        if demand.required and not self.contained:
            raise CommandRefusedError(NO_CONTAINMENT)
        # A list of nobody needs nobody who looks at it.
        mode = "off" if demand.network == "listed" and not demand.hosts else demand.network
        if not await self._containment.offers(mode):
            raise CommandRefusedError(NO_NETWORK)
        return Network(mode, tuple(demand.hosts))

    async def _start(self, held: Held, owner: str, timeout_s: float | None, output: Output) -> int | None:
        # A pipe of our own: asyncio would wait for the end of its pipe, which background children hold open.
        receiving, sending = os.pipe()
        with os.fdopen(receiving, "rb", buffering=0) as stream:
            try:
                process = await asyncio.create_subprocess_exec(
                    *held.arguments,
                    cwd=held.cwd,
                    env=held.environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=sending,
                    stderr=sending,
                    pass_fds=held.inherited,
                    start_new_session=True,
                )
            except (
                asyncio.CancelledError
            ):  # while it was being started: nobody else will look for what it began
                await asyncio.to_thread(sweep, owner)
                raise
            finally:
                os.close(sending)
            held.started()
            return await self._attend(process, owner, stream, timeout_s, output)

    async def _attend(
        self,
        process: asyncio.subprocess.Process,
        owner: str,
        stream: io.FileIO,
        timeout_s: float | None,
        output: Output,
    ) -> int | None:
        self._mark(process.pid, alive=True)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_read(stream, output))
            try:
                finished = await _finished(process, timeout_s)
            finally:
                await self._end(process, owner)
            await asyncio.wait({reading}, timeout=_PIPE_END_S)
            reading.cancel()
        return process.returncode if finished else None

    async def _end(self, process: asyncio.subprocess.Process, owner: str) -> None:
        if process.returncode is None:
            await terminate_group(process, GRACE_S)
        kill_group(process.pid)
        await asyncio.to_thread(sweep, owner)
        self._mark(process.pid, alive=False)

    def kill_all(self) -> None:
        """End every command at once; for a host that is about to exit, from any thread."""
        for pgid in list(self.groups):
            kill_group(pgid)

    def _mark(self, pgid: int, *, alive: bool) -> None:
        (self.groups.add if alive else self.groups.discard)(pgid)
        self._announce(pgid, alive)


def _environment(owner: str) -> dict[str, str]:
    fixed = {"TERM": "dumb", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", OWNER_VARIABLE: owner}
    # A folder that merely looks like a repository must not bring settings that git would obey while it only looks.
    fixed |= {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "safe.bareRepository",
        "GIT_CONFIG_VALUE_0": "explicit",
        "GIT_CONFIG_KEY_1": "core.fsmonitor",  # a program that even looking would start
        "GIT_CONFIG_VALUE_1": "false",
    }
    return child_environment(**fixed)


async def _finished(process: asyncio.subprocess.Process, timeout_s: float | None) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await process.wait()
        return True
    return False


async def _read(stream: io.FileIO, output: Output) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
    try:
        while chunk := await reader.read(_CHUNK):
            output.add(chunk)
    finally:
        transport.close()
