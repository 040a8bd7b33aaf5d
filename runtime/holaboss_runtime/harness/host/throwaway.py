"""Throw-away processes of this program that do for a tool what must not be done in the host: they can be ended.

A helper gets a question as JSON on its standard input and answers with JSON lines. It is our own code working on data
that nobody vouches for, so its time, its memory and what it says are bounded. Commands of a model run elsewhere
(`commands`), contained.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from typing import Any, Literal, cast

from holaboss_runtime.harness.host.bounded_answer import bounded_answer
from holaboss_runtime.processes import OWNER_VARIABLE, child_environment, owner_of, self_command

HelperName = Literal["search", "web-search"]

MAX_ANSWER_BYTES = 8 * 1024 * 1024


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
    question_bytes = json.dumps(question).encode()
    answer = await bounded_answer(process, question_bytes, timeout_s=timeout_s, max_bytes=MAX_ANSWER_BYTES)
    return HelperAnswer(_objects(answer.output), answer.whole, answer.timed_out)


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
