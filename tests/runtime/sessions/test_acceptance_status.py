"""The two vocabularies of a session's status, row by row, and what becomes of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holaboss_client.agents import DecideAction, ScheduleWake
from holaboss_client.client import RuntimeClient
from holaboss_client.sessions import CreateSession, PatchSession
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import append, client_of, say
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Row:
    """One session, seen from both sides."""

    client: RuntimeClient
    core: Core
    session: str
    workspace: str

    async def says(self, runtime: str, agent: str, *, effective: str | None = None) -> None:
        """`effective` differs from `runtime` where the queue counts for more than a pause."""
        state = await self.client.session_state(self.workspace, self.session)
        status = await self.client.session_status(self.session)
        assert (state.runtime_status, status.runtime_status) == (runtime, runtime)
        assert (state.status, status.status) == (agent, agent)
        assert state.effective_state == (effective or runtime)
        listed = (await self.client.session_states(self.workspace)).items
        assert [one for one in listed if one.session_id == self.session] == [state]

    async def wake(self) -> None:
        assert (await self.client.wake(self.session, wait=True)).executed

    async def say(self, text: str) -> None:
        await say(self.client, self.session, text)

    async def last_turn(self) -> str:
        return (await self.client.turn_results(self.session)).items[0].status


class Conductor:
    """A harness script that does what the message says."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, stage: Stage) -> None:
        words = stage.package.instruction
        if "hang" in words:
            await self.go.wait()
        if "ask" in words and not stage.package.decisions:
            stage.ask("bash", {})
        if "retry" in words:
            stage.fail(message="503", retryable=True, retry_after_s=250)
        if "break" in words:
            stage.fail(type="broken", message="it broke")
        stage.say("fine")


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    """Without a worker: a session stays in each state until the test moves it."""
    core = Core(tmp_path)
    core.harness.script = Conductor()
    yield core
    await core.close()


@pytest.fixture(params=["agent", "desktop"])
async def row(request: pytest.FixtureRequest, core: Core) -> AsyncIterator[Row]:
    async with client_of(core) as client:
        agent = request.param == "agent"
        body = CreateSession(agent_id="scout") if agent else CreateSession(workspace_id=WORKSPACE)
        made = await client.create_session(body)
        yield Row(client, core, made.session_id, made.workspace_id)


async def test_nothing(row: Row) -> None:
    await row.says("IDLE", "idle")
    await row.say("hello")
    await row.wake()
    await row.says("IDLE", "idle")
    assert await row.last_turn() == "completed"


async def test_an_input_that_can_run(row: Row) -> None:
    await row.say("hello")
    await row.says("QUEUED", "rescheduling")


async def test_a_run(row: Row) -> None:
    await row.say("hang")
    waking = asyncio.create_task(row.client.wake(row.session, wait=True))
    await row.core.until(lambda: row.core.harness.running == 1)
    await row.says("BUSY", "running")
    await row.say("one more")
    await row.says("BUSY", "running")
    conductor = row.core.harness.script
    assert isinstance(conductor, Conductor)
    conductor.go.set()
    await waking
    await row.says("QUEUED", "rescheduling")


async def test_something_to_decide(row: Row) -> None:
    await row.say("ask")
    await row.wake()
    await row.says("WAITING_USER", "requires_action")
    assert await row.last_turn() == "waiting_user"
    await row.say("hello?")
    await row.says("WAITING_USER", "requires_action")
    (action,) = (await row.client.pending_actions(row.session)).items
    await row.client.decide_action(row.session, action.id, DecideAction(allowed=True))
    await row.says("QUEUED", "rescheduling")
    waking = row.client.wake(row.session, wait=True)
    await waking
    assert (await row.client.session_status(row.session)).pending_actions == []


async def test_a_pause(row: Row) -> None:
    await row.say("hello")
    await row.say("and more")
    await row.client.pause(row.workspace, row.session)
    assert await row.last_turn() == "paused"
    status = await row.client.session_status(row.session)
    assert status.hold == "user_pause"
    if status.pending_events:
        await row.says("PAUSED", "idle", effective="QUEUED")
    else:
        await row.says("PAUSED", "idle")
    await row.client.resume(row.workspace, row.session)
    assert (await row.client.session_status(row.session)).hold is None


async def test_an_error(row: Row) -> None:
    await row.say("break")
    await row.wake()
    await row.says("ERROR", "idle")
    assert await row.last_turn() == "failed"
    status = await row.client.session_status(row.session)
    assert status.last_error is not None
    assert status.last_error["code"] == "broken"
    await row.say("again")
    await row.says("QUEUED", "rescheduling")
    assert (await row.client.session_status(row.session)).last_error is None


async def test_a_retry_that_waits(row: Row) -> None:
    await row.say("retry")
    report = await row.client.wake(row.session, wait=True)
    assert report.result == "retry"
    await row.says("IDLE", "rescheduling", effective="QUEUED")
    state = await row.client.session_state(row.workspace, row.session)
    assert state.next_wake_at is not None
    assert (await row.client.session_status(row.session)).next_retry_at == state.next_wake_at
    assert (await row.client.turn_results(row.session)).count == 0


async def test_only_a_wake_in_the_future(row: Row) -> None:
    wake = await row.client.schedule_wake(row.session, ScheduleWake(reason="later", delay_seconds=600))
    await row.says("IDLE", "rescheduling")
    state = await row.client.session_state(row.workspace, row.session)
    assert state.next_wake_at == wake.due_at


async def test_the_end(row: Row) -> None:
    await row.say("hello")
    await row.client.terminate(row.session)
    await row.says("IDLE", "terminated")


async def test_an_interrupt_takes_back_a_question(row: Row) -> None:
    await row.say("ask")
    await row.wake()
    await append(row.client, row.session, "user.interrupt", {})
    await row.wake()
    await row.says("IDLE", "idle")
    assert await row.last_turn() == "paused"


async def test_an_archived_session_is_at_rest(row: Row) -> None:
    await row.client.patch_session(row.session, PatchSession(workspace_id=row.workspace, archived=True))
    state = await row.client.session_state(row.workspace, row.session)
    assert (state.effective_state, state.status) == ("IDLE", "idle")
    listed = (await row.client.session_states(row.workspace)).items
    assert row.session not in {one.session_id for one in listed}
