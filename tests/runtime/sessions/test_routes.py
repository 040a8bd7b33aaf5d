"""The session routes over a real socket, through the client every program of ours uses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace

import httpx
import pytest
import uvicorn

from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, OutputEvent
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession, EditInput, PatchSession, QueueRequest
from holaboss_runtime.api.app import build_routes
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.support.fake_harness import Stage
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture
async def url(core: Core) -> AsyncIterator[str]:
    """The routes without the gate, with what session routes use of the runtime's state."""
    app = build_routes()
    app.state.runtime = SimpleNamespace(sessions=core.sessions, changes=core.changes, lifetime=core.lifetime)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    core.lifetime.set()
    server.should_exit = True
    await serving


@pytest.fixture
async def client(url: str) -> AsyncIterator[RuntimeClient]:
    async with RuntimeClient(url, "unused") as client:
        yield client


def message(text: str, **fields: object) -> QueueRequest:
    return QueueRequest(workspace_id=WORKSPACE, session_id="s1", text=text, **fields)  # type: ignore[arg-type]


async def read(stream: AsyncIterator[OutputEvent | None]) -> list[OutputEvent]:
    return [event async for event in stream if event is not None]


async def test_a_turn_over_the_wire(client: RuntimeClient) -> None:
    reply = await client.queue(message("hello"))
    stream = client.output_stream(WORKSPACE, "s1", input_id=reply.input_id, stop_on_terminal=True)
    events = await read(stream)
    assert [event.event_type for event in events] == [
        "run_claimed",
        "run_started",
        "output_delta",
        "run_completed",
    ]
    assert (await client.session_state(WORKSPACE, "s1")).effective_state == "IDLE"
    history = await client.history(WORKSPACE, "s1")
    assert [m.text for m in history.messages] == ["hello", "You said: hello"]
    index = await client.turn_index(WORKSPACE, "s1")
    page = await client.turns(WORKSPACE, "s1", from_seq=index.rows[0][0], limit=10)
    assert page.items[0].input_id == reply.input_id
    assert page.items[0].events == events
    rest = await client.output_events(WORKSPACE, "s1", after_event_id=events[1].id)
    assert rest.items == events[2:]
    states = await client.session_states(WORKSPACE)
    assert [state.last_turn_status for state in states.items] == ["completed"]


async def test_managing_sessions_over_the_wire(client: RuntimeClient, core: Core) -> None:
    core.models.missing_keys = {"openai"}
    made = await client.create_session(CreateSession(workspace_id=WORKSPACE))
    renamed = await client.patch_session(made.session_id, PatchSession(workspace_id=WORKSPACE, title="new"))
    assert renamed.title == "new"
    assert (await client.ensure_main_session(WORKSPACE)).kind == "main_session"
    assert (await client.sessions(WORKSPACE)).count == 2
    one, two = await client.queue(message("one")), await client.queue(message("two"))
    edited = await client.edit_input("s1", one.input_id, EditInput(workspace_id=WORKSPACE, text="better"))
    assert edited.status == "QUEUED"
    assert (await client.cancel_input(WORKSPACE, "s1", two.input_id)).status == "CANCELLED"
    assert (await client.pause(WORKSPACE, "s1")).status == "PAUSED"
    assert (await client.resume(WORKSPACE, "s1")).effective_state == "IDLE"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/agent-sessions?workspace_id=nope", None, 404, "workspace_not_found"),
        ("GET", "/agent-sessions/nope/state?workspace_id=w1", None, 404, "session_not_found"),
        ("GET", "/agent-sessions/nope/turns?workspace_id=w1&limit=0", None, 422, "validation_failed"),
        ("POST", "/agent-sessions/queue", {"workspace_id": "w1", "text": " "}, 422, "text_required"),
        ("POST", "/agent-sessions/nope/pause", {"workspace_id": "w1"}, 404, "session_not_found"),
        ("DELETE", "/agent-sessions/nope/inputs/x?workspace_id=w1", None, 404, "input_not_found"),
        ("GET", "/agent-sessions/s/outputs/stream?workspace_id=nope", None, 404, "workspace_not_found"),
    ],
)
async def test_what_is_refused_is_a_problem(
    url: str, method: str, path: str, body: dict[str, str] | None, status: int, code: str
) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        reply = await http.request(method, f"{url}/api/v1{path}", json=body)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["code"] == code or status == 422


async def test_a_stream_resumes_after_the_last_event_id(client: RuntimeClient, url: str) -> None:
    await client.queue(message("hello"))
    events = await read(client.output_stream(WORKSPACE, "s1", stop_on_terminal=True))
    stream = client.output_stream(WORKSPACE, "s1", after_event_id=events[0].id, stop_on_terminal=True)
    assert await read(stream) == events[1:]
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        path = f"{url}/api/v1/agent-sessions/s1/outputs/stream?workspace_id=w1"
        raw = await http.get(path, headers={"last-event-id": str(events[1].id)})
        bad = await http.get(path, headers={"last-event-id": "x1"})
    first, second, *_ = raw.text.split("\n\n")
    assert first == ": connected"
    assert second.splitlines()[:2] == ["event: output_delta", f"id: {events[2].id}"]
    assert raw.headers["content-type"].startswith("text/event-stream")
    assert (bad.status_code, bad.json()["code"]) == (400, "last_event_id_invalid")


async def test_a_client_that_vanishes_leaves_no_task(url: str, core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.say("one")
        await asyncio.Event().wait()

    core.harness.script = script
    core.send("hello")
    await core.until_event("output_delta")

    def tasks() -> int:
        return sum(not task.cancelling() for task in asyncio.all_tasks())

    before = tasks()
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        path = f"{url}/api/v1/agent-sessions/s1/outputs/stream?workspace_id=w1"
        async with http.stream("GET", path) as reply:
            async for line in reply.aiter_lines():
                if line.startswith("event: output_delta"):
                    break
            assert tasks() > before
    async with asyncio.timeout(PATIENCE_S):
        while tasks() > before:  # noqa: ASYNC110 - the end of a task of the server has no event to wait for
            await asyncio.sleep(0)


async def test_the_change_feed_over_the_wire(client: RuntimeClient, core: Core) -> None:
    seen: list[str] = []

    async def listen() -> None:
        async for change in client.changes(after=0):
            if change is not None:
                seen.append(change.kind)

    listening = asyncio.create_task(listen())
    await client.queue(message("hello"))
    await core.until(lambda: core.state().effective_state == "IDLE")
    core.lifetime.set()
    await listening
    assert seen[-1] == Change.SHUTDOWN
    assert seen.count(Change.SESSION_STATE) == 3


async def test_a_position_that_is_gone_resets_the_feed(client: RuntimeClient) -> None:
    async for change in client.changes(after=999):
        if change is not None:
            assert change.kind == Change.RESET
            break


async def test_a_problem_is_raised_by_a_stream_that_is_refused(client: RuntimeClient) -> None:
    with pytest.raises(ProblemError):
        await read(client.output_stream("nope", "s1"))
