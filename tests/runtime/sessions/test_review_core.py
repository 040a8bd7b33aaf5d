"""Decisions and orders that cross a claim, a failure, a pause or another order: none is lost, none acts twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AppendEvent, CreateAgentSession, PendingAction
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.cancellation import SHUTDOWN, RunCancellation
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio

COMMAND = {"command": "rm report.txt"}


async def asks_once(stage: Stage) -> None:
    if "remove" in stage.package.instruction and not stage.package.decisions:
        stage.ask("bash", COMMAND)
    stage.say("ok")


class Waiting:
    """A session that waits for leave to run a command; nothing runs unless a test wakes it."""

    def __init__(self, core: Core, *, agent: bool) -> None:
        self.core = core
        core.harness.script = asks_once
        if agent:
            body = CreateAgentSession(agent_id="alpha")
            self.id = core.sessions.agent_directory.create(body).session_id
        else:
            self.id = core.sessions.directory.choose(WORKSPACE, "desk").session_id
        self.workspace = "alpha" if agent else WORKSPACE

    def append(self, event_type: str, *, event_id: str | None = None, **payload: Any) -> str:
        body = AppendEvent(type=event_type, payload=payload, event_id=event_id)
        return self.core.sessions.control.append(self.id, body).event.event_id

    def allow(self) -> str:
        return self.append("user.tool_confirmation", allowed=True)

    async def wake(self) -> None:
        await self.core.sessions.waker.wake(self.id)

    async def ask(self) -> PendingAction:
        self.append("user.message", text="remove the report")
        await self.wake()
        (action,) = self.core.sessions.views.actions(self.id, only_open=True).items
        return action

    def action(self) -> PendingAction:
        (action,) = self.core.sessions.views.actions(self.id).items
        return action

    @property
    def outcomes(self) -> list[str]:
        """Every decision a harness was given, in order."""
        packages = self.core.harness.packages
        return [decision.outcome for package in packages for decision in package.decisions]


@pytest.fixture(params=["agent", "desktop"])
async def waiting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Waiting]:
    core = Core(tmp_path)
    found = Waiting(core, agent=request.param == "agent")
    await found.ask()
    yield found
    await core.close()


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Waiting]:
    core = Core(tmp_path)
    yield Waiting(core, agent=True)
    await core.close()


@pytest.mark.parametrize("first", ["allow", "stop"])
async def test_an_interrupt_beats_an_approval_that_no_run_has_got_yet(waiting: Waiting, first: str) -> None:
    steps = {"allow": waiting.allow, "stop": lambda: waiting.append("user.interrupt")}
    events = [steps[name]() for name in sorted(steps, key=lambda name: name != first)]
    await waiting.wake()
    assert waiting.action().status == "cancelled"
    assert "approved" not in waiting.outcomes
    log = [waiting.core.records.events.get(event_id) for event_id in events]
    assert all(event is not None and event.processed_at is not None for event in log)


async def test_a_decision_survives_a_run_that_could_not_start(waiting: Waiting) -> None:
    waiting.allow()
    waiting.core.models.configured = False
    await waiting.wake()
    assert waiting.outcomes == []
    waiting.core.models.configured = True
    waiting.append("user.message", text="go on")
    await waiting.wake()
    await waiting.wake()
    assert waiting.outcomes == ["approved"]


async def test_an_approval_that_is_paused_before_it_runs_is_taken_back(waiting: Waiting) -> None:
    waiting.allow()
    waiting.core.sessions.control.pause(waiting.workspace, waiting.id)
    assert waiting.action().status == "cancelled"
    waiting.append("user.message", text="rather not")
    await waiting.wake()
    assert waiting.outcomes == ["cancelled"]


async def test_a_run_that_got_an_approval_is_not_repeated_after_a_shutdown(waiting: Waiting) -> None:
    cancel = RunCancellation()

    async def stopped(stage: Stage) -> None:
        cancel.cancel(SHUTDOWN)
        await asyncio.Event().wait()

    waiting.core.harness.script = stopped
    waiting.allow()
    await waiting.core.sessions.waker.wake(waiting.id, cancel=cancel)
    waiting.core.harness.script = asks_once
    await waiting.wake()
    assert waiting.outcomes == ["approved"]


async def test_what_was_said_with_an_interrupt_reaches_the_model_beside_a_decision(waiting: Waiting) -> None:
    waiting.append("user.tool_confirmation", allowed=False)
    waiting.append("user.interrupt", note="write a summary instead")
    await waiting.wake()
    assert waiting.outcomes == ["denied"]
    assert "write a summary instead" in waiting.core.harness.packages[-1].instruction


@pytest.mark.parametrize("trouble", ["no key", "no model"])
async def test_a_bare_interrupt_needs_no_model(waiting: Waiting, trouble: str) -> None:
    if trouble == "no key":
        waiting.core.models.missing_keys = {"openai"}
    waiting.core.models.configured = trouble != "no model"
    event_id = waiting.append("user.interrupt")
    await waiting.wake()
    assert waiting.action().status == "cancelled"
    turn = waiting.core.records.turns.get(event_id)
    assert turn is not None
    assert turn.status == "paused"


@pytest.mark.parametrize("kind", ["agent", "desktop"])
async def test_an_interrupt_ends_what_waits_for_its_next_attempt(tmp_path: Path, kind: str) -> None:
    async def busy(stage: Stage) -> None:
        stage.fail(message="busy", retryable=True, retry_after_s=250)

    async with running_core(tmp_path) as core:
        session = Waiting(core, agent=kind == "agent")
        core.harness.script = busy
        event_id = session.append("user.message", text="hello")
        await core.until(lambda: core.types(event_id)[-1:] == ["run_retrying"])
        session.append("user.interrupt")
        await core.until(lambda: core.types(event_id)[-1:] == ["run_completed"])
        turn = core.records.turns.get(event_id)
        assert turn is not None
        assert turn.status == "paused"
        assert core.records.inputs.retrying(session.id) is None
        assert len(core.harness.packages) == 1


async def test_an_interrupt_that_is_sent_again_stops_nothing_new(agent: Waiting) -> None:
    agent.append("user.interrupt", event_id="stop-1")
    await agent.wake()
    stopped: list[str] = []
    agent.core.sessions.orchestrator.cancel_run = lambda _session, reason: stopped.append(reason)  # type: ignore[method-assign]
    agent.append("user.interrupt", event_id="stop-1")
    assert stopped == []
    agent.append("user.interrupt", event_id="stop-2")
    assert stopped == ["user_interrupt"]


async def test_a_key_of_a_message_is_no_interrupt(agent: Waiting) -> None:
    stopped: list[str] = []
    agent.core.sessions.orchestrator.cancel_run = lambda _session, reason: stopped.append(reason)  # type: ignore[method-assign]
    for event_type, payload in (("user.message", {"text": "x"}), ("user.interrupt", {})):
        body = AppendEvent(type=event_type, payload=payload, idempotency_key="k")
        agent.core.sessions.control.append(agent.id, body)
    assert stopped == []


async def test_the_id_of_another_event_of_the_log_is_refused(agent: Waiting) -> None:
    await agent.ask()
    taken = next(e for e in agent.core.records.events.select(agent.id) if e.type == "span.started")
    with pytest.raises(DomainError) as refused:
        agent.append("user.message", event_id=taken.event_id, text="hello")
    assert refused.value.code == "event_id_in_use"


async def test_text_that_no_database_can_hold_is_refused_by_name(agent: Waiting) -> None:
    for payload in ({"text": "a\ud800b"}, {"text": "ok", "model": "\udfff"}):
        with pytest.raises(DomainError) as refused:
            agent.append("user.message", **payload)
        assert refused.value.kind == "unprocessable"
    assert agent.core.records.inputs.queued(agent.id) == []


async def test_waiting_for_an_agent_does_not_wait_for_a_key(tmp_path: Path) -> None:
    async with running_core(tmp_path) as core:
        session = Waiting(core, agent=True)
        core.models.missing_keys = {"openai"}
        session.append("user.message", text="hello")
        await core.sessions.orchestrator.drained("alpha")
        assert core.sessions.views.status(session.id).last_error is not None
