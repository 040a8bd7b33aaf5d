"""The tools of an agent in terminals, as its runs call them, and how they are judged before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.harness.contract import Mount, RunPackage
from holaboss_runtime.harness.host.toolset import toolset_of
from holaboss_runtime.harness.toolbox import Caller, ToolAnswer, Toolbox
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import ContainmentDemand, PermissionPolicy, PermissionRule
from holaboss_runtime.permissions.profiles import policy_of
from holaboss_runtime.terminals.plain import plain
from holaboss_runtime.terminals.tools import MOST_CHARS, TerminalTools
from tests.runtime.terminals.conftest import Rig

pytestmark = pytest.mark.anyio
Call = Callable[..., Awaitable[ToolAnswer]]


def caller(rig: Rig, session_id: str = "s1", **about: Any) -> Caller:
    return Caller(
        rig.workspace_id,
        session_id,
        "workspace_session",
        "input-1",
        "wake-1",
        "p",
        "m",
        workspace_dir=str(rig.folder),
        **about,
    )


@pytest.fixture
def toolbox(rig: Rig) -> Toolbox:
    box = Toolbox()
    TerminalTools(rig.terminals).register(box)
    return box


@pytest.fixture
def use(rig: Rig, toolbox: Toolbox) -> Call:
    async def call(name: str, session_id: str = "s1", **arguments: Any) -> ToolAnswer:
        return await toolbox.call(caller(rig, session_id), f"terminal_session{name}", arguments)

    return call


async def test_a_shell_from_start_to_close(rig: Rig, use: Call) -> None:
    started = await use("_start", command="PS1='$ ' bash --norc", title="Shell", cols=80, rows=24)
    terminal_id = started.details["terminal"]["terminal_id"]
    assert f"terminal_id: {terminal_id}" in started.text
    ready = await use("_wait", terminal_id=terminal_id)
    assert ready.details["timed_out"] is False

    # Nothing comes after the answer: the shell reads then, and shows no prompt.
    sent = await use("_send_input", terminal_id=terminal_id, data="echo $((6 * 7)); read -r\n")
    last = sent.details["terminal"]["last_event_seq"] - 1
    answer = await use("_wait", terminal_id=terminal_id, after_sequence=last)
    while "42" not in answer.text and not answer.details["timed_out"]:  # so far only what was typed came back
        last = answer.details["last_sequence"]
        answer = await use("_wait", terminal_id=terminal_id, after_sequence=last)
    assert "42" in answer.text
    assert "\x1b" not in answer.text
    await rig.until(terminal_id, "42\r\n")

    nothing = await use(
        "_wait",
        terminal_id=terminal_id,
        after_sequence=rig.terminals.get(terminal_id).last_event_seq,
        timeout_ms=50,
    )
    assert nothing.details["timed_out"] is True
    assert "nothing new in time" in nothing.text

    listed = await use("s_list")
    assert listed.text == f"{terminal_id}  running  Shell"
    await use("_signal", terminal_id=terminal_id, signal="INT")
    closed = await use("_close", terminal_id=terminal_id)
    assert closed.details["terminal"]["status"] == "closed"
    row = rig.records.get(terminal_id)
    assert row is not None
    assert (row.owner, row.session_id, row.input_id, row.created_by) == ("agent", "s1", "input-1", "s1")
    ended = await use("_wait", terminal_id=terminal_id, after_sequence=10_000)
    assert (ended.details["timed_out"], "status: closed" in ended.text) == (False, True)


async def test_a_wait_ends_when_the_program_does(use: Call) -> None:
    started = await use("_start", command="read line; exit 6")
    terminal_id = started.details["terminal"]["terminal_id"]
    await use("_send_input", terminal_id=terminal_id, data="go\n")
    after = (await use("_get", terminal_id=terminal_id)).details["terminal"]["last_event_seq"]
    answer = await use("_wait", terminal_id=terminal_id, after_sequence=max(0, after - 1), timeout_ms=60_000)
    while "status: running" in answer.text:
        answer = await use("_wait", terminal_id=terminal_id, after_sequence=answer.details["last_sequence"])
    assert "exit_code: 6" in answer.text


async def test_long_output_comes_in_answers_of_a_bounded_size(rig: Rig, use: Call) -> None:
    started = await use("_start", command="seq 1 20000")
    terminal_id = started.details["terminal"]["terminal_id"]
    await rig.over(terminal_id)
    text, last, more = "", 0, True
    while more:
        answer = await use("_read", terminal_id=terminal_id, after_sequence=last)
        head, _, body = answer.text.partition("\n")
        assert len(body) <= MOST_CHARS
        text, last, more = text + body, answer.details["last_sequence"], "there is more" in head
    assert text.replace("\n", "") == "".join(map(str, range(1, 20001)))


async def test_terminals_of_others_are_not_there(rig: Rig, use: Call) -> None:
    persons = await rig.start("sleep 321")
    others = await use("_start", "s2", command="sleep 322")
    for terminal_id in (persons.terminal_id, others.details["terminal"]["terminal_id"], "nothing"):
        for name, more in (
            ("_get", {}),
            ("_read", {}),
            ("_wait", {}),
            ("_send_input", {"data": "x"}),
            ("_signal", {"signal": "KILL"}),
            ("_close", {}),
        ):
            answer = await use(name, terminal_id=terminal_id, **more)
            assert (answer.error, answer.details) == (True, {"code": "terminal_not_found"})
    assert (await use("s_list")).text == "There are no terminals."
    assert rig.terminals.get(persons.terminal_id).status == "running"


async def test_a_terminal_can_do_no_more_than_the_run(rig: Rig, toolbox: Toolbox) -> None:
    demand = PermissionPolicy(containment=ContainmentDemand(required=True, network="off"))
    mount = Mount(mount_path="/workspace", source=str(rig.folder), access="read_only")
    run = caller(rig, permissions=demand, mounts=(mount,))
    arguments = {"command": "echo x > mine; echo done"}
    answer = await toolbox.call(run, "terminal_session_start", arguments)
    shown = answer.details["terminal"]
    assert "done" in await rig.said(shown["terminal_id"])
    assert (shown["containment"], shown["network"]) == ("bubblewrap", "off")
    assert not (rig.folder / "mine").exists()


@pytest.mark.parametrize("containment", ["not held"], indirect=True)
async def test_what_a_run_demands_is_not_left_out(
    rig: Rig, toolbox: Toolbox, containment: Containment
) -> None:
    run = caller(rig, permissions=policy_of("unattended"))
    answer = await toolbox.call(run, "terminal_session_start", {"command": "true"})
    assert (answer.error, answer.details) == (True, {"code": "terminal_not_contained"})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_start", {"command": ""}),
        ("_start", {"command": "x", "cols": 19}),
        ("_start", {"command": "x", "rows": 201}),
        ("_start", {"command": "x", "owner": "user"}),
        ("_wait", {"terminal_id": "x", "timeout_ms": 60_001}),
        ("_read", {"terminal_id": "x", "limit": 1_001}),
        ("_signal", {"terminal_id": "x"}),
    ],
)
async def test_arguments_out_of_bounds(use: Call, name: str, arguments: dict[str, Any]) -> None:
    answer = await use(name, **arguments)
    assert answer.error
    assert answer.text.startswith("The arguments are not valid.")


async def test_a_signal_nobody_knows(rig: Rig, use: Call) -> None:
    started = await use("_start", command="sleep 323")
    terminal_id = started.details["terminal"]["terminal_id"]
    for name in ("SEGV", "9", "STOP"):
        answer = await use("_signal", terminal_id=terminal_id, signal=name)
        assert answer.details == {"code": "signal_unknown"}


# How they are judged


async def test_they_are_found_by_searching_and_judged_like_commands(toolbox: Toolbox) -> None:
    async def never(_name: str, _arguments: dict[str, Any]) -> Any:
        raise AssertionError

    package = RunPackage.model_construct(
        tools=[],
        runtime_tools=toolbox.definitions("workspace_session"),
        workspace_skill_dirs=[],
        web_search=None,
    )
    tools = toolset_of(package, never)
    assert set(tools) == {
        f"terminal_session{name}"
        for name in ("s_list", "_get", "_read", "_wait", "_start", "_send_input", "_signal", "_close")
    }
    assert all(tool.hidden for tool in tools.values())

    def verdict(policy: PermissionPolicy, name: str, **arguments: Any) -> str:
        return decide(policy, tools[f"terminal_session{name}"].facts(arguments)).effect

    forbidding = PermissionPolicy(rules=[PermissionRule(effect="deny", command="rm")])
    assert verdict(forbidding, "_start", command="sudo rm -rf x") == "deny"
    assert verdict(forbidding, "_send_input", terminal_id="t", data="cd / && rm x\n") == "deny"
    assert verdict(forbidding, "_start", command="ls") == "always_allow"
    trusted = policy_of("trusted")
    assert verdict(trusted, "_start", command="ls") == "always_ask"
    assert verdict(trusted, "_send_input", terminal_id="t", data="ls\n") == "always_ask"
    assert verdict(trusted, "_close", terminal_id="t") == "always_ask"
    assert verdict(trusted, "_read", terminal_id="t") == "always_allow"
    assert verdict(policy_of("read-only"), "_start", command="ls") == "deny"
    assert verdict(policy_of("read-only"), "_wait", terminal_id="t") == "always_allow"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
        ("a\r\nb\r\n", "a\nb\n"),
        (" 10%\r 50%\r100%\n", "100%\n"),
        ("abc\x08\x08X", "aX"),
        ("ls -x\x08 \x08l\n", "ls -l\n"),
        ("\x1b[?2004hbash$ \x1b[", "bash$ "),
        ("tab\tstays\x07\x00\x9b", "tab\tstays"),
        ("\x1b(B\x1b=\x1b>x", "x"),
    ],
)
def test_plain_text(printed: str, shown: str) -> None:
    assert plain(printed) == shown


def test_plain_text_of_anything_takes_its_time_and_no_more() -> None:
    for piece in ("\x1b]", "\x08", "a\x08", "\x1b[", "\x1b[0", "\r", "\x1bP\x1b"):
        assert len(plain(piece * 50_000)) <= 100_000
