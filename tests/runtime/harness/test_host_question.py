"""`question`: the run ends, and the answer takes it up; in every dialect, alone and beside other requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import ActionDecision, WireProtocol
from holaboss_runtime.harness.host.tools.question import SKIPPED, answer_text
from tests.runtime.harness.asking import (
    ASK,
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
from tests.support.scripted_provider import ScriptedProvider, ToolCall, call, say

pytestmark = pytest.mark.anyio

COLOURS = {
    "question": "Which colour?",
    "options": [{"label": "Red", "description": "Loud."}, {"label": "Blue"}],
    "allow_multiple": True,
}


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> WireProtocol:
    return request.param


async def test_a_question_ends_the_run_and_its_answer_goes_on(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(call("question", text="One thing:", **COLOURS), say("Red it is."), say("Yes."))
    asked = await listener.run(package("Paint it", protocol=protocol))
    first = waiting(asked)
    assert first.assistant_text == "One thing:"
    assert steps(asked) == [("started", "question"), ("blocked", "question")]
    (pending,) = first.pending
    assert (pending.kind, pending.tool_name, pending.tool_args) == ("question", "question", COLOURS)
    (blocked,) = told(asked, "blocked")
    assert blocked["kind"] == "question"
    assert len(provider.requests) == 1

    answered = decide(pending, "answered", output={"options": ["Red"], "text": "a dark one"})
    resumed = await listener.run(package("", protocol=protocol, history=history(first), decisions=[answered]))
    status, second = ending(resumed)
    assert (status, second.assistant_text) == ("success", "Red it is.")
    sent = answers_sent(provider.requests[-1].body)
    assert sent == [(pending.call_id, "The person answered: Red. In their own words: a dark one")]
    (completed,) = told(resumed, "completed")
    assert not completed["error"]

    third = await listener.run(package("Sure?", protocol=protocol, history=history(first, second)))
    assert ending(third)[0] == "success"
    assert answers_sent(provider.requests[-1].body) == sent


async def test_questions_and_approvals_of_one_answer_are_taken_up_together(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    made = (
        ToolCall("question", {"question": "Where?"}),
        bash("echo allowed >> log"),
        ToolCall("question", COLOURS),
        ToolCall("ls", {}),
        ToolCall("question", {"question": "When?"}),
        bash("echo refused >> log"),
    )
    provider.enqueue(calls(*made), say("All clear."))
    options: dict[str, Any] = {"protocol": protocol, "permissions": ASK}
    first = waiting(await listener.run(package(**options)))
    assert [(pending.kind, pending.tool_name) for pending in first.pending] == [
        ("question", "question"),
        ("tool_confirmation", "bash"),
        ("question", "question"),
        ("question", "question"),
        ("tool_confirmation", "bash"),
    ]
    where, allowed, colour, when, refused = first.pending
    decisions = [
        decide(refused, "denied"),
        decide(colour, "answered", output={"options": ["Red", "Blue"]}),
        decide(where, "answered", output="Here."),
        decide(when, "cancelled", note="No idea."),
        decide(allowed),
    ]
    resumed = await listener.run(package("", **options, history=history(first), decisions=decisions))
    assert ending(resumed)[0] == "success"
    assert (workspace / "log").read_text() == "allowed\n"
    results = dict(answers_sent(provider.requests[-1].body))
    assert len(results) == len(answers_sent(provider.requests[-1].body)) == len(made)
    assert results[made[0].call_id] == "The person answered: Here."
    assert results[made[2].call_id] == "The person answered: Red; Blue"
    assert results[made[4].call_id] == f"{SKIPPED} They said: No idea."
    assert "denied" in results[made[5].call_id]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("Blue.", "The person answered: Blue."),
        ({"text": " In my words "}, "The person answered: In my words"),
        ({"options": ["A"]}, "The person answered: A"),
        ({"options": ["A", "B"], "text": ""}, "The person answered: A; B"),
        ({"options": [], "text": None}, SKIPPED),
        ({"options": "A"}, SKIPPED),
        ({"mood": "gut"}, 'The person answered: {"mood": "gut"}'),
        (7, "The person answered: 7"),
        ("  ", SKIPPED),
        (None, SKIPPED),
    ],
)
def test_every_kind_of_answer_reads_well(output: Any, text: str) -> None:
    given = ActionDecision(
        call_id="c", kind="question", tool_name="question", outcome="answered", output=output
    )
    assert answer_text(given) == text


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"question": ""},
        {"question": "x" * 4001},
        {"question": "x", "options": [{"label": str(n)} for n in range(9)]},
        {"question": "x", "options": [{"label": "a"}, {"label": "a"}]},
        {"question": "x", "options": ["a"]},
        {"question": "x", "urgent": True},
    ],
)
async def test_nobody_is_asked_what_is_no_question(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, arguments: dict[str, Any]
) -> None:
    provider.enqueue(calls(ToolCall("question", arguments)), say("Sorry."))
    events = await listener.run(package())
    status, result = ending(events)
    assert (status, result.pending) == ("success", [])
    assert told(events, "completed")[0]["error"]


async def test_the_task_in_progress_waits_for_the_answer(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    plan = [{"name": "Do", "tasks": [{"content": "Paint"}, {"content": "Dry"}]}]
    provider.enqueue(
        calls(ToolCall("todo", {"op": "replace", "phases": plan})),
        calls(ToolCall("question", COLOURS), ToolCall("question", {"question": "And when?"})),
        say("Good."),
    )
    first = waiting(await listener.run(package()))
    path = workspace / ".holaboss/state/todos/session.json"
    tasks = json.loads(path.read_text())["phases"][0]["tasks"]
    assert [task["status"] for task in tasks] == ["blocked", "pending"]
    assert tasks[0]["details"] == "Which colour?"

    decisions = [
        decide(first.pending[0], "answered", output="Blue"),
        decide(first.pending[1], "cancelled"),
    ]
    resumed = await listener.run(package("", history=history(first), decisions=decisions))
    assert ending(resumed)[0] == "success"
    tasks = json.loads(path.read_text())["phases"][0]["tasks"]
    assert [task["status"] for task in tasks] == ["in_progress", "pending"]
    assert "details" not in tasks[0]


async def test_a_blocked_task_alone_makes_no_run_wait(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    plan = [{"name": "Do", "tasks": [{"content": "Paint", "status": "blocked", "details": "No paint."}]}]
    provider.enqueue(calls(ToolCall("todo", {"op": "replace", "phases": plan})), say("I need paint."))
    status, result = ending(await listener.run(package()))
    assert (status, result.pending) == ("success", [])


async def test_a_rule_may_forbid_questions(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(call("question", question="May I?"), say("I decide."))
    status, result = ending(await listener.run(package(permissions=policy(question="deny"))))
    assert (status, result.pending) == ("success", [])
    assert [denial.tool_name for denial in result.denials] == ["question"]


async def test_a_plan_that_cannot_be_kept_keeps_nobody_from_asking(workspace: Path) -> None:
    (workspace / ".holaboss/state").write_text("in the way")
    outcome = await local_sandbox(workspace).execute("question", {"question": "Which?"})
    assert not outcome.error
