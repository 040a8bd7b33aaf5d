"""Commands that go on in the background: what they print, how they end, and that they end with their run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.harness.host.background import MAX_OF_A_RUN, run_name
from holaboss_runtime.harness.host.output import MAX_OUTPUT_BYTES, MAX_UNREAD_BYTES, Ends, Unread
from holaboss_runtime.harness.host.tools.bash import BASH
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.decisive import PLAN, decisive_names
from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule
from holaboss_runtime.processes import become_subreaper
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.processes import descendants, wait_until_gone
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio
Use = Callable[..., Any]


@pytest.fixture(params=["held", "not held"])
async def bash(workspace: Path, request: pytest.FixtureRequest) -> AsyncIterator[Use]:
    become_subreaper()  # as a host is
    # The host of the module is there once a test has asked for it.
    before = {process.pid for process in descendants(os.getpid())}
    containment = Containment()
    if request.param == "held":
        containment = await probe()
        if not containment.active:
            pytest.skip("this machine cannot contain commands")
        # What it tried may still be dying; the next command would collect it, but not every test runs one.
        tried = [process.pid for process in descendants(os.getpid(), without=before)]
        await asyncio.to_thread(wait_until_gone, tried)
    sandbox = local_sandbox(workspace, containment=containment)

    async def use(**arguments: Any) -> ToolOutcome:
        return await sandbox.execute("bash", arguments)

    yield use
    inside = sandbox._workspace
    assert inside is not None
    await inside.commands.background.end(run_name(inside.package))
    assert not descendants(os.getpid(), without=before)


async def until(bash: Use, name: str, text: str) -> str:
    said = ""
    while text not in said:
        said += (await bash(id=name, timeout=5)).text
    return said


async def test_it_goes_on_and_says_what_is_new(bash: Use, workspace: Path) -> None:
    started = await bash(
        command="echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3", background=True
    )
    assert not started.error
    name = started.details["id"]
    assert started.details["running"]
    assert "it still runs" in await until(bash, name, "one")
    assert (await bash(id=name, timeout=0.01)).text == "[it still runs]"
    assert (await bash(command="echo beside; touch go")).text == "beside"
    said = await until(bash, name, "exit code 3")
    assert "two" in said
    assert "one" not in said, "what was read is not said again"
    ended = await bash(id=name)
    assert (ended.text, ended.details["running"], ended.details["exit_code"]) == ("[exit code 3]", False, 3)


async def test_it_can_be_stopped(bash: Use) -> None:
    before = {process.pid for process in descendants(os.getpid())}
    name = (await bash(command="echo up; (setsid sleep 1000 &); sleep 1000", background=True)).details["id"]
    await until(bash, name, "up")
    stopped = await bash(id=name, stop=True)
    assert stopped.text == "[stopped]"
    assert not stopped.details["running"]
    assert not descendants(os.getpid(), without=before)
    assert (await bash(id=name)).text == "[stopped]"


async def test_its_output_is_bounded(bash: Use) -> None:
    name = (
        await bash(command="head -c 2000000 /dev/zero | tr '\\0' x; echo; echo end", background=True)
    ).details["id"]
    said = ""
    while "[ended]" not in said:
        said = (await bash(id=name, timeout=5)).text
        assert len(said) < MAX_OUTPUT_BYTES + 200
    assert "end" in said


async def test_there_are_only_so_many(bash: Use) -> None:
    for _ in range(MAX_OF_A_RUN):
        assert not (await bash(command="sleep 1000", background=True)).error
    assert "Stop one first" in (await bash(command="sleep 1000", background=True)).text
    assert not (await bash(id="bg1", stop=True)).error
    assert not (await bash(command="sleep 1000", background=True)).error


@pytest.mark.parametrize(
    "arguments",
    [{}, {"command": "true", "id": "bg1"}, {"stop": True, "command": "true"}, {"id": "bg1"}, {"id": "../x"},
     {"command": "true", "timeout": 0}, {"command": ""}, {"id": "x" * 50}, {"command": "true", "cwd": "/"}],
)  # fmt: skip
async def test_what_makes_no_sense_is_said(bash: Use, arguments: dict[str, Any]) -> None:
    outcome = await bash(**arguments)
    assert outcome.error
    assert outcome.text


async def test_it_ends_with_its_run(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    provider.enqueue(
        call("bash", command="touch started; sleep 1000; touch late", background=True),
        call("bash", command="while [ ! -e started ]; do sleep 0.01; done"),
        say("Done."),
    )
    events = await listener.run(package())
    assert events[-1].payload["status"] == "success"
    assert (workspace / "started").exists()
    assert not [process for process in descendants(os.getpid()) if "sleep" in process.command]


def test_what_a_call_is_about() -> None:
    assert BASH.facts({"command": "git push"}).command == "git push"
    assert BASH.facts({"id": "bg1", "command": "git push"}).command == "git push", (
        "the tool refuses it anyway"
    )
    looking = BASH.facts({"id": "bg1"})
    assert (looking.command, looking.read_only) == (None, True)


def test_what_a_command_may_not_write() -> None:
    assert decisive_names(PermissionPolicy()) == (PLAN,)
    rule = PermissionRule(effect="always_ask", tool="write")
    assert decisive_names(PermissionPolicy(rules=[rule])) == (PLAN, "AGENTS.md", "skills", ".agents", "apps")


def test_the_ends_and_the_whole() -> None:
    output = Ends()
    for number in range(20_000):
        output.add(f"{number}\n".encode())
    text = output.text()
    assert text.startswith("0\n1\n")
    assert text.endswith("19999\n")
    left_out = int(text.split("[… ")[1].split(" bytes")[0].replace(",", ""))
    assert output.total == left_out + MAX_OUTPUT_BYTES
    assert output.whole() == "".join(f"{number}\n" for number in range(20_000))
    short = Ends()
    short.add(b"abc")
    assert (short.text(), short.is_cut) == ("abc", False)
    exact = Ends()
    exact.add(b"x" * MAX_OUTPUT_BYTES)
    assert exact.text() == "x" * MAX_OUTPUT_BYTES


def test_what_nobody_reads_is_dropped_from_the_front() -> None:
    output = Unread()
    for number in range(100_000):
        output.add(f"{number:07}\n".encode())
    first = output.take()
    assert "bytes of output were not kept" in first
    said = [first]
    while output.news.is_set():
        said.append(output.take())
    assert said[-1].splitlines()[-1] == "0099999"
    assert sum(len(part) for part in said) < MAX_UNREAD_BYTES + 2000
