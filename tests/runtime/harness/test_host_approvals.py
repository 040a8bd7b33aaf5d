"""Calls that somebody outside decides: the run ends, and a later one takes them up exactly once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import RunLimits, WireProtocol
from tests.runtime.harness.asking import (
    ASK,
    LOOKUP,
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
from tests.runtime.harness.conftest import BuildPackage, Cancel, Listener, host_pid, sleepers
from tests.support.processes import wait_until_gone
from tests.support.scripted_provider import Answer, Reply, ScriptedProvider, ToolCall, Usage, call, say, words

pytestmark = pytest.mark.anyio


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> WireProtocol:
    return request.param


async def test_an_approved_call_runs_once_and_the_model_goes_on(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    ask = calls(bash("echo run >> log"), text="May I?")
    provider.enqueue(ask, say("It is done."), say("As I said."))
    asked = await listener.run(package("Do it", protocol=protocol, permissions=ASK))
    first = waiting(asked)
    assert first.assistant_text == "May I?"
    assert steps(asked) == [("started", "bash"), ("blocked", "bash")]
    (blocked,) = told(asked, "blocked")
    assert blocked["tool_args"] == {"command": "echo run >> log"}
    assert blocked["kind"] == "tool_confirmation"
    assert blocked["call_id"] == ask.tool_calls[0].call_id
    assert blocked["content_index"] == told(asked, "started")[0]["content_index"] == 1
    (pending,) = first.pending
    assert pending.tool_args == {"command": "echo run >> log"}
    assert not (workspace / "log").exists()
    assert len(provider.requests) == 1

    resumed = await listener.run(
        package("", protocol=protocol, permissions=ASK, history=history(first), decisions=[decide(pending)])
    )
    status, second = ending(resumed)
    assert (status, second.pending, second.assistant_text) == ("success", [], "It is done.")
    assert steps(resumed) == [("started", "bash"), ("completed", "bash")]
    assert (workspace / "log").read_text() == "run\n"
    assert answers_sent(provider.requests[-1].body) == [(pending.call_id, "[no output]")]
    assert provider.requests[-1].prompt.text == "Do it"

    third = await listener.run(package("And?", protocol=protocol, history=history(first, second)))
    assert ending(third)[0] == "success"
    assert answers_sent(provider.requests[-1].body) == [(pending.call_id, "[no output]")]
    assert (workspace / "log").read_text() == "run\n"


async def test_a_denial_is_told_with_its_note(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    provider.enqueue(calls(bash("touch never")), say("Then not."))
    first = waiting(await listener.run(package(protocol=protocol, permissions=ASK)))
    decisions = [decide(first.pending[0], "denied", note="Not on a Friday.")]
    resumed = await listener.run(
        package("Do something else.", protocol=protocol, history=history(first), decisions=decisions)
    )
    assert ending(resumed)[0] == "success"
    (completed,) = told(resumed, "completed")
    assert completed["error"]
    text = completed["result"]["content"][0]["text"]
    assert text == "The person denied this call. They said: Not on a Friday."
    request = provider.requests[-1]
    assert [sent for _, sent in answers_sent(request.body)] == [text]
    assert request.prompt.text == "Do something else."
    assert not (workspace / "never").exists()


async def test_allowed_calls_of_the_same_answer_run_at_once_and_only_then(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    made = (
        bash("echo first >> log"),
        ToolCall("read", {"path": "missing"}),
        ToolCall("lookup", {"id": 7}),
        bash("echo second >> log"),
        ToolCall("write", {"path": "note", "content": "kept"}),
    )
    provider.enqueue(calls(*made), say("All of it."), say("Yes."))
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK, "custom_tools": [LOOKUP]}
    asked = await listener.run(package(**options))
    first = waiting(asked)
    assert [(pending.kind, pending.tool_name) for pending in first.pending] == [
        ("tool_confirmation", "bash"), ("custom_tool", "lookup"), ("tool_confirmation", "bash"),
    ]  # fmt: skip
    assert sorted(name for phase, name in steps(asked) if phase == "completed") == ["read", "write"]
    assert [name for phase, name in steps(asked) if phase == "blocked"] == ["bash", "lookup", "bash"]
    assert (workspace / "note").read_text() == "kept"
    assert not (workspace / "log").exists()
    (workspace / "note").write_text("changed since")

    allowed, answered, denied = first.pending
    decisions = [
        decide(denied, "denied"),
        decide(answered, "answered", output={"row": [1, None]}),
        decide(allowed),
    ]
    resumed = await listener.run(package("", **options, history=history(first), decisions=decisions))
    status, second = ending(resumed)
    assert status == "success"
    assert (workspace / "log").read_text() == "first\n"
    assert (workspace / "note").read_text() == "changed since"
    results = dict(answers_sent(provider.requests[-1].body))
    assert len(results) == len(answers_sent(provider.requests[-1].body)) == 5
    assert results[made[0].call_id] == "[no output]"
    assert results[made[2].call_id] == '{"row": [1, null]}'
    assert "denied" in results[made[3].call_id]
    assert "kept" in results[made[4].call_id]

    third = await listener.run(package("Again?", **options, history=history(first, second)))
    assert ending(third)[0] == "success"
    assert dict(answers_sent(provider.requests[-1].body)) == results
    assert len(answers_sent(provider.requests[-1].body)) == 5


async def test_the_approved_arguments_run_whatever_the_model_sends_next(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    provider.enqueue(calls(bash("echo safe >> log")), calls(bash("echo drifted >> log")), say("Done."))
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK}
    first = waiting(await listener.run(package(**options)))
    approved = decide(first.pending[0], tool_args={"command": "echo edited >> log"})
    resumed = await listener.run(package("", **options, history=history(first), decisions=[approved]))
    second = waiting(resumed)
    assert (workspace / "log").read_text() == "edited\n"
    assert steps(resumed) == [
        ("started", "bash"), ("completed", "bash"), ("started", "bash"), ("blocked", "bash"),
    ]  # fmt: skip
    assert told(resumed, "started")[0]["tool_args"] == {"command": "echo edited >> log"}
    assert [pending.tool_args for pending in second.pending] == [{"command": "echo drifted >> log"}]
    decisions = [decide(second.pending[0], "cancelled")]
    third = await listener.run(package("", **options, history=history(first, second), decisions=decisions))
    assert ending(third)[0] == "success"
    assert (workspace / "log").read_text() == "edited\n"
    last = answers_sent(provider.requests[-1].body)[-1]
    assert last == (second.pending[0].call_id, "The person discarded this request.")


async def test_one_approval_lets_one_call_run(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    """Also when the model says exactly the same again, with the same id."""
    same = bash("echo run >> log")
    provider.enqueue(calls(same), calls(same), say("Done."))
    first = waiting(await listener.run(package(permissions=ASK)))
    resumed = await listener.run(
        package("", permissions=ASK, history=history(first), decisions=[decide(first.pending[0])])
    )
    second = waiting(resumed)
    assert (workspace / "log").read_text() == "run\n"
    assert second.pending[0].tool_args == {"command": "echo run >> log"}
    decisions = [decide(second.pending[0])]
    third = await listener.run(
        package("", permissions=ASK, history=history(first, second), decisions=decisions)
    )
    assert ending(third)[0] == "success"
    assert (workspace / "log").read_text() == "run\nrun\n"
    assert len(answers_sent(provider.requests[-1].body)) == 2


async def test_a_custom_tool_ends_the_run_and_its_result_resumes_it(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(calls(ToolCall("lookup", {"id": 7})), say("It is Ada."))
    asked = await listener.run(package("Who is 7?", protocol=protocol, custom_tools=[LOOKUP], tools=["read"]))
    first = waiting(asked)
    assert "lookup" in provider.requests[0].prompt.tools
    assert "Ask the archive." in json.dumps(provider.requests[0].body)
    (pending,) = first.pending
    assert (pending.kind, pending.tool_name, pending.tool_args) == ("custom_tool", "lookup", {"id": 7})
    assert steps(asked) == [("started", "lookup"), ("blocked", "lookup")]
    decisions = [decide(pending, "answered", output="Ada")]
    resumed = await listener.run(package("", protocol=protocol, history=history(first), decisions=decisions))
    status, second = ending(resumed)
    assert (status, second.assistant_text) == ("success", "It is Ada.")
    assert answers_sent(provider.requests[-1].body) == [(pending.call_id, "Ada")]
    assert told(resumed, "completed")[0]["result"]["content"][0]["text"] == "Ada"
    assert not told(resumed, "completed")[0]["error"]


async def test_a_forbidden_tool_is_an_error_for_the_model(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    provider.enqueue(
        calls(bash("touch never"), ToolCall("lookup", {"id": 1}), ToolCall("ls", {})), say("I see.")
    )
    permissions = policy(bash="deny", lookup="deny", ls="always_allow")
    events = await listener.run(package(protocol=protocol, permissions=permissions, custom_tools=[LOOKUP]))
    assert ending(events)[0] == "success"
    by_name = {payload["tool_name"]: payload for payload in told(events, "completed")}
    assert (by_name["bash"]["error"], by_name["lookup"]["error"], by_name["ls"]["error"]) == (
        True,
        True,
        False,
    )
    assert "Denied by policy" in by_name["bash"]["result"]["content"][0]["text"]
    assert sum("Denied by policy" in text for _, text in answers_sent(provider.requests[-1].body)) == 2
    assert not (workspace / "never").exists()


async def test_a_tool_that_is_forbidden_since_does_not_run_although_approved(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    provider.enqueue(calls(bash("touch never")), say("I see."))
    first = waiting(await listener.run(package(permissions=ASK)))
    decisions = [decide(first.pending[0])]
    resumed = await listener.run(
        package("", permissions=policy(bash="deny"), history=history(first), decisions=decisions)
    )
    assert ending(resumed)[0] == "success"
    assert told(resumed, "completed")[0]["error"]
    assert not (workspace / "never").exists()


async def test_nobody_is_asked_about_arguments_the_tool_refuses(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(call("bash", comand="ls"), say("I see."))
    events = await listener.run(package(permissions=ASK))
    assert ending(events)[0] == "success"
    assert told(events, "completed")[0]["error"]


async def test_cancelling_ends_an_approved_call_for_good(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    # The shell's own command line must not look like the process the test waits for.
    slow, next_one = bash("echo run >> log; sleep 10''00"), bash("echo never >> log")
    provider.enqueue(calls(slow, next_one), say("I see."))
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK}
    first = waiting(await listener.run(package(**options)))
    decisions = [decide(pending) for pending in first.pending]
    cancel = Cancel()
    running = listener.harness.run(
        package("", **options, history=history(first), decisions=decisions), cancel
    )
    events = [await anext(running)]
    started = await sleepers(host_pid(listener.harness), 1)
    cancel.pull()
    events += [event async for event in running]
    status, second = ending(events)
    assert (status, second.pending) == ("paused", [])
    assert not wait_until_gone(started)

    entries = history(first, second)
    again = await listener.run(package("Go on", **options, history=entries, decisions=decisions))
    assert ending(again)[0] == "success"
    assert (workspace / "log").read_text() == "run\n"
    sent = answers_sent(provider.requests[-1].body)
    assert [call_id for call_id, _ in sent] == [slow.call_id, next_one.call_id]
    assert all("interrupted" in text for _, text in sent)


async def test_thinking_is_sent_back_with_the_call_it_led_to(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    """Anthropic refuses results for a call whose signed thinking is missing."""
    asked = Reply(words("May I?"), words("I should look."), (bash("true"),), Usage(10, 5))
    provider.enqueue(asked, say("Done."))
    options: dict[str, Any] = {"protocol": "anthropic_messages", "permissions": ASK}
    first = waiting(await listener.run(package(**options)))
    decisions = [decide(first.pending[0])]
    resumed = await listener.run(package("", **options, history=history(first), decisions=decisions))
    assert ending(resumed)[0] == "success"
    *_, assistant, user = provider.requests[-1].body["messages"]
    assert [block["type"] for block in assistant["content"]] == ["thinking", "text", "tool_use"]
    assert assistant["content"][0]["signature"] == "c2lnbmF0dXJl"
    assert [block["type"] for block in user["content"]] == ["tool_result"]


@pytest.mark.parametrize(
    ("outcome", "said"), [("approved", "This is what `echo 42` printed"), ("denied", "I did not do it")]
)
async def test_the_demo_model_goes_on_sensibly(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, outcome: str, said: str
) -> None:
    first = waiting(await listener.run(package("Run `echo 42`", permissions=ASK)))
    decisions = [decide(first.pending[0], outcome)]
    resumed = await listener.run(package("", permissions=ASK, history=history(first), decisions=decisions))
    status, second = ending(resumed)
    assert status == "success"
    assert said in second.assistant_text
    assert len(provider.requests) == 2


@pytest.mark.parametrize("instruction", ["", "And then rest."])
async def test_a_failure_after_an_approved_call_keeps_its_result(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
    instruction: str,
) -> None:
    provider.enqueue(
        calls(bash("echo run >> log; echo printed")), Answer(status=503, message="Busy."), say("Done.")
    )
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK}
    first = waiting(await listener.run(package("Do it", **options)))
    decisions = [decide(first.pending[0])]
    failed = await listener.run(package(instruction, **options, history=history(first), decisions=decisions))
    status, second = ending(failed)
    assert (status, second.pending) == ("provider_unavailable", [])

    entries = history(first, second)
    again = await listener.run(package("", **options, history=entries, decisions=decisions))
    status, third = ending(again)
    assert (status, third.assistant_text) == ("success", "Done.")
    assert (workspace / "log").read_text() == "run\n"
    assert answers_sent(provider.requests[-1].body) == [(first.pending[0].call_id, "printed")]
    assert instruction in str(provider.requests[-1].body)


async def test_decisions_that_do_not_fit_are_not_used(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    provider.enqueue(calls(bash("touch one"), bash("touch two")), say("I see."))
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK}
    first = waiting(await listener.run(package(**options)))
    one, two = first.pending
    decisions = [
        decide(one),
        decide(two.model_copy(update={"tool_name": "write"})),
        decide(two.model_copy(update={"call_id": "another"})),
    ]
    resumed = await listener.run(package("", **options, history=history(first), decisions=decisions))
    assert ending(resumed)[0] == "success"
    assert (workspace / "one").exists()
    assert not (workspace / "two").exists()
    results = dict(answers_sent(provider.requests[-1].body))
    assert results[one.call_id] == "[no output]"
    assert "interrupted" in results[two.call_id]
    assert "another" not in results


@pytest.mark.parametrize("kept", ["everything", "nothing", "no decisions"])
async def test_open_calls_nobody_decides_are_closed(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
    kept: str,
) -> None:
    provider.enqueue(calls(bash("touch never")), say("Fine."), say("Good."))
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK}
    first = waiting(await listener.run(package(**options)))
    stray = decide(first.pending[0].model_copy(update={"call_id": "another"}))
    entries = [] if kept == "nothing" else history(first)
    second = await listener.run(
        package("", **options, history=entries, decisions=[] if kept == "no decisions" else [stray])
    )
    assert ending(second)[0] == "success"
    assert provider.requests[-1].prompt.text == "Continue."
    assert not (workspace / "never").exists()
    late = await listener.run(
        package("And?", **options, history=[*entries, *history(ending(second)[1])], decisions=[stray])
    )
    assert ending(late)[0] == "success"
    sent = answers_sent(provider.requests[-1].body)
    assert len(sent) == (0 if kept == "nothing" else 1)
    assert all("interrupted" in text for _, text in sent)


async def test_arguments_named_like_ours_reach_the_tool(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    provider.enqueue(call("grep", pattern="two", context=1), say("Found."))
    events = await listener.run(package())
    text = told(events, "completed")[0]["result"]["content"][0]["text"]
    assert text == "a.txt-1-one\na.txt:2:two\na.txt-3-three"


async def test_what_is_too_large_to_keep_fails_instead_of_waiting_for_ever(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    large = [ToolCall("write", {"path": f"a{number}", "content": "x" * 900_000}) for number in range(10)]
    provider.enqueue(Answer(calls(*large), argument_size=1_000_000), say("Fine."))
    events = await listener.run(package(permissions=policy(write="always_ask")))
    status, result = ending(events)
    assert (status, result.pending, result.history) == ("result_too_large", [], None)


async def test_a_limit_holds_for_a_resumed_run_too(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(calls(bash("sleep 1000")), say("I see."))
    first = waiting(await listener.run(package(permissions=ASK)))
    resumed = await listener.run(
        package(
            "",
            permissions=ASK,
            history=history(first),
            decisions=[decide(first.pending[0])],
            limits=RunLimits(timeout_s=0.3),
        )
    )
    assert ending(resumed)[0] == "run_timeout"
