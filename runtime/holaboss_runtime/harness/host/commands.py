"""Running a command for the agent: contained where possible, bounded in time and output, gone afterwards.

Nothing a command starts outlives it: its process group is ended, and on Linux also what left the group.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from holaboss_runtime.containment.bubblewrap import Containment, View
from holaboss_runtime.harness.host.text import plain_text
from holaboss_runtime.processes import (
    OWNER_VARIABLE,
    child_environment,
    kill_group,
    owner_of,
    sweep,
    terminate_group,
)

MAX_OUTPUT_BYTES = 30 * 1024
GRACE_S = 0.5
_CHUNK = 64 * 1024
_PIPE_END_S = 1.0


@dataclass(frozen=True)
class CommandResult:
    """`exit_code` is None when the command was killed for taking too long."""

    exit_code: int | None
    output: str
    containment: str


@dataclass
class _Output:
    """The first and the last half of `MAX_OUTPUT_BYTES` of what a command printed."""

    head: bytearray = field(default_factory=bytearray)
    tail: deque[bytes] = field(default_factory=deque[bytes])
    tail_bytes: int = 0
    dropped: int = 0

    def add(self, chunk: bytes) -> None:
        room = MAX_OUTPUT_BYTES // 2 - len(self.head)
        if room > 0:
            self.head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self.tail.append(chunk)
        self.tail_bytes += len(chunk)
        while self.tail_bytes - len(self.tail[0]) >= MAX_OUTPUT_BYTES // 2:
            self.tail_bytes -= len(self.tail[0])
            self.dropped += len(self.tail.popleft())

    def text(self) -> str:
        tail = b"".join(self.tail)
        surplus = max(0, len(tail) - MAX_OUTPUT_BYTES // 2)
        dropped = self.dropped + surplus
        if not dropped:
            return plain_text(bytes(self.head) + tail)
        note = f"\n[… {dropped:,} bytes of output left out …]\n"
        return plain_text(bytes(self.head)) + note + plain_text(tail[surplus:])


class CommandRunner:
    """Starts commands for all runs of a host and knows which of their process groups are alive.

    `announce(pgid, alive)` tells the runtime, which ends them should this host be lost.
    """

    def __init__(self, containment: Containment, announce: Callable[[int, bool], None]) -> None:
        self._containment = containment
        self._announce = announce
        self._numbers = itertools.count()
        self.groups: set[int] = set()

    @property
    def contained(self) -> bool:
        """Whether a command sees and writes only what its view says."""
        return self._containment.active

    async def run(self, view: View, arguments: list[str], timeout_s: float) -> CommandResult:
        """Run `arguments` in the folder of `view`. Cancelling it ends the command and everything it started."""
        owner = f"{owner_of(os.getpid())}{next(self._numbers)}."
        environment = _environment(owner)
        # A pipe of our own: asyncio would wait for the end of its pipe, which background children hold open.
        receiving, sending = os.pipe()
        with os.fdopen(receiving, "rb", buffering=0) as stream:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._containment.wrap(view, arguments, environment),
                    cwd=view.folder,
                    env={OWNER_VARIABLE: owner} if self._containment.active else environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=sending,
                    stderr=sending,
                    start_new_session=True,
                )
            finally:
                os.close(sending)
            return await self._attend(process, owner, stream, timeout_s)

    async def _attend(
        self, process: asyncio.subprocess.Process, owner: str, stream: io.FileIO, timeout_s: float
    ) -> CommandResult:
        self._mark(process.pid, alive=True)
        output = _Output()
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_read(stream, output))
            try:
                finished = await _finished(process, timeout_s)
            finally:
                await self._end(process, owner)
            await asyncio.wait({reading}, timeout=_PIPE_END_S)
            reading.cancel()
        return CommandResult(process.returncode if finished else None, output.text(), self._containment.name)

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
    return child_environment(**fixed)


async def _finished(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), timeout_s)
        return True
    return False


async def _read(stream: io.FileIO, output: _Output) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
    try:
        while chunk := await reader.read(_CHUNK):
            output.add(chunk)
    finally:
        transport.close()
