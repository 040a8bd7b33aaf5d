"""The runtime's end of a host's output: lines whole however they are cut, room for those who are behind, and an end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.harness.frame_pipe import FramePipe, spawn_with_frames
from holaboss_runtime.harness.frames import MAX_FRAME_BYTES
from holaboss_runtime.harness.host_process import QUEUED_EVENTS, CarriedRun
from holaboss_runtime.harness.toolbox import Caller
from holaboss_runtime.processes import child_environment, terminate_group
from tests.runtime.harness.conftest import BuildPackage
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio

LINES = [b"one", b"", "zwölf".encode(), b"x" * 100_000, b"last"]


@asynccontextmanager
async def child(program: str, frames: FramePipe) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await spawn_with_frames(
        [sys.executable, "-c", program], frames, environment=child_environment(), folder=os.sep
    )
    try:
        yield process
    finally:
        frames.drop()
        await terminate_group(process, 1.0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 65_536])
async def test_lines_are_whole_however_they_are_cut(size: int) -> None:
    taken = list[bytes]()
    pipe = FramePipe(taken.append)
    whole = b"".join(line + b"\n" for line in LINES) + b"half a line"
    for start in range(0, len(whole), size):
        pipe.data_received(whole[start : start + size])
    assert taken == LINES
    pipe.end()
    await pipe.over()


async def test_every_line_of_a_child_comes_and_then_the_end() -> None:
    taken = list[bytes]()
    frames = FramePipe(taken.append)
    async with child("for n in range(20_000): print(n)", frames) as process:
        await asyncio.wait_for(frames.over(), PATIENCE_S)
        assert taken == [str(number).encode() for number in range(20_000)]
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0


async def test_what_cannot_be_used_ends_the_pipe_but_not_the_reading() -> None:
    seen = list[bytes]()

    def take(line: bytes) -> None:
        seen.append(line)
        raise ValueError("not a frame")

    frames = FramePipe(take)
    # Far more than a pipe holds: a child that nobody reads any more would never end.
    async with child("for n in range(200_000): print(n)", frames) as process:
        with pytest.raises(ValueError, match="not a frame"):
            await asyncio.wait_for(frames.over(), PATIENCE_S)
        frames.drop()
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    assert seen == [b"0"]


async def test_a_line_that_is_too_long_ends_the_pipe() -> None:
    taken = list[bytes]()
    frames = FramePipe(taken.append)
    program = (
        f"import sys\nsys.stdout.write('x' * {MAX_FRAME_BYTES + 10})\nsys.stdout.flush()\nsys.stdin.read()"
    )
    async with child(program, frames):
        with pytest.raises(ValueError, match="more than"):
            await asyncio.wait_for(frames.over(), PATIENCE_S)
    assert taken == []


async def test_a_paused_pipe_is_read_no_further_until_it_goes_on() -> None:
    taken = list[bytes]()
    frames = FramePipe(taken.append)
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    reader = os.fdopen(receiving, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(asyncio.Protocol, reader)
    frames.attach(transport)
    try:
        os.write(sending, b"first\n")
        while not taken:  # noqa: ASYNC110 - the bytes are there: a few steps of the loop bring them
            await asyncio.sleep(0)
        frames.pause()
        filled = _fill(sending)
        for _ in range(20):
            await asyncio.sleep(0)
        assert (taken, frames.paused) == ([b"first"], True)
        assert _fill(sending) == 0  # so whoever writes has to wait
        frames.resume()
        while len(taken) <= filled:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not frames.paused
    finally:
        os.close(sending)
        transport.close()
    await asyncio.wait_for(frames.over(), PATIENCE_S)


def _fill(pipe: int) -> int:
    """How many lines fit into it."""
    lines = 0
    with suppress(BlockingIOError):
        while os.write(pipe, b"a line of sixty-four bytes, so that whole lines fill the pipe...\n"):
            lines += 1
    return lines


async def test_a_run_whose_reader_is_behind_says_so_and_says_when_it_has_caught_up(
    package: BuildPackage,
) -> None:
    said = list[bool]()
    run = CarriedRun("r", Caller.of(package()), lambda _, behind: said.append(behind))
    event = RunnerEvent(event_type="output_delta", payload={"delta": "x", "content_index": 0, "offset": 0})
    for _ in range(QUEUED_EVENTS + 40):
        run.put(event)
    assert said == [True]
    for _ in range(QUEUED_EVENTS + 40):
        assert await run.get() is event
    assert said == [True, False]
    run.put(None)
    assert await run.get() is None


async def test_a_run_that_nobody_reads_keeps_nothing(package: BuildPackage) -> None:
    said = list[bool]()
    run = CarriedRun("r", Caller.of(package()), lambda _, behind: said.append(behind))
    event = RunnerEvent(event_type="output_delta")
    for _ in range(QUEUED_EVENTS):
        run.put(event)
    run.abandon()
    run.put(event)
    assert said == [True, False]
    reading = asyncio.ensure_future(run.get())
    await asyncio.sleep(0)
    assert not reading.done()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
