"""The runtime's end of a host's output: bytes are cut into frames and handed on in the step of the loop that read them.

A stream with a task behind it costs three more steps of the loop for every event of every run. It deliberately knows
no frame: what one means is the business of whoever takes it.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Callable, Sequence
from typing import cast

from holaboss_runtime.harness.frames import MAX_FRAME_BYTES

_STDOUT = 1
_LOG_BYTES = 64 * 1024


class FramePipe(asyncio.Protocol):
    """Calls `take` with each line, without its end. Raises nothing into the loop: what `take` raises ends the pipe."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._parts: list[bytes] = []
        self._size = 0
        self._paused = False
        self._transport: asyncio.ReadTransport | None = None
        self._owner: asyncio.BaseProtocol | None = None
        self._over = asyncio.get_running_loop().create_future()

    @property
    def paused(self) -> bool:
        return self._paused

    async def over(self) -> None:
        """Returns at the end of the pipe. Raises what `take` raised, `ValueError` for a line that is too long; the rest
        of the pipe is read and thrown away then."""
        await self._over

    def pause(self) -> None:
        """Read no more for now; what was read already still comes."""
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    def drop(self) -> None:
        """End it for us, and throw away what still comes: a child counts as gone only at the end of its pipes."""
        self.end()
        self.resume()

    def attach(self, transport: asyncio.ReadTransport) -> None:
        """Take over a pipe of a subprocess; its owner is still told when it ends."""
        self._transport, self._owner = transport, transport.get_protocol()
        transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        if self._over.done():
            return
        try:
            self._cut(data)
        except Exception as error:  # noqa: BLE001 - `over` raises it where somebody waits
            self._parts.clear()
            self._end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()
        if self._owner is not None:
            self._owner.connection_lost(exc)

    def end(self) -> None:
        self._end(None)

    def _cut(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts.clear()
            self._size = 0
        for line in lines:
            _refuse_long(len(line))
            self._take(line)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            _refuse_long(self._size)

    def _end(self, error: Exception | None) -> None:
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)


class _HostStreams(SubprocessStreamProtocol):
    """The usual streams of a child, but for its standard output."""

    def __init__(self, frames: FramePipe, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=_LOG_BYTES, loop=loop)
        self._frames = frames

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        pipe = cast("asyncio.SubprocessTransport", transport).get_pipe_transport(_STDOUT)
        self._frames.attach(cast("asyncio.ReadTransport", pipe))

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Of the standard output only what came before the pipe was taken over."""
        if fd == _STDOUT:
            self._frames.data_received(cast("bytes", data))
        else:
            super().pipe_data_received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        super().pipe_connection_lost(fd, exc)
        if fd == _STDOUT:
            self._frames.end()


async def spawn_with_frames(
    command: Sequence[str], frames: FramePipe, *, environment: dict[str, str], folder: str
) -> Process:
    """A child in a process group of its own whose standard output goes to `frames`. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _HostStreams(frames, loop),
        *command,
        env=environment,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    return Process(transport, protocol, loop)


def _refuse_long(size: int) -> None:
    if size >= MAX_FRAME_BYTES:
        raise ValueError(f"a frame of more than {MAX_FRAME_BYTES} bytes")
