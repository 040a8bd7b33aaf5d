"""The host child on its own, driven over its pipes: what it does when its input ends or is nonsense."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.harness.frames import HostEvent, RunStart, encode
from holaboss_runtime.harness.host.pipes import FrameWriter
from holaboss_runtime.processes import (
    child_environment,
    is_ending,
    self_command,
    terminate_group,
)
from tests.runtime.harness.conftest import KEY, BuildPackage, sleepers
from tests.support.exposure import carries
from tests.support.processes import PATIENCE_S, wait_until_gone
from tests.support.scripted_provider import ScriptedProvider, call

pytestmark = pytest.mark.anyio


@pytest.fixture
async def child() -> AsyncIterator[asyncio.subprocess.Process]:
    async with harness_host() as process:
        yield process


@asynccontextmanager
async def harness_host() -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *self_command("harness-host"),
        env=child_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    yield process
    if process.returncode is None:
        await terminate_group(process, 1.0)
    process._transport.close()  # type: ignore[attr-defined]  # closes the pipes now, not with the loop


async def next_frame(child: asyncio.subprocess.Process) -> dict[str, Any]:
    assert child.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        return json.loads(await child.stdout.readline())


async def test_the_first_frame_says_that_the_host_is_warm(child: asyncio.subprocess.Process) -> None:
    hello = await next_frame(child)
    assert hello["kind"] == "hello"
    assert hello["pid"] == child.pid
    assert "bash" in hello["tools"]


@pytest.mark.parametrize("contained", [True, False])
async def test_the_end_of_input_ends_everything(
    contained: bool, request: pytest.FixtureRequest, provider: ScriptedProvider, package: BuildPackage
) -> None:
    if not contained:
        request.getfixturevalue("no_bubblewrap")
    async with harness_host() as child:
        await _end_while_busy(child, provider, package)


async def _end_while_busy(
    child: asyncio.subprocess.Process, provider: ScriptedProvider, package: BuildPackage
) -> None:
    await next_frame(child)
    assert child.stdin is not None
    provider.enqueue(call("bash", command="(setsid sh -c 'sleep 1000' &) ; sleep 1000 & sleep 1000"))
    child.stdin.write(encode(RunStart(run_id="r", package=package())))
    started = await sleepers(child.pid, 3)
    assert [carries(pid, KEY) for pid in (child.pid, *started)] == [[]] * (1 + len(started))
    child.stdin.close()
    async with asyncio.timeout(PATIENCE_S):
        await child.wait()
    assert not wait_until_gone(started)


async def test_the_end_of_input_while_it_warms_up_ends_it_too(child: asyncio.subprocess.Process) -> None:
    assert child.stdin is not None
    child.stdin.close()
    async with asyncio.timeout(PATIENCE_S):
        await child.wait()


async def test_a_malformed_frame_ends_it(child: asyncio.subprocess.Process) -> None:
    await next_frame(child)
    assert child.stdin is not None
    child.stdin.write(b'{"kind": "run.start", "run_id": 7}\n')
    async with asyncio.timeout(PATIENCE_S):
        await child.wait()


async def test_the_writer_holds_up_a_run_while_nobody_reads() -> None:
    receiving, sending = os.pipe()
    writer = await FrameWriter.open(sending)
    await asyncio.wait_for(writer.drain(), PATIENCE_S)
    big = HostEvent(
        run_id="r", event=RunnerEvent(event_type="output_delta", payload={"delta": "x" * 500_000})
    )
    writer.send(big)
    held_up = asyncio.ensure_future(writer.drain())
    await asyncio.wait({held_up}, timeout=0.05)
    assert not held_up.done()
    with os.fdopen(receiving, "rb") as stream:
        line = await asyncio.to_thread(stream.readline)
    assert json.loads(line)["run_id"] == "r"
    await held_up
    writer.close()


def test_a_child_environment_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("_PYI_ARCHIVE_FILE", "x")
    monkeypatch.setenv("LC_TIME", "C")
    environment = child_environment(EXTRA="1")
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["LC_TIME"] == "C"
    assert environment["EXTRA"] == "1"
    assert KEY not in environment.values()
    assert not any(name.startswith("_PYI") for name in environment)


def test_a_frozen_program_gives_children_the_library_path_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/bundle")
    assert "LD_LIBRARY_PATH" not in child_environment()
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/usr/local/lib")
    assert child_environment()["LD_LIBRARY_PATH"] == "/usr/local/lib"
    assert self_command("serve", "-v") == [sys.executable, "serve", "-v"]


async def test_a_group_that_ignores_a_request_is_killed() -> None:
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done",
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    await process.stdout.readline()
    await terminate_group(process, 0.2)
    async with asyncio.timeout(PATIENCE_S):  # dying takes a busy machine longer than the grace
        assert await process.wait() == -9
    await process.stdout.read()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_process_that_is_ending_is_known_before_anybody_collects_it() -> None:
    with subprocess.Popen(["/bin/sleep", "1000"]) as process:
        assert not is_ending(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_ending(process.pid)
    assert is_ending(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_what_a_script_has_us_ignore_is_not_handed_on() -> None:
    """`nohup` and `&` in a script make a program ignore signals, and everything it starts."""
    child = "print(next(line for line in open('/proc/self/status') if line.startswith('SigIgn:')).split()[1])"
    ours = (
        "import signal, subprocess, sys; from holaboss_runtime.processes import keep_what_is_ignored;"
        "keep_what_is_ignored(); signal.raise_signal(signal.SIGINT); signal.raise_signal(signal.SIGHUP);"
        f"sys.exit(subprocess.run([sys.executable, '-I', '-c', {child!r}]).returncode)"
    )
    ignoring = ["/bin/sh", "-c", "trap '' INT HUP QUIT; exec \"$@\"", "sh", sys.executable, "-c", ours]
    said = subprocess.run(ignoring, stdout=subprocess.PIPE, text=True, check=True).stdout
    by_python_itself = 1 << 12 | 1 << 24  # SIGPIPE and SIGXFSZ
    assert int(said, 16) & ~by_python_itself == 0
