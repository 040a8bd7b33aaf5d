"""A session of an agent: many messages in one run, a loop block that is obeyed, requests that wait for a decision."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AppendEvent, CreateAgentSession, SessionEvent, WakeReport
from holaboss_client.events import RunEvent
from holaboss_runtime.errors import DomainError
from tests.runtime.sessions.core import Core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


class Agent:
    """One agent session, woken by hand: nothing runs unless a test wakes it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        body = CreateAgentSession(agent_id="alpha")
        self.id = core.sessions.agent_directory.create(body).session_id

    def append(self, event_type: str, **payload: Any) -> SessionEvent:
        body = AppendEvent(type=event_type, payload=payload)
        return self.core.sessions.control.append(self.id, body).event

    def say(self, text: str) -> SessionEvent:
        return self.append("user.message", text=text)

    async def wake(self) -> WakeReport:
        return self.core.sessions.views.report(await self.core.sessions.waker.wake(self.id))

    def events(self, *types: str) -> list[SessionEvent]:
        return self.core.sessions.views.events(self.id, types=types, limit=1000).items

    @property
    def status(self) -> str:
        return self.core.sessions.views.status(self.id).status

    @property
    def memory(self) -> str:
        return (self.core.root / ".openboa/agents/alpha/workspace/MEMORY.md").read_text()


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    core = Core(tmp_path)
    yield Agent(core)
    await core.close()


def loop(**fields: Any) -> str:
    return f"<openboa-session-loop>{json.dumps(fields)}</openboa-session-loop>"


def answers(text: str) -> Any:
    async def script(stage: Stage) -> None:
        stage.say(text)

    return script


async def test_one_wake_takes_everything_that_waits(agent: Agent) -> None:
    first, second = agent.say("one"), agent.say("two")
    report = await agent.wake()
    assert report.processed_event_ids == [first.event_id, second.event_id]
    [package] = agent.core.harness.packages
    assert "one" in package.instruction
    assert "two" in package.instruction
    assert len(agent.events("agent.message")) == 1
    assert [event.processed_at is not None for event in agent.events("user.message")] == [True, True]
    again = await agent.wake()
    assert (again.executed, again.skipped) == (False, "idle")


async def test_a_wake_is_a_trace_with_one_closed_span(agent: Agent) -> None:
    agent.say("go")
    report = await agent.wake()
    trace = agent.core.sessions.views.events(agent.id, wake_id=report.wake_id).items
    assert [event.type for event in trace] == [
        "user.message",
        "session.status_changed",
        "span.started",
        "agent.message",
        "session.status_idle",
        "span.completed",
    ]
    assert trace[-1].payload["result"] == "success"


async def test_the_loop_block_is_obeyed_and_not_shown(agent: Agent) -> None:
    block = loop(
        outcome="sleep",
        summary="Waits for the build.",
        queuedWakes=[{"reason": "check the build", "delaySeconds": 60, "dedupeKey": "build"}],
        learnings=[{"kind": "lesson", "title": "Builds", "detail": "are slow", "promoteToMemory": True}],
    )
    agent.core.harness.script = answers(f"I will look again.\n{block}")
    agent.say("watch the build")
    report = await agent.wake()
    assert report.response == "I will look again."
    assert [wake.reason for wake in report.queued_wakes] == ["check the build"]
    assert report.status == "rescheduling"
    shown = [event for event in agent.core.events(agent.id) if event.event_type == RunEvent.OUTPUT_DELTA]
    assert "openboa" not in "".join(event.payload["delta"] for event in shown)
    assert "Builds" in agent.memory
    state = agent.core.sessions.control.state("alpha", agent.id)
    assert (state.runtime_status, state.next_wake_at) == ("IDLE", report.queued_wakes[0].due_at)


