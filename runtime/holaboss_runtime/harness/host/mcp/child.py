"""A local server as a process of ours: its pipes, its group, and everything it leaves behind.

It gets an environment that was built for it and leads its own process group. Its output is read in bounded lines and at
a bounded speed. Knows nothing of the protocol.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

from holaboss_runtime.harness.host.mcp.logbook import Logbook
from holaboss_runtime.harness.host.mcp.problems import ServerProblemError
from holaboss_runtime.harness.host.paced_writer import PacedWriter
from holaboss_runtime.processes import (
    OWNER_VARIABLE,
    child_environment,
    descendants,
    kill_group,
    sweep,
    terminate_group,
)

LONGEST_LINE = 8 * 1024 * 1024
LINES_PER_S = 200
LINES_AT_ONCE = 2_000
NOISE_PER_S = 1024 * 1024
TERM_S = 0.5
_LAST_WORDS_S = 0.3
_GOING_S = 3.0
"""Between the end of its output and its own: normally nothing, but a busy machine takes its time."""
_FLUSH_S = 0.5
_CHUNK = 64 * 1024
_BYTES_PER_UNIT = 16 * 1024  # a long line counts as several

Announce = Callable[[int, bool], None]


class ServerProcess:
    """Started by `start`, ended by `end`, which must be called whatever happened in between."""

    def __init__(
        self, process: asyncio.subprocess.Process, pipes: _Pipes, owner: str, errors: Logbook
    ) -> None:
        self._process = process
        self._pipes = pipes
        self._owner = owner
        self._errors = errors
        self._listening = asyncio.create_task(self._listen())
        self._exit = asyncio.create_task(process.wait())

    @classmethod
    async def start(
        cls, command: list[str], environment: dict[str, str], folder: Path, owner: str, errors: Logbook
    ) -> ServerProcess:
        """Raises `ServerProblemError` when the program cannot be started."""
        if not command:
            raise ServerProblemError("It has no command in workspace.yaml.")
        pipes = _Pipes()
        try:
            await pipes.open()
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env=child_environment(**environment) | {OWNER_VARIABLE: owner},
                stdin=pipes.theirs[0],
                stdout=pipes.theirs[1],
                stderr=pipes.theirs[2],
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            pipes.close()
            raise ServerProblemError(_cannot_start(command, folder, error)) from error
        except BaseException:
            pipes.close()
            raise
        finally:
            pipes.close_theirs()
        return cls(process, pipes, owner, errors)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes to standard output, until it is gone.

        Raises `ServerProblemError` for a line without end and for a flood of lines.
        """
        allowance = _Allowance()
        while (line := await self._line()) is not None:
            if not allowance.covers(1 + len(line) // _BYTES_PER_UNIT):
                raise ServerProblemError("It floods its standard output.")
            yield line

    async def write(self, line: bytes) -> None:
        """Waits while the server does not read. Raises `ConnectionError` once it is gone."""
        await self._pipes.write(line)

    async def end(self, grace_s: float) -> int | None:
        """Close its input, wait up to `grace_s`, then end the group and whatever left it. Returns the exit code, if it
        went by itself."""
        family = await asyncio.to_thread(descendants, self.pid)  # one of them may hide from its mark
        self._pipes.close_input()
        polite: int | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                polite = await self._process.wait()
        if polite is None:
            await terminate_group(self._process, TERM_S)
        kill_group(self.pid)
        await asyncio.to_thread(_clear, self.pid, self._owner, frozenset(family))
        await asyncio.wait({self._listening}, timeout=_LAST_WORDS_S)
        self._listening.cancel()
        self._exit.cancel()
        await asyncio.gather(self._listening, self._exit, return_exceptions=True)
        self._errors.end()
        await self._errors.flush()
        self._pipes.close()
        return polite

    async def gone(self) -> str:
        """A sentence about how it went, once its output has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_GOING_S):
                code = await self._process.wait()
            how = f"with code {code}" if code >= 0 else f"by signal {-code}"
            return f"It ended {how}."
        return "It closed its standard output."

    async def _line(self) -> bytes | None:
        """A process that is gone counts as an end, although one it left behind may still hold the pipe."""
        reading = asyncio.ensure_future(self._pipes.output.readuntil(b"\n"))
        try:
            await asyncio.wait({reading, self._exit}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait({reading}, timeout=_LAST_WORDS_S)
            return reading.result() if reading.done() else None
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError as error:
            raise ServerProblemError(
                f"It wrote a line of more than {LONGEST_LINE // 1024 // 1024} MB."
            ) from error
        finally:
            reading.cancel()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        began, heard, written = loop.time(), 0, loop.time()
        while chunk := await self._pipes.errors.read(_CHUNK):
            self._errors.add(chunk)
            heard += len(chunk)
            if heard > NOISE_PER_S:  # it waits in its pipe, and we stay idle
                await asyncio.sleep(max(0.0, 1.0 - (loop.time() - began)))
                began, heard = loop.time(), 0
            if loop.time() - written > _FLUSH_S:
                await self._errors.flush()
                written = loop.time()


class _Allowance:
    """How much a server may say: a lot at once, and from then on as much as it is given again in time."""

    def __init__(self) -> None:
        self._left: float = LINES_AT_ONCE
        self._at = asyncio.get_running_loop().time()

    def covers(self, units: int) -> bool:
        now = asyncio.get_running_loop().time()
        self._left = min(LINES_AT_ONCE, self._left + (now - self._at) * LINES_PER_S) - units
        self._at = now
        return self._left >= 0


class _Pipes:
    """Three pipes of our own: those of asyncio would keep a dead process waiting for its children."""

    def __init__(self) -> None:
        pairs = [os.pipe(), os.pipe(), os.pipe()]
        self.theirs = (pairs[0][0], pairs[1][1], pairs[2][1])
        self.output = asyncio.StreamReader(LONGEST_LINE)
        self.errors = asyncio.StreamReader(_CHUNK)
        self._input = _Writer()
        self._ours = (
            io.FileIO(pairs[0][1], "wb"),
            io.FileIO(pairs[1][0], "rb"),
            io.FileIO(pairs[2][0], "rb"),
        )
        self._transports: list[asyncio.BaseTransport] = []

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for reader, pipe in ((self.output, self._ours[1]), (self.errors, self._ours[2])):
            transport, _ = await loop.connect_read_pipe(
                lambda reader=reader: asyncio.StreamReaderProtocol(reader), pipe
            )
            self._transports.append(transport)
        transport, _ = await loop.connect_write_pipe(lambda: self._input, self._ours[0])
        self._transports.append(transport)

    async def write(self, line: bytes) -> None:
        await self._input.write(line)

    def close_theirs(self) -> None:
        for fd in self.theirs:
            os.close(fd)

    def close_input(self) -> None:
        self._input.close()

    def close(self) -> None:
        for transport in self._transports:
            transport.close()
        if len(self._transports) < len(self._ours):  # it was never opened completely
            for pipe in self._ours:
                pipe.close()


class _Writer(PacedWriter):
    async def write(self, line: bytes) -> None:
        await self.room.wait()
        if self.transport is None or self.transport.is_closing():
            raise ConnectionError("the server does not read any more")
        self.transport.write(line)

    def close(self) -> None:
        """What it did not read is of no use any more."""
        if self.transport is not None:
            self.transport.abort() if not self.room.is_set() else self.transport.close()


def _clear(pgid: int, owner: str, family: frozenset[int]) -> None:
    """End what left the group, and collect what died in it while it was nobody's child."""
    sweep(owner, family)
    if os.name == "posix":
        with suppress(ChildProcessError):
            while os.waitpid(-pgid, os.WNOHANG)[0]:
                pass


def _cannot_start(command: list[str], folder: Path, error: Exception) -> str:
    program = command[0] if command else ""
    if not folder.is_dir():
        return "The folder of the workspace cannot be found."
    if isinstance(error, FileNotFoundError):
        return (
            f"The program “{program}” cannot be found. Install it, or correct the command in workspace.yaml."
        )
    if isinstance(error, PermissionError):
        return f"The program “{program}” may not be started."
    return f"The program “{program}” cannot be started."
