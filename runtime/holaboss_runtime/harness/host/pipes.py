"""The host's two pipes: frames come in on a thread, frames go out through one writer on the loop.

Reading on a thread means that the end of the pipe is noticed even when the loop is busy.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from pydantic import ValidationError

from holaboss_runtime.harness.contract import ContractModel
from holaboss_runtime.harness.frames import MAX_FRAME_BYTES, TO_HOST, ToHostFrame, encode
from holaboss_runtime.harness.host.paced_writer import PacedWriter


def claim_standard_streams() -> tuple[int, int]:
    """Take the pipes for frames: now a stray `print` goes to stderr, and no child can read our input."""
    incoming, outgoing = os.dup(0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return incoming, outgoing


def start_reading(fd: int, deliver: Callable[[ToHostFrame], None], ended: Callable[[], None]) -> None:
    """Call `deliver` for each frame and `ended` once, from a thread; a malformed frame is an end too."""
    Thread(target=_read, args=(fd, deliver, ended), name="frames", daemon=True).start()


def _read(fd: int, deliver: Callable[[ToHostFrame], None], ended: Callable[[], None]) -> None:
    try:
        with os.fdopen(fd, "rb") as stream:
            while (line := stream.readline(MAX_FRAME_BYTES + 1)).endswith(b"\n"):
                deliver(TO_HOST.validate_json(line))
    except (OSError, ValidationError) as error:
        print(f"the frame pipe broke: {type(error).__name__}", file=sys.stderr)  # noqa: T201 - stderr is our log
    finally:
        ended()


class FrameWriter(PacedWriter):
    """The only writer of frames. `send` never waits; `drain` waits while the runtime is behind."""

    @classmethod
    async def open(cls, fd: int) -> FrameWriter:
        stream = os.fdopen(fd, "wb", buffering=0)
        _, writer = await asyncio.get_running_loop().connect_write_pipe(cls, stream)
        return writer

    def send(self, frame: ContractModel) -> None:
        """Raises `ValueError` for a frame that is too long; does nothing once the runtime is gone."""
        line = encode(frame)
        if self.transport is not None:
            self.transport.write(line)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    async def drain(self) -> None:
        await self.room.wait()