async def test_continuing_has_an_end(agent: Agent) -> None:
    agent.core.harness.script = answers(loop(outcome="continue", followUpSeconds=1))
    agent.say("never stop")
    statuses = [(await agent.wake()).status]
    for _ in range(3):
        agent.core.database.execute("UPDATE session_wakes SET due_at = created_at")
        statuses.append((await agent.wake()).status)
    assert statuses == ["rescheduling", "rescheduling", "rescheduling", "idle"]


async def test_a_custom_tool_waits_for_its_result(agent: Agent) -> None:
    agent.core.harness.script = answers(loop(customToolRequest={"name": "lookup", "input": {"id": 7}}))
    agent.say("look it up")
    assert (await agent.wake()).status == "requires_action"
    [asked] = agent.events("agent.custom_tool_use")
    assert agent.events("agent.message") == []
    assert (await agent.wake()).skipped == "requires_action"
    agent.say("are you there?")
    assert agent.status == "requires_action", "another message does not end the request"
    assert (await agent.wake()).skipped == "requires_action"
    agent.append("user.custom_tool_result", request_id=asked.payload["request_id"], output="forty-two")
    agent.core.harness.script = answers("Thanks.")
    report = await agent.wake()
    assert report.status == "idle"
    assert "forty-two" in agent.core.harness.packages[-1].instruction
    assert "are you there?" in agent.core.harness.packages[-1].instruction
    with pytest.raises(DomainError, match="decided already"):
        agent.append("user.custom_tool_result", request_id=asked.payload["request_id"], output="again")


async def test_several_requests_wait_for_the_last_decision(agent: Agent) -> None:
    async def asks(stage: Stage) -> None:
        if not stage.package.decisions:
            first = stage.blocked("bash", {"command": "make"})
            second = stage.blocked("write", {"path": "a"})
            stage.wait(first, second)
        stage.say("Done.")

    agent.core.harness.script = asks
    agent.say("do both")
    assert (await agent.wake()).status == "requires_action"
    one, two = agent.core.sessions.views.actions(agent.id, only_open=True).items
    [idle] = agent.events("session.status_idle")
    assert len(idle.payload["blocking_event_ids"]) == 2
    agent.append("user.tool_confirmation", request_id=one.id, allowed=True)
    assert (await agent.wake()).skipped == "requires_action"
    agent.append("user.tool_confirmation", request_id=two.id, allowed=False, note="not that file")
    assert (await agent.wake()).status == "idle"
    outcomes = {found.tool_name: found.outcome for found in agent.core.harness.packages[-1].decisions}
    assert outcomes == {"bash": "approved", "write": "denied"}
    agent.say("and now?")
    await agent.wake()
    assert agent.core.harness.packages[-1].decisions == [], "a decision is handed out once"


async def test_the_log_says_who_allowed_a_call(agent: Agent) -> None:
    async def asks(stage: Stage) -> None:
        if not stage.package.decisions:
            stage.ask("bash", {"command": "make"})
        stage.tool("bash", call_id=stage.decision("bash").call_id)
        stage.tool("read")

    agent.core.harness.script = asks
    agent.say("build")
    await agent.wake()
    [request] = agent.core.sessions.views.actions(agent.id, only_open=True).items
    agent.append("user.tool_confirmation", allowed=True)
    await agent.wake()
    used = [event.payload for event in agent.events("agent.tool_use") if event.payload["output"] is not None]
    assert [(call["tool_name"], call["request_id"], call["permission_policy"]) for call in used] == [
        ("bash", request.id, "always_ask"),
        ("read", None, "always_allow"),
    ]


async def test_an_interrupt_discards_what_waits(agent: Agent) -> None:
    async def asks(stage: Stage) -> None:
        if not stage.package.decisions:
            stage.ask("bash", {"command": "rm"})
        stage.say("Stopped.")

    agent.core.harness.script = asks
    agent.say("clean up")
    await agent.wake()
    agent.append("user.interrupt")
    report = await agent.wake()
    assert report.result == "aborted"
    assert len(agent.core.harness.packages) == 1, "nobody needs a model to stop"
    assert agent.status == "idle"
    agent.say("what now?")
    await agent.wake()
    assert [found.outcome for found in agent.core.harness.packages[-1].decisions] == ["cancelled"]


