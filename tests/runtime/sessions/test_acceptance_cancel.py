"""Stopping a long tool, a refused key and a delayed wake: one real server, real hosts, a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holaboss_client.agents import DecideAction, ScheduleWake
from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.events import OutputEvent
from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from tests.runtime.sessions.wire import append, say
from tests.support.processes import PATIENCE_S, wait_until_gone
from tests.support.scripted_provider import Answer, ScriptedProvider
from tests.support.scripted_provider import call as model_calls
from tests.support.scripted_provider import say as model_says
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio

KEY = "sk-marker-7d20fe"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=KEY) as running:
        yield running


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuntimeProcess]:
    folder = Path(tmp_path_factory.mktemp("acceptance"))
    with RuntimeProcess(folder / "root", keys={"mine": KEY}) as running:
        yield running


@pytest.fixture
async def client(runtime: RuntimeProcess, model: ScriptedProvider) -> AsyncIterator[RuntimeClient]:
    async with runtime.client() as client:
        await client.put_provider("mine", PutProvider(base_url=model.url, models=["scripted"]))
        yield client


async def conversation(client: RuntimeClient) -> tuple[str, str]:
    workspace = await client.create_workspace(CreateWorkspace(name="w"))
    made = await client.create_session(CreateSession(workspace_id=workspace.id))
    return workspace.id, made.session_id


@asynccontextmanager
async def change_feed(
    client: RuntimeClient,
) -> AsyncIterator[Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]]:
    """Wait for a condition by following the change feed."""
    changes = client.changes()
    assert await anext(changes) is None

    async def until(condition: Callable[[], Awaitable[bool]]) -> None:
        while not await condition():
            await anext(changes)

    try:
        yield until
    finally:
        await changes.aclose()


async def until_tool_runs(client: RuntimeClient, workspace: str, session: str) -> None:
    async for event in client.output_stream(workspace, session):
        if event is not None and event.event_type == "tool_call":
            return


def sleepers(runtime: RuntimeProcess, marker: str) -> list[int]:
    return [process.pid for process in runtime.descendants() if marker in process.command]


async def terminal(client: RuntimeClient, workspace: str, session: str) -> OutputEvent:
    stream = client.output_stream(workspace, session, stop_on_terminal=True)
    events = [event async for event in stream if event is not None]
    return events[-1]


async def hangs(client: RuntimeClient, runtime: RuntimeProcess, session: str, seconds: str) -> list[int]:
    """Wait until the command of a run sleeps; its processes."""
    status = await client.session_status(session)
    await until_tool_runs(client, status.workspace_id, session)
    async with asyncio.timeout(PATIENCE_S):
        while not (found := sleepers(runtime, f"sleep {seconds}")):  # noqa: ASYNC110 - /proc tells nobody
            await asyncio.sleep(0.01)
    return found


async def test_a_pause_ends_a_long_tool_and_its_process_group(
    client: RuntimeClient, runtime: RuntimeProcess, model: ScriptedProvider
) -> None:
    model.enqueue(model_calls("bash", command="sleep 1001 & sleep 1001"))
    workspace, session = await conversation(client)
    reply = await client.queue(QueueRequest(workspace_id=workspace, session_id=session, text="wait"))
    asleep = await hangs(client, runtime, session, "1001")
    assert (await client.pause(workspace, session)).status == "PAUSING"
    assert wait_until_gone(asleep) == []
    ended = await terminal(client, workspace, session)
    assert (ended.event_type, ended.payload["status"]) == ("run_completed", "paused")
    (turn,) = (await client.turn_results(session)).items
    assert (turn.input_id, turn.status) == (reply.input_id, "paused")
    state = await client.session_state(workspace, session)
    assert (state.effective_state, state.hold) == ("PAUSED", "user_pause")
    (span,) = (await client.session_events(session, types=["span.completed"])).items[-1:]
    assert (span.payload["span_kind"], span.payload["result"]) == ("wake", "aborted")


async def test_an_interrupt_ends_a_long_tool_that_was_allowed_and_the_session_goes_on(
    client: RuntimeClient, runtime: RuntimeProcess, model: ScriptedProvider
) -> None:
    model.enqueue(model_calls("bash", command="sleep 1002 & sleep 1002"), model_says("Here I am."))
    made = await client.create_session(CreateSession(agent_id="scout"))
    session = made.session_id
    async with change_feed(client) as until:

        async def asked() -> bool:
            return (await client.pending_actions(session, only_open=True)).count == 1

        async def rests() -> bool:
            return (await client.session_status(session)).status == "idle"

        async def answered() -> bool:
            return (await client.turn_results(session)).items[0].assistant_text == "Here I am."

        await say(client, session, "wait")
        await until(asked)
        assert sleepers(runtime, "sleep 1002") == []
        (action,) = (await client.pending_actions(session)).items
        await client.decide_action(session, action.id, DecideAction(allowed=True))
        asleep = await hangs(client, runtime, session, "1002")
        await append(client, session, "user.interrupt", {})
        assert wait_until_gone(asleep) == []
        await until(rests)
        status = await client.session_status(session)
        assert (status.hold, status.pending_events, status.runtime_status) == (None, 0, "IDLE")
        await say(client, session, "are you there?")
        await until(answered)
    ends = (await client.session_events(session, types=["span.completed"])).items
    results = [event.payload["result"] for event in ends if event.payload["span_kind"] == "wake"]
    assert (results[:2], results[-1]) == (["blocked", "aborted"], "success")
    assert len([turn for turn in (await client.turn_results(session)).items if turn.status == "paused"]) >= 1
    assert sleepers(runtime, "sleep 1002") == []


async def test_a_refused_key_fails_once_and_visibly(
    client: RuntimeClient, runtime: RuntimeProcess, model: ScriptedProvider
) -> None:
    asked = len(model.requests)
    model.enqueue(Answer(status=401, message="Wrong key."))
    workspace, session = await conversation(client)
    await client.queue(QueueRequest(workspace_id=workspace, session_id=session, text="hello"))
    ended = await terminal(client, workspace, session)
    assert ended.event_type == "run_failed"
    assert len(model.requests) == asked + 1
    state = await client.session_state(workspace, session)
    assert (state.effective_state, state.last_turn_status) == ("ERROR", "failed")
    assert state.last_error is not None
    assert state.last_error["code"] == ended.payload["type"]
    (turn,) = (await client.turn_results(session)).items
    assert turn.status == "failed"


async def test_a_delayed_wake_fires_by_itself(client: RuntimeClient, model: ScriptedProvider) -> None:
    model.enqueue(model_says("I looked again."))
    made = await client.create_session(CreateSession(agent_id="scout"))
    wish = ScheduleWake(reason="look again", delay_seconds=0.2, note="the report", dedupe_key="report")
    async with change_feed(client) as until:
        wake = await client.schedule_wake(made.session_id, wish)

        async def ran() -> bool:
            return (await client.session_status(made.session_id)).turns == 1

        await until(ran)
    (event,) = (await client.session_events(made.session_id, types=["session.wake_due"])).items
    assert [due["id"] for due in event.payload["wakes"]] == [wake.id]
    (turn,) = (await client.turn_results(made.session_id)).items
    assert turn.assistant_text == "I looked again."
    assert (await client.scheduled_wakes(made.session_id)).count == 0
    asked_again = await client.schedule_wake(
        made.session_id, wish.model_copy(update={"delay_seconds": 600.0})
    )
    assert asked_again.id != wake.id
