"""The scripted harness that other tests stand on keeps the contract of a real one."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import ActionDecision, RunnerEvent
from tests.runtime.harness.conftest import BuildPackage, Cancel
from tests.support.fake_harness import FakeHarness, Stage

pytestmark = pytest.mark.anyio


async def ask_then_tell(stage: Stage) -> None:
    if (decision := stage.decision("bash")) is None:
        stage.say("May I?")
        stage.ask("bash", {"command": "ls"})
    stage.say(f"It was {decision.outcome}.")


async def ask_twice(stage: Stage) -> None:
    stage.wait(stage.blocked("bash"), stage.blocked("lookup", {"id": 1}, kind="custom_tool"))


async def play(harness: FakeHarness, package: Any) -> list[RunnerEvent]:
    return [event async for event in harness.run(package, Cancel())]


async def test_a_script_asks_and_takes_up_the_decision(package: BuildPackage) -> None:
    harness = FakeHarness(ask_then_tell)
    *told, terminal = await play(harness, package())
    assert terminal.payload["status"] == "waiting_user"
    assert terminal.result is not None
    (pending,) = terminal.result.pending
    assert (pending.kind, pending.tool_name, pending.tool_args) == (
        "tool_confirmation",
        "bash",
        {"command": "ls"},
    )
    calls = [event.payload for event in told if event.event_type == RunEvent.TOOL_CALL]
    assert [(call["phase"], call["call_id"]) for call in calls] == [
        ("started", pending.call_id), ("blocked", pending.call_id),
    ]  # fmt: skip
    decision = ActionDecision(
        call_id=pending.call_id, kind=pending.kind, tool_name=pending.tool_name, outcome="denied"
    )
    terminal = (await play(harness, package(decisions=[decision])))[-1]
    assert terminal.payload["status"] == "success"
    assert terminal.result is not None
    assert (terminal.result.assistant_text, terminal.result.pending) == ("It was denied.", [])


async def test_a_script_may_wait_for_several(package: BuildPackage) -> None:
    terminal = (await play(FakeHarness(ask_twice), package()))[-1]
    assert terminal.result is not None
    first, second = terminal.result.pending
    assert (first.kind, second.kind) == ("tool_confirmation", "custom_tool")
    assert first.call_id != second.call_id
