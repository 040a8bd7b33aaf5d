"""Both faces of one session: messages of the desktop and typed events reach the same queue, log and turns."""

from __future__ import annotations

import asyncio

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.sessions import CreateSession, QueueRequest
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import append, client_of, new_agent_session, say
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


class Gate:
    """Holds the first run of each session, so that more can be asked meanwhile; then answers with a number."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.open = asyncio.Event()
        core.harness.script = self.script

    async def script(self, stage: Stage) -> None:
        await self.open.wait()
        stage.tool("ls")
        stage.say(f"answer {len(self.core.harness.packages)}")

    async def held(self, runs: int) -> None:
        await self.core.until(lambda: self.core.harness.running == runs)


async def test_a_message_of_the_desktop_runs_in_a_session_of_an_agent(core: Core) -> None:
    gate = Gate(core)
    async with client_of(core) as client:
        session = (await client.create_session(CreateSession(agent_id="scout"))).session_id
        workspace = (await client.session_status(session)).workspace_id

        async def queue(text: str) -> str:
            body = QueueRequest(workspace_id=workspace, session_id=session, text=text)
            return (await client.queue(body)).input_id

        first = await queue("first")
        await gate.held(1)
        later = [await queue("second"), (await say(client, session, "third")).input_id, await queue("fourth")]
        gate.open.set()
        await core.until(lambda: at_rest(core, session))
        assert [len(asked) for asked in await taken_by_turn(client, session)] == [1, 3]
        assert await taken_by_turn(client, session) == [[first], later]
        await events_and_turns_agree(client, session)


async def test_a_typed_message_runs_in_a_conversation_of_the_desktop(core: Core) -> None:
    gate = Gate(core)
    async with client_of(core) as client:
        made = await client.create_session(CreateSession(workspace_id=WORKSPACE))
        session = made.session_id
        first = (await say(client, session, "first")).input_id
        await gate.held(1)
        body = QueueRequest(workspace_id=WORKSPACE, session_id=session, text="second")
        later = [(await client.queue(body)).input_id, (await say(client, session, "third")).input_id]
        gate.open.set()
        await core.until(lambda: at_rest(core, session))
        assert await taken_by_turn(client, session) == [[first], [later[0]], [later[1]]]
        await events_and_turns_agree(client, session)
        history = await client.history(WORKSPACE, session)
        assert [message.text for message in history.messages if message.role == "user"] == [
            "first",
            "second",
            "third",
        ]


async def test_turns_and_events_agree_however_a_run_ends(core: Core) -> None:
    async def script(stage: Stage) -> None:
        if "break" in stage.package.instruction:
            stage.fail(type="AuthError", message="bad key")
        if "ask" in stage.package.instruction and not stage.package.decisions:
            stage.ask("bash", {"command": "ls"})
        stage.say("fine")

    core.harness.script = script
    async with client_of(core) as client:
        session = await new_agent_session(client)
        for event_type, payload in (
            ("user.message", {"text": "hello"}),
            ("user.message", {"text": "break"}),
            ("user.message", {"text": "ask"}),
            ("user.interrupt", {}),
            ("user.define_outcome", {"title": "a report"}),
        ):
            await append(client, session, event_type, payload)
            await core.until(lambda: at_rest(core, session))
        await events_and_turns_agree(client, session)
        turns = (await client.turn_results(session)).items[::-1]
        assert [turn.status for turn in turns] == [
            "completed",
            "failed",
            "waiting_user",
            "paused",
            "completed",
        ]


def at_rest(core: Core, session_id: str) -> bool:
    """Nothing runs, and nothing is left that could."""
    status = core.sessions.views.status(session_id)
    return status.pending_events == 0 and status.lease_owner is None


async def taken_by_turn(client: RuntimeClient, session: str) -> list[list[str]]:
    """Ids of the inbound events of each finished wake, oldest first."""
    ends = (await client.session_events(session, types=["span.completed"])).items
    wakes = [event.wake_id for event in ends if event.payload["span_kind"] == "wake"]
    taken: list[list[str]] = []
    for wake in wakes:
        trace = (await client.session_events(session, wake_id=wake)).items
        taken.append([event.event_id for event in trace if event.type.startswith("user.")])
    return taken


async def events_and_turns_agree(client: RuntimeClient, session: str) -> None:
    """One wake span, one turn, one terminal output event and, where something was said, one message for each."""
    status = await client.session_status(session)
    turns = (await client.turn_results(session)).items[::-1]
    taken = await taken_by_turn(client, session)
    assert [asked[0] for asked in taken] == [turn.input_id for turn in turns]
    said = (await client.session_events(session, types=["agent.message"])).items
    assert {event.payload["input_id"]: event.payload["message"] for event in said} == {
        turn.input_id: turn.assistant_text for turn in turns if turn.assistant_text
    }
    outputs = (await client.output_events(status.workspace_id, session)).items
    assert [event.input_id for event in outputs if event.is_terminal] == [turn.input_id for turn in turns]
    index = await client.turn_index(status.workspace_id, session)
    assert [row[1] for row in index.rows] == [turn.input_id for turn in turns]
    inbound = [
        event for event in (await client.session_events(session)).items if event.type.startswith("user.")
    ]
    assert sorted(event.event_id for event in inbound) == sorted(one for asked in taken for one in asked)
    assert all(event.processed_at and event.wake_id for event in inbound)
