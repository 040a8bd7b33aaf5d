"""What every executor behind the seam has to keep, run against each adapter there is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import (
    CustomTool,
    HistoryEntry,
    PendingCall,
    RunnerEvent,
    RunPackage,
    RunResult,
)
from holaboss_runtime.harness.options import HarnessOptions
from holaboss_runtime.harness.registry import HARNESSES, HarnessRegistry
from holaboss_runtime.harness.services import HostAskError
from holaboss_runtime.harness.toolbox import Caller, ToolAnswer, Toolbox, ToolboxTool
from tests.runtime.harness.asking import decide, policy
from tests.runtime.harness.conformance.drivers import Call, Driver, Fail, NativeDriver, Say, Stall, ToyDriver
from tests.runtime.harness.conftest import Cancel, open_harness
from tests.support.processes import PATIENCE_S, descendants
from tests.support.scripted_provider import ScriptedProvider
from tests.support.toy_adapter.adapter import ADAPTER, ToyHarness

pytestmark = pytest.mark.anyio

LOOKUP = CustomTool(name="lookup", description="Ask the archive.", input_schema={"type": "object"})


class Ring(BaseModel):
    times: int


async def ring(caller: Caller, request: Ring) -> ToolAnswer:
    return ToolAnswer(f"{caller.session_id} rang {request.times} times", {"times": request.times})


BELL = ToolboxTool("bell", "Ring the bell.", Ring, ring)


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    box = Toolbox()
    box.register(BELL)
    return box


@pytest.fixture(scope="module", params=["native", "toy"])
async def opened(request: pytest.FixtureRequest, anyio_backend: str, toolbox: Toolbox) -> AsyncIterator[Any]:
    if request.param == "native":
        async with open_harness(toolbox=toolbox) as harness:
            yield harness
        return
    registry = HarnessRegistry(ADAPTER)
    harness = registry.open("toy", HarnessOptions(toolbox=toolbox))
    await harness.start()
    yield harness
    await harness.close()


@pytest.fixture
def driver(opened: Any, provider: ScriptedProvider, workspace: Path) -> Driver:
    if isinstance(opened, ToyHarness):
        return ToyDriver(opened, workspace)
    return NativeDriver(opened, provider, workspace)


async def run(driver: Driver, package: RunPackage, cancel: Cancel | None = None) -> list[RunnerEvent]:
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in driver.harness.run(package, cancel or Cancel())]


def ended(events: list[RunnerEvent]) -> tuple[str, RunResult]:
    """Status or type of failure, and the result, of the terminal event: there is one, and it is the last."""
    ends = (RunEvent.RUN_COMPLETED, RunEvent.RUN_FAILED)
    terminals = [event for event in events if event.event_type in ends]
    assert terminals == [events[-1]]
    assert events[-1].result is not None
    return events[-1].payload.get("status") or events[-1].payload["type"], events[-1].result


def calls(events: list[RunnerEvent]) -> list[tuple[str, str]]:
    told = [event.payload for event in events if event.event_type == RunEvent.TOOL_CALL]
    return [(payload["phase"], payload["tool_name"]) for payload in told]


def text_of(events: list[RunnerEvent]) -> str:
    """What the deltas say, put together by part and place alone."""
    parts: dict[int, str] = {}
    for event in events:
        if event.event_type == RunEvent.OUTPUT_DELTA:
            index, offset = event.payload["content_index"], event.payload["offset"]
            assert offset == len(parts.get(index, ""))
            parts[index] = parts.get(index, "") + event.payload["delta"]
    return "\n\n".join(parts[index].strip() for index in sorted(parts))


def memory(*results: RunResult) -> list[HistoryEntry]:
    return [result.history for result in results if result.history is not None]


async def asked(driver: Driver, *steps: Call, **fields: Any) -> tuple[RunResult, list[PendingCall]]:
    events = await run(driver, driver.package(*steps, Say("Done."), **fields))
    status, result = ended(events)
    assert status == "waiting_user"
    assert result.pending
    return result, result.pending


async def test_text_arrives_in_parts_that_add_up(driver: Driver) -> None:
    events = await run(driver, driver.package(Say("Good morning to you.")))
    status, result = ended(events)
    assert (status, result.assistant_text, result.pending) == ("success", "Good morning to you.", [])
    assert text_of(events) == "Good morning to you."
    assert isinstance(events[-1].payload["usage"], dict)


async def test_what_the_run_was_given_reaches_the_executor(driver: Driver) -> None:
    await run(
        driver, driver.package(Say("Yes."), system_prompt="Hold the lamp.", context_messages=["It is dusk."])
    )
    assert "Hold the lamp." in driver.told()
    assert "It is dusk." in driver.told()


async def test_a_call_is_told_from_start_to_end_and_carried_out_once(driver: Driver) -> None:
    events = await run(driver, driver.package(Say("First."), driver.note("one"), Say("Then.")))
    status, result = ended(events)
    assert status == "success"
    assert calls(events) == [("started", driver.noting), ("completed", driver.noting)]
    started, completed = (e.payload for e in events if e.event_type == RunEvent.TOOL_CALL)
    assert started["call_id"] == completed["call_id"]
    assert started["content_index"] == completed["content_index"]
    assert completed["error"] is False
    assert [call["tool_name"] for call in result.tool_calls] == [driver.noting]
    assert driver.noted() == ["one"]
    assert result.assistant_text == text_of(events) == "First.\n\nThen."


async def test_the_next_run_remembers_what_it_is_handed_and_nothing_else(driver: Driver) -> None:
    _, first = ended(await run(driver, driver.package(Say("The word is heron."))))
    await run(driver, driver.package(Say("Yes."), history=memory(first)))
    assert "heron" in driver.told()
    await run(driver, driver.package(Say("No.")))
    assert "heron" not in driver.told()


async def test_memory_of_another_adapter_is_left_alone(driver: Driver) -> None:
    foreign = HistoryEntry(adapter="someone-else", version=9, payload={"words": ["heron"]})
    events = await run(driver, driver.package(Say("Fine."), history=[foreign]))
    assert ended(events)[0] == "success"
    assert "heron" not in driver.told()


async def test_a_failure_is_an_event(driver: Driver) -> None:
    events = await run(driver, driver.package(Fail("The lamp is out.")))
    assert events[-1].event_type == RunEvent.RUN_FAILED
    payload = events[-1].payload
    assert "The lamp is out." in payload["message"]
    assert payload["retryable"] is False
    assert payload["type"]
    assert payload["provider_id"] == "scripted_direct"


async def test_a_run_that_is_stopped_ends_as_paused_with_what_it_said(driver: Driver) -> None:
    cancel, events = Cancel(), list[RunnerEvent]()
    async with asyncio.timeout(PATIENCE_S):
        async for event in driver.harness.run(driver.package(Say("I wait."), Stall()), cancel):
            events.append(event)
            if event.event_type == RunEvent.OUTPUT_DELTA:
                cancel.pull()
    status, result = ended(events)
    assert status == "paused"
    assert result.assistant_text == text_of(events)
    assert result.assistant_text


async def test_a_run_that_was_stopped_before_it_began_does_nothing(driver: Driver) -> None:
    cancel = Cancel()
    cancel.pull()
    events = await run(driver, driver.package(driver.note("never"), Say("Done.")), cancel)
    assert ended(events)[0] == "paused"
    assert driver.noted() == []


async def test_an_approved_call_is_made_once_with_the_approved_arguments(driver: Driver) -> None:
    ask = policy(**{driver.noting: "always_ask"})
    first, (pending,) = await asked(driver, driver.note("asked"), permissions=ask)
    assert (pending.kind, pending.tool_name) == ("tool_confirmation", driver.noting)
    assert driver.noted() == []
    decision = decide(pending, tool_args=driver.note("edited").arguments)
    options: dict[str, Any] = {"permissions": ask, "decisions": [decision], "history": memory(first)}
    events = await run(driver, driver.package(Say("Well then."), instruction="", **options))
    status, second = ended(events)
    assert (status, second.pending, driver.noted()) == ("success", [], ["edited"])
    again = {"permissions": ask, "decisions": [decision], "history": memory(first, second)}
    await run(driver, driver.package(Say("As I said."), **again))
    assert driver.noted() == ["edited"]


async def test_a_denied_call_is_told_and_not_made(driver: Driver) -> None:
    ask = policy(**{driver.noting: "always_ask"})
    first, (pending,) = await asked(driver, driver.note("never"), permissions=ask)
    decision = decide(pending, "denied", note="Not now.")
    options: dict[str, Any] = {"permissions": ask, "decisions": [decision], "history": memory(first)}
    events = await run(driver, driver.package(Say("Then not."), **options))
    assert ended(events)[0] == "success"
    assert "Not now." in driver.told()
    assert driver.noted() == []


async def test_a_forbidden_call_is_refused_and_recorded(driver: Driver) -> None:
    events = await run(
        driver,
        driver.package(driver.note("never"), Say("Oh."), permissions=policy(**{driver.noting: "deny"})),
    )
    _, result = ended(events)
    assert [(denial.tool_name, bool(denial.reason)) for denial in result.denials] == [(driver.noting, True)]
    assert driver.noted() == []


async def test_where_nobody_can_be_asked_the_call_is_refused(driver: Driver) -> None:
    alone = policy(**{driver.noting: "always_ask"}).model_copy(update={"may_ask": False})
    status, result = ended(
        await run(driver, driver.package(driver.note("never"), Say("Oh."), permissions=alone))
    )
    assert (status, result.pending, len(result.denials)) == ("success", [], 1)
    assert driver.noted() == []


async def test_a_tool_that_is_answered_outside_ends_the_run_until_its_result_is_there(driver: Driver) -> None:
    first, (pending,) = await asked(driver, Call("lookup", {"id": 7}), custom_tools=[LOOKUP])
    assert (pending.kind, pending.tool_args) == ("custom_tool", {"id": 7})
    decision = decide(pending, "answered", output="a heron")
    options: dict[str, Any] = {"decisions": [decision], "history": memory(first)}
    events = await run(driver, driver.package(Say("I see."), custom_tools=[LOOKUP], **options))
    assert ended(events)[0] == "success"
    assert "a heron" in driver.told()


async def test_tools_of_the_runtime_are_called_back(driver: Driver) -> None:
    bell = [BELL.definition()]
    events = await run(driver, driver.package(Call("bell", {"times": 3}), Say("Rung."), runtime_tools=bell))
    assert ended(events)[0] == "success"
    assert "session rang 3 times" in driver.told()
    events = await run(
        driver, driver.package(Call("bell", {"times": "often"}), Say("Oh."), runtime_tools=bell)
    )
    (completed,) = [e.payload for e in events if e.payload.get("phase") == "completed"]
    assert completed["error"] is True
    assert "not valid" in driver.told()


async def test_a_tool_the_package_does_not_name_does_not_exist(driver: Driver) -> None:
    others = [name for name in driver.harness.tool_names if name != driver.noting]
    events = await run(driver, driver.package(driver.note("never"), Say("Oh."), tools=others))
    assert ended(events)[0] == "success"
    assert driver.noted() == []


async def test_runs_at_the_same_time_do_not_mix(driver: Driver) -> None:
    async def one(number: int) -> str:
        package = driver.package(Say(f"I am {number}."), input_id=f"input-{number}")
        return ended(await run(driver, package))[1].assistant_text

    said = await asyncio.gather(*(one(number) for number in range(5)))
    assert sorted(said) == [f"I am {number}." for number in range(5)]


async def test_it_prepares_no_more_than_it_can_use(driver: Driver) -> None:
    capabilities, plan = driver.harness.capabilities, driver.harness.prep_plan("workspace_session")
    assert capabilities.supports_mcp or not (plan.prepare_mcp_tooling or plan.start_workspace_mcp_sidecar)
    assert capabilities.supports_skills or not plan.stage_workspace_skills
    with pytest.raises(HostAskError):
        await driver.harness.ask("workspace", "no-such-thing", {})


async def test_closing_leaves_no_process(provider: ScriptedProvider, workspace: Path) -> None:
    before = {process.pid for process in descendants(os.getpid())}
    for registry, name in ((HARNESSES, "native"), (HarnessRegistry(ADAPTER), "toy")):
        harness = registry.open(name, HarnessOptions())
        await harness.start()
        await harness.close()
    assert {process.pid for process in descendants(os.getpid())} <= before


def test_the_registry_knows_names_and_aliases() -> None:
    assert HARNESSES.knows("pi")
    assert HARNESSES.names == ("native",)
    registry = HarnessRegistry(ADAPTER)
    with pytest.raises(ValueError, match="already"):
        registry.register(ADAPTER)
    with pytest.raises(LookupError):
        registry.open("nobody", HarnessOptions())
