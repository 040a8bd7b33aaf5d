"""What a throw-away child answers to one question, within bounds of time and size. It is gone afterwards."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from holaboss_runtime.processes import kill_group

_CHUNK = 64 * 1024
_REAP_S = 2.0


@dataclass(frozen=True, slots=True)
class BoundedAnswer:
    """`output` is at most as long as was allowed; `whole` is False when it was cut, late or the child ended badly."""

    output: bytes
    exit_code: int | None
    timed_out: bool
    whole: bool


async def bounded_answer(
    process: asyncio.subprocess.Process, question: bytes, *, timeout_s: float, max_bytes: int
) -> BoundedAnswer:
    """`process` leads its group and has pipes for input and output. Cancelling this ends it, too."""
    output = bytearray()
    timed_out = False
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(_send(process, question), _hear(process, output, max_bytes))
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        kill_group(process.pid)
        await _reap(process)
    whole = process.returncode == 0 and not timed_out and len(output) <= max_bytes
    return BoundedAnswer(bytes(output[:max_bytes]), process.returncode, timed_out, whole)


async def _send(process: asyncio.subprocess.Process, question: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(question)
        await process.stdin.drain()
    process.stdin.close()


async def _hear(process: asyncio.subprocess.Process, output: bytearray, max_bytes: int) -> None:
    assert process.stdout is not None
    while len(output) <= max_bytes and (chunk := await process.stdout.read(_CHUNK)):
        output += chunk
    if len(output) > max_bytes:
        kill_group(process.pid)


async def _reap(process: asyncio.subprocess.Process) -> None:
    """A killed process is gone at once; what is left in its pipe is read, or asyncio would wait for it."""
    assert process.stdout is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(_REAP_S):
            while await process.stdout.read(_CHUNK):
                pass
            await process.wait()
