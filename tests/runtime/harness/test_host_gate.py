"""The gate of a real host: what it lets through, asks about and refuses, and what it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import PartDeltaEvent, ToolCallPartDelta

from holaboss_runtime.harness.contract import RunLimits, WireProtocol
from holaboss_runtime.harness.host.answer_bound import AnswerBound
from holaboss_runtime.harness.host.failures import AnswerTooLargeError
from holaboss_runtime.harness.host.gate import MAX_ARGUMENT_BYTES, MAX_CALLS_PER_ANSWER, MAX_DENIALS
from holaboss_runtime.harness.host.loop_guard import ANSWERED_AT, FAILED_AT
from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule
from holaboss_runtime.permissions.profiles import policy_of
from tests.runtime.harness.asking import (
    PROTOCOLS,
    answers_sent,
    bash,
    calls,
    decide,
    ending,
    history,
    policy,
    steps,
    told,
    waiting,
)
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.scripted_provider import Answer, Reply, ScriptedProvider, ToolCall, call, say

pytestmark = pytest.mark.anyio


def texts(events: list[Any]) -> list[str]:
    return [payload["result"]["content"][0]["text"] for payload in told(events, "completed")]


def always(reply: Callable[[], Reply]) -> Callable[[Any], Reply]:
    return lambda _: reply()


async def test_the_asking_profile_end_to_end(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    (workspace / "a.md").write_text("one\n")
    made = (
        bash("cat a.md | sort"),
        ToolCall("write", {"path": "b.md", "content": "two"}),
        bash("touch c.md"),
        ToolCall("write", {"path": "workspace.yaml", "content": "x"}),
    )
    provider.enqueue(calls(*made), say("Done."))
    first = waiting(await listener.run(package(permissions=policy_of("ask"))))
    assert (workspace / "b.md").read_text() == "two"
    assert not (workspace / "c.md").exists()
    command, plan = first.pending
    assert command.reason == "touch is not on the list of commands that run without asking."
    assert [rule.command for rule in command.suggestions] == ["touch c.md", "touch"]
    assert plan.reason == "It changes workspace.yaml, which decides what runs here."
    assert [(rule.tool, rule.path) for rule in plan.suggestions] == [("write", "workspace.yaml")]
    resumed = await listener.run(
        package(
            "",
            permissions=policy_of("ask"),
            history=history(first),
            decisions=[decide(command), decide(plan, "denied")],
        )
    )
    assert ending(resumed)[0] == "success"
    assert (workspace / "c.md").exists()
    assert not (workspace / "workspace.yaml").exists()


async def test_a_kept_suggestion_is_not_asked_again(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    provider.enqueue(calls(bash("mkdir a")), calls(bash("mkdir b")), calls(bash("mkdir c && rmdir a")))
    first = waiting(await listener.run(package(permissions=policy_of("ask"))))
    asking = policy_of("ask")
    kept = asking.model_copy(update={"rules": [*asking.rules, first.pending[0].suggestions[-1]]})
    second = waiting(await listener.run(package("Again", permissions=kept)))
    assert [each.tool_args["command"] for each in second.pending] == ["mkdir c && rmdir a"]
    assert not (workspace / "a").exists(), "it was asked about and never decided"
    assert (workspace / "b").is_dir()
    assert not (workspace / "c").exists()


async def test_where_nobody_watches_what_would_be_asked_is_refused(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(calls(bash("git push")), say("I cannot."))
    status, result = ending(await listener.run(package(permissions=policy_of("unattended"))))
    assert (status, result.pending) == ("success", [])
    (denial,) = result.denials
    assert denial.reason == "git push can send things out of this machine or change the system."
    assert "Nobody is there to be asked." in answers_sent(provider.requests[-1].body)[0][1]


async def test_a_link_does_not_hide_what_is_written(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    (workspace / "workspace.yaml").write_text("kept\n")
    (workspace / "harmless.md").symlink_to("workspace.yaml")
    (workspace / "skills").mkdir()
    (workspace / "docs").symlink_to("skills")
    made = (
        ToolCall("write", {"path": "harmless.md", "content": "x"}),
        ToolCall("edit", {"path": "./harmless.md", "old_text": "kept", "new_text": "x"}),
        ToolCall("write", {"path": "docs/a/SKILL.md", "content": "x"}),
        ToolCall("write", {"path": str(workspace / "workspace.yaml"), "content": "x"}),
        ToolCall("write", {"path": "/workspace/workspace.yaml", "content": "x"}),
        ToolCall("write", {"path": "a/../workspace.yaml", "content": "x"}),
    )
    provider.enqueue(calls(*made))
    first = waiting(await listener.run(package(permissions=policy_of("ask"))))
    assert len(first.pending) == len(made)
    assert (workspace / "workspace.yaml").read_text() == "kept\n"


def test_facts_name_real_places_and_survive_junk(workspace: Path) -> None:
    (workspace / "secret").mkdir()
    (workspace / "link").symlink_to("secret")
    sandbox = local_sandbox(workspace)
    assert sandbox.facts("read", {"path": "link/a"}).reads == ("secret/a",)
    assert sandbox.facts("read", {"path": "../../etc/passwd"}).reads == ("../../etc/passwd",)
    assert sandbox.facts("grep", {"pattern": "x", "hidden": True}).reads == (".", ".env")
    assert sandbox.facts("ls", {}).reads == (".",)
    assert sandbox.facts("bash", {"command": "ls"}).command == "ls"
    for junk in ({}, {"path": 3}, {"path": None}, {"path": "a\0b"}, {"path": ["x"]}, {"path": "x" * 10_000}):
        for name in ("read", "write", "edit", "ls", "grep", "find"):
            assert sandbox.facts(name, junk).tool == name


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_same_call_over_and_over_is_answered_and_then_ends_the_run(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.respond_with(always(lambda: call("ls", path=".")))
    events = await listener.run(package(protocol=protocol))
    status, result = ending(events)
    assert status == "tool_loop"
    assert len(provider.requests) == FAILED_AT
    assert "made the same call again and again" in events[-1].payload["message"]
    answered = [text.startswith("You have made this very call 2 times") for text in texts(events)]
    assert answered == [False] * (ANSWERED_AT - 1) + [True] * (FAILED_AT - ANSWERED_AT)
    provider.respond_with(always(lambda: say("Better.")))
    again = await listener.run(package("Go on", protocol=protocol, history=history(result)))
    assert ending(again)[0] == "success"


async def test_another_call_or_another_result_is_no_loop(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    made = [call("ls"), call("ls"), call("ls", path="."), call("ls"), call("ls")]
    growing = [call("bash", command="echo x >> log; wc -l log") for _ in range(8)]
    polling = [call("bash", id="none") for _ in range(8)]
    provider.enqueue(*made, *growing, *polling, say("Done."))
    events = await listener.run(package())
    assert ending(events)[0] == "success"
    assert not any("this very call" in text for text in texts(events))


async def test_a_call_refused_over_and_over_is_a_loop_too(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.respond_with(always(lambda: calls(bash("make"))))
    status, result = ending(await listener.run(package(permissions=policy(bash="deny"))))
    assert (status, len(result.denials)) == ("tool_loop", ANSWERED_AT - 1)


async def test_an_approved_call_runs_whatever_came_before(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    asking = PermissionPolicy(rules=[PermissionRule(effect="always_ask", tool="bash", command="tee")])
    made = "echo x | tee -a log"
    provider.enqueue(calls(*[bash(made) for _ in range(4)]), say("Done."))
    first = waiting(await listener.run(package(permissions=asking)))
    decisions = [decide(each) for each in first.pending]
    resumed = await listener.run(package("", permissions=asking, history=history(first), decisions=decisions))
    assert ending(resumed)[0] == "success"
    assert (workspace / "log").read_text() == "x\n" * 4


async def test_refusals_without_end_end_the_run(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    count = iter(range(1000))
    provider.respond_with(always(lambda: calls(*[bash(f"make {next(count)}") for _ in range(7)])))
    status, result = ending(await listener.run(package(permissions=policy(bash="deny"))))
    assert (status, len(result.denials)) == ("permission_denied_repeatedly", MAX_DENIALS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_ten_megabytes_of_arguments_are_an_error_and_are_not_kept(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    huge = ToolCall("write", {"path": "a", "content": "x" * 10_000_000})
    small = ToolCall("write", {"path": "b", "content": "y"})
    provider.enqueue(Answer(calls(huge, small), argument_size=64 * 1024), say("I see."))
    events = await listener.run(package(protocol=protocol))
    status, result = ending(events)
    assert status == "success"
    assert any(text.startswith("The arguments are too large: 10,0") for text in texts(events))
    assert not (workspace / "a").exists()
    assert (workspace / "b").read_text() == "y"
    assert len(json.dumps(provider.requests[-1].body)) < MAX_ARGUMENT_BYTES
    assert len(result.model_dump_json()) < MAX_ARGUMENT_BYTES
    assert max(len(event.model_dump_json()) for event in events[:-1]) < 64 * 1024


async def test_a_model_that_asks_for_everything_at_once_gets_some_of_it(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    made = [ToolCall("read", {"path": f"missing-{number}"}) for number in range(MAX_CALLS_PER_ANSWER + 5)]
    provider.enqueue(calls(*made), say("I see."))
    events = await listener.run(package())
    assert ending(events)[0] == "success"
    assert sum(text.startswith("These are too many calls at once") for text in texts(events)) == 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_unknown_tool_is_told_and_ends_at_last(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(calls(ToolCall("fly", {"to": "moon"})), say("I see."))
    events = await listener.run(package(protocol=protocol))
    assert ending(events)[0] == "success"
    (told_to_model,) = [text for _, text in answers_sent(provider.requests[-1].body)]
    assert "fly" in told_to_model
    assert "bash" in told_to_model, "it is told what there is"
    assert len(told_to_model) < 2000

    provider.respond_with(always(lambda: calls(ToolCall("fly", {"to": "moon"}))))
    before = len(provider.requests)
    status, _ = ending(await listener.run(package(protocol=protocol, limits=RunLimits(request_limit=100))))
    assert status == "bad_response"
    assert len(provider.requests) - before < 20


async def test_an_unknown_tool_with_an_endless_name_is_bounded(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(calls(ToolCall("x" * 300_000, {})), say("I see."))
    events = await listener.run(package())
    assert ending(events)[0] == "success"
    assert max(len(event.model_dump_json()) for event in events[:-1]) < 64 * 1024


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("write", {"path": "a"}, "content"),
        ("write", {"path": 3, "content": "x"}, "path"),
        ("read", {"path": "a", "offset": "many"}, "offset"),
        ("read", {"path": "a", "bogus": 1}, "bogus"),
        ("bash", {"command": "ls", "timeout": -1}, "timeout"),
    ],
)
@pytest.mark.parametrize("profile", ["ask", "trusted"])
async def test_arguments_that_are_not_valid_name_the_field(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    tool: str,
    arguments: dict[str, Any],
    field: str,
    profile: str,
) -> None:
    provider.enqueue(calls(ToolCall(tool, arguments)), say("I see."))
    events = await listener.run(package(permissions=policy_of(profile)))
    assert ending(events)[0] == "success", "nobody is asked about them"
    assert steps(events) == [("started", tool), ("completed", tool)]
    assert f"{field}: " in texts(events)[0]


@pytest.mark.parametrize(
    ("bound", "pieces"),
    [(AnswerBound(max_chars=1000), ["x" * 501] * 2), (AnswerBound(max_copied=1000), ["x"] * 45)],
    ids=["too much", "in too small pieces"],
)
def test_an_answer_without_end_is_not_taken(bound: AnswerBound, pieces: list[str]) -> None:
    def hear(text: str) -> None:
        bound.hear(PartDeltaEvent(index=0, delta=ToolCallPartDelta(args_delta=text)))

    bound.begin_response()
    for piece in pieces[:-1]:
        hear(piece)
    with pytest.raises(AnswerTooLargeError):
        hear(pieces[-1])
    bound.begin_response()
    hear("x" * 40)


async def test_an_answer_too_large_is_a_named_failure(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    huge = ToolCall("write", {"path": "a", "content": "x" * 33 * 1024 * 1024})
    provider.enqueue(Answer(calls(huge), argument_size=1024 * 1024))
    assert ending(await listener.run(package()))[0] == "answer_too_large"
