"""Subagents on the session core: work handed out, run beside its owner, and told back as one message."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.orchestrator import SUBAGENTS_AT_ONCE
from holaboss_runtime.sessions.subagent_reports import RESULT_CHARS
from holaboss_runtime.sessions.subagents import DELEGATING_KINDS, MOST_LIVE
from holaboss_runtime.store.clock import from_now
from tests.runtime.sessions.core import WORKSPACE
from tests.runtime.sessions.subagent_office import TOGETHER_S, TOOLS, Office
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


async def test_two_tasks_run_beside_their_owner_and_come_back_as_one_message(office: Office) -> None:
    office.hold("count the doors", "count the windows")
    doors, windows = await office.hand_out("count the doors", "count the windows")
    assert doors.startswith("subagent-")
    await office.until(doors, "running")
    await office.until(windows, "running")
    office.release("count the doors", "count the windows")
    await office.at_rest()

    [told] = office.results()
    assert [child["child_session_id"] for child in told.payload["children"]] == [doors, windows]
    answer = office.core.harness.packages[-1]
    assert answer.session_id == "s1"
    assert "Done: count the doors" in answer.instruction
    assert "Done: count the windows" in answer.instruction
    assert [office.status(one) for one in (doors, windows)] == ["completed", "completed"]
    assert [one.report_due_at for one in office.children()] == [None, None]
    assert len([one for one in office.core.harness.packages if one.session_id == "s1"]) == 2


async def test_child_events_stand_in_the_log_of_the_parent(office: Office) -> None:
    [child] = await office.hand_out("count the doors", title="Doors")
    await office.at_rest()
    [created] = office.log(Event.SESSION_CHILD_CREATED)
    assert created.payload == {
        "child_session_id": child,
        "outcome_title": "Doors",
        "message": "count the doors",
    }
    [idle] = office.log(Event.SESSION_CHILD_IDLE)
    assert idle.payload == {
        "child_session_id": child,
        "child_stop_reason": "completed",
        "summary": "Done: count the doors",
        "executed_cycles": 1,
    }
    session = office.core.sessions.directory.get(child)
    assert (session.kind, session.parent_session_id, session.workspace_id) == ("subagent", "s1", WORKSPACE)


async def test_what_ends_close_together_is_told_together_and_what_takes_long_is_not_waited_for(
    office: Office,
) -> None:
    office.hold("slow")
    quick, other, slow = await office.hand_out("quick", "other", "slow")
    await office.until(quick, "completed")
    await office.until(other, "completed")
    assert office.results() == []  # somebody still works, so they wait for each other
    assert office.core.sessions.reports.deliver(from_now(TOGETHER_S + 1)) == 1
    assert office.core.sessions.reports.deliver(from_now(TOGETHER_S + 1)) == 0
    await office.at_rest()
    [told] = office.results()
    assert {child["child_session_id"] for child in told.payload["children"]} == {quick, other}
    office.release("slow")
    await office.core.until(lambda: len(office.results()) == 2)
    assert [child["child_session_id"] for child in office.results()[1].payload["children"]] == [slow]
    await office.at_rest()


async def test_an_owner_is_not_interrupted_and_a_message_takes_the_news_along(office: Office) -> None:
    office.hold("quick", "slow")
    quick, _ = await office.hand_out("quick", "slow")
    going = asyncio.Event()

    async def busy(stage: Stage) -> None:
        if stage.package.instruction == "think":
            await going.wait()
        await office.script(stage)

    office.core.harness.script = busy
    thinking = office.core.send("think")
    await office.core.until(lambda: office.core.state().runtime_status == "BUSY")
    office.release("quick")
    await office.until(quick, "completed")
    assert office.core.sessions.reports.deliver(from_now(TOGETHER_S + 1)) == 0
    behind = office.core.send("what next?")
    going.set()
    await office.core.terminal(thinking)
    await office.core.terminal(behind)
    [told] = office.results()
    assert told.processed_at is not None
    package = office.core.harness.packages[-1]
    assert package.input_id == behind.input_id  # the person's message leads
    assert package.instruction.startswith("what next?\n\n")
    assert "Done: quick" in package.instruction
    office.release("slow")
    await office.core.until(lambda: len(office.results()) == 2)
    await office.at_rest()


async def test_long_results_are_cut_where_they_are_told(office: Office) -> None:
    async def long(stage: Stage) -> None:
        stage.say("x" * (RESULT_CHARS + 500))

    office.scripts["long"] = long
    [child] = await office.hand_out("long")
    await office.at_rest()
    text = office.results()[0].payload["text"]
    assert "x" * RESULT_CHARS in text
    assert "x" * (RESULT_CHARS + 1) not in text
    assert "6,500 characters" in text
    assert len(office.core.records.subagents.get(child).result) == RESULT_CHARS + 500  # pyright: ignore[reportOptionalMemberAccess]


async def test_a_failure_is_told_with_its_reason(office: Office) -> None:
    async def fails(stage: Stage) -> None:
        stage.say("I tried. ")
        stage.fail(message="The model is gone.")

    office.scripts["fails"] = fails
    [child] = await office.hand_out("fails")
    await office.at_rest()
    task = office.core.sessions.subagents.get(child)
    assert (task.status, (task.error or {})["message"]) == ("failed", "The model is gone.")
    assert "The model is gone." in office.results()[0].payload["text"]


async def test_who_may_delegate(office: Office) -> None:
    kinds = [*DELEGATING_KINDS, "subagent", "cronjob", "task_proposal", "onboarding"]
    offered = {
        kind: [tool.name for tool in office.core.toolbox.definitions(kind) if tool.name in TOOLS]
        for kind in kinds
    }
    assert offered == {kind: TOOLS if kind in DELEGATING_KINDS else [] for kind in kinds}
    [child] = await office.hand_out("count the doors")
    await office.at_rest()
    inside = next(one for one in office.core.harness.packages if one.session_id == child)
    assert [tool.name for tool in inside.runtime_tools if tool.name in TOOLS] == []
    for name in TOOLS:
        answer = await office.call(inside, name, {"goal": "deeper", "subagent_id": child})
        assert (answer.error, answer.details["code"]) == (True, "subagent_control_forbidden")
    with pytest.raises(DomainError) as caught:  # also past the toolbox
        office.core.sessions.subagents.of_owner(child)
    assert (caught.value.kind, caught.value.code) == ("forbidden", "subagent_control_forbidden")
    assert len(office.children(child)) == 0


async def test_a_subagent_of_another_session_is_not_there(office: Office) -> None:
    [child] = await office.hand_out("count the doors")
    await office.at_rest()
    await office.core.ask("hello", "s2")
    for name, more in (
        ("get", {}),
        ("cancel", {}),
        ("resume", {"answer": "a"}),
        ("continue", {"instruction": "i"}),
    ):
        answer = await office.use(f"{name}_subagent", "s2", subagent_id=child, **more)
        assert (answer.error, answer.details["code"]) == (True, "subagent_not_found")
    assert (await office.use("list_background_tasks", "s2")).text == "There are none."
    assert child in (await office.use("list_background_tasks")).text


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"goal": " "},
        {"tasks": [{"goal": ""}]},
        {"tasks": [{"goal": "a"}], "goal": "b"},
        {"goal": "a", "tools": ["browser"]},
        {"goal": "a", "timeout_ms": 5},
        {"tasks": [{"goal": str(number)} for number in range(MOST_LIVE + 1)]},
    ],
)
async def test_what_cannot_be_delegated(office: Office, arguments: dict[str, Any]) -> None:
    await office.core.ask("hello")
    answer = await office.use("delegate_task", **arguments)
    assert answer.error
    assert office.children() == []


async def test_limits(office: Office) -> None:
    goals = [f"goal {number}" for number in range(MOST_LIVE)]
    office.hold(*goals)
    children = await office.hand_out(*goals)
    await office.until_begun(SUBAGENTS_AT_ONCE)
    assert sorted(map(office.status, children)) == ["queued"] * 4 + ["running"] * 4
    refused = await office.use("delegate_task", goal="one more")
    assert (refused.error, refused.details["code"]) == (True, "subagent_limit")
    assert len(office.children()) == MOST_LIVE
    await office.core.ask("are you there?")  # others are not kept from running
    await office.core.ask("and you?", "s2")
    assert len(office.begun) == SUBAGENTS_AT_ONCE
    office.release(goals[0])
    await office.until_begun(SUBAGENTS_AT_ONCE + 1)
    office.release(*goals[1:])
    for child in children:
        await office.until(child, "completed")
    assert office.core.harness.most_running == SUBAGENTS_AT_ONCE + 1  # with the owner
    await office.core.until(lambda: not any(one.report_due_at for one in office.children()))
    await office.at_rest()
