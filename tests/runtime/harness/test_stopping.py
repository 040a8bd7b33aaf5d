"""A stop is heeded also when it comes in the very moment in which what was waited for has come.

`asyncio.wait_for` of Python 3.11 loses it then: a run goes on that was stopped, and a lost host is never replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holaboss_runtime.containment import forwarder
from holaboss_runtime.harness.host import commands
from holaboss_runtime.harness.host_process import HostProcess
from holaboss_runtime.harness.services import HostServices
from holaboss_runtime.harness.toolbox import Toolbox

pytestmark = pytest.mark.anyio

STEPS = 6
Waiting = tuple[Coroutine[Any, Any, object], Callable[[], object]]


def a_command() -> Waiting:
    ended = asyncio.Event()
    process = cast("asyncio.subprocess.Process", SimpleNamespace(wait=ended.wait))
    return commands._finished(process, 60.0), ended.set


def the_watch_over_a_host() -> Waiting:
    host = HostProcess(Toolbox(), HostServices())
    host._process = cast("asyncio.subprocess.Process", SimpleNamespace(stdin=None))
    host._busy.set()
    return host._watch(60.0), host._heard.set


def a_tunnel() -> Waiting:
    reader = asyncio.StreamReader()

    async def drain() -> None: ...

    writer = cast("asyncio.StreamWriter", SimpleNamespace(write=lambda _: None, drain=drain))
    return forwarder._copy(reader, writer), lambda: reader.feed_data(b"more")


@pytest.mark.parametrize("begin", [a_command, the_watch_over_a_host, a_tunnel])
@pytest.mark.parametrize("steps", range(STEPS))
async def test_a_stop_is_not_lost(begin: Callable[[], Waiting], steps: int) -> None:
    work, it_comes = begin()
    task = asyncio.create_task(work)
    for _ in range(STEPS):
        await asyncio.sleep(0)
    it_comes()
    for _ in range(steps):
        await asyncio.sleep(0)
    if task.cancel():  # otherwise it is over
        await asyncio.wait({task}, timeout=60.0)
        assert task.cancelled()
