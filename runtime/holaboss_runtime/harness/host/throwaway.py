"""Throw-away processes of this program that do for a tool what must not be done in the host: they can be ended.

A helper gets a question as JSON on its standard input and answers with JSON lines. It is our own code working on data
that nobody vouches for, so its time, its memory and what it says are bounded. Commands of a model run elsewhere
(`commands`), contained.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from holaboss_runtime.processes import OWNER_VARIABLE, child_environment, kill_group, owner_of, self_command

HelperName = Literal["search", "web-search"]

MAX_ANSWER_BYTES = 8 * 1024 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class HelperAnswer:
    """The JSON objects a helper said, as far as it came. `finished` is False when it was ended or ended badly."""

    said: list[dict[str, Any]]
    finished: bool
    timed_out: bool = False


async def ask_helper(name: HelperName, question: dict[str, Any], timeout_s: float) -> HelperAnswer:
    """Never raises for what goes wrong in the helper. Cancelling it ends the process."""
    process = await asyncio.create_subprocess_exec(
        *self_command("tool-helper", name),
        env=child_environment(**{OWNER_VARIABLE: owner_of(os.getpid()), "PYTHONIOENCODING": "utf-8"}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    output = bytearray()
    timed_out = False
    try:
        async with asyncio.timeout(timeout_s):
            await _converse(process, json.dumps(question).encode(), output)
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        kill_group(process.pid)
        await _reap(process)
    finished = process.returncode == 0 and not timed_out and len(output) <= MAX_ANSWER_BYTES
    return HelperAnswer(_objects(bytes(output[:MAX_ANSWER_BYTES])), finished, timed_out)


async def _converse(process: asyncio.subprocess.Process, question: bytes, output: bytearray) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(question)
        await process.stdin.drain()
    process.stdin.close()
    while len(output) <= MAX_ANSWER_BYTES and (chunk := await process.stdout.read(_CHUNK)):
        output += chunk
    if len(output) > MAX_ANSWER_BYTES:
        kill_group(process.pid)


async def _reap(process: asyncio.subprocess.Process) -> None:
    """A killed process is gone at once; what is left in its pipe is read, or asyncio would wait for it."""
    assert process.stdout is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(2):
            while await process.stdout.read(_CHUNK):
                pass
            await process.wait()


def _objects(output: bytes) -> list[dict[str, Any]]:
    """Whole lines only: the last one may have been cut off."""
    found: list[dict[str, Any]] = []
    for line in output.split(b"\n")[:-1]:
        try:
            said: object = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            found.append(cast("dict[str, Any]", said))
    return found