async def test_a_terminated_session_takes_nothing_more(agent: Agent) -> None:
    agent.say("never read")
    agent.core.sessions.control.terminate(agent.id)
    assert (await agent.wake()).skipped == "terminated"
    assert agent.events("user.message")[0].processed_at is not None
    with pytest.raises(DomainError, match="has ended"):
        agent.say("hello?")
    assert agent.core.sessions.control.state("alpha", agent.id).runtime_status == "IDLE"


async def test_a_malformed_definition_refuses_the_run_and_says_where(agent: Agent) -> None:
    (agent.core.root / ".openboa/agents/alpha/agent.json").write_text('{"tools": ')
    agent.say("hello")
    report = await agent.wake()
    assert report.result == "error"
    assert report.error is not None
    assert "agent.json" in str(report.error["message"])
    assert agent.core.harness.packages == []


async def test_a_stop_beats_what_was_allowed_before_it(agent: Agent) -> None:
    async def asks(stage: Stage) -> None:
        if not stage.package.decisions:
            stage.ask("bash", {"command": "rm"})
        stage.say("Left alone.")

    agent.core.harness.script = asks
    agent.say("clean up")
    await agent.wake()
    confirmation = agent.append("user.tool_confirmation", allowed=True)
    agent.append("user.interrupt", note="wait")
    await agent.wake()
    assert [found.outcome for found in agent.core.harness.packages[-1].decisions] == ["cancelled"]
    [event] = agent.events("user.tool_confirmation")
    assert event.event_id == confirmation.event_id
    assert event.processed_at is not None


async def test_a_stop_ends_what_was_to_be_tried_again(agent: Agent) -> None:
    async def busy(stage: Stage) -> None:
        stage.fail(type="overloaded", message="Later.", retryable=True, retry_after_s=250)

    agent.core.harness.script = busy
    first = agent.say("go")
    assert (await agent.wake()).result == "retry"
    assert (await agent.wake()).skipped == "deferred"
    agent.append("user.interrupt")
    report = await agent.wake()
    assert report.result == "aborted"
    assert first.event_id in report.processed_event_ids
    assert (await agent.wake()).skipped == "idle"
    assert len(agent.core.harness.packages) == 1


async def test_a_stop_does_not_end_a_pause(agent: Agent) -> None:
    agent.say("later")
    agent.core.records.sessions.hold(agent.id, "user_pause")
    agent.append("user.interrupt")
    assert (await agent.wake()).skipped == "held"
    agent.say("go on")
    assert (await agent.wake()).executed


async def test_an_agent_waits_as_long_as_its_file_says(agent: Agent) -> None:
    config = agent.core.root / ".openboa/agents/alpha/agent.json"
    document = json.loads(config.read_text())
    backoff = {"pendingEventBackoffBaseMs": 40_000, "pendingEventBackoffMaxMs": 50_000}
    document["resilience"] = {"retry": backoff}
    config.write_text(json.dumps(document))

    async def busy(stage: Stage) -> None:
        stage.fail(type="overloaded", message="Later.", retryable=True)

    agent.core.harness.script = busy
    agent.say("go")
    waits: list[float] = []
    for _ in range(3):
        assert (await agent.wake()).result == "retry"
        retrying = [e for e in agent.core.events(agent.id) if e.event_type == RunEvent.RUN_RETRYING]
        waits.append(retrying[-1].payload["delay_s"])
        agent.core.database.execute("UPDATE agent_session_inputs SET available_at = ''")
    assert 30 <= waits[0] <= 50
    assert all(37.5 <= wait <= 62.5 for wait in waits[1:])
