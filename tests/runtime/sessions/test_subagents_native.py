"""Subagents with everything real: a server, its hosts, the tools, and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from holaboss_client.agents import DecideAction, SessionEvent
from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.permissions import SetPermissions
from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_client.subagents import BackgroundTask
from holaboss_client.workspaces import CreateWorkspace
from tests.runtime.sessions.wire import new_agent_session, say
from tests.support.processes import wait_for_commands, wait_until_gone
from tests.support.scripted_provider import Answer, Gate, Recorded, ScriptedProvider
from tests.support.scripted_provider import call as model_calls
from tests.support.scripted_provider import say as model_says
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio

KEY = "sk-marker-31ad77"


class Model:
    """Answers by the part of its orders that stands in what was said last; each gets the results of its tools."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        self.rules: dict[str, Callable[[Recorded], object]] = {}
        provider.respond_with(self.respond)

    def respond(self, request: Recorded) -> Answer:
        # What a subagent reports quotes its task, so the news are looked for first.
        for words in sorted(self.rules, key=lambda words: not words.startswith("Background tasks")):
            if words in request.prompt.text:
                answer = self.rules[words](request)
                return answer if isinstance(answer, Answer) else Answer(answer)  # pyright: ignore[reportArgumentType]
        return Answer(model_says("Nothing to do."))

    def asked(self, words: str) -> list[Recorded]:
        return [one for one in self.provider.requests if words in one.prompt.text]


class Desk:
    """A conversation of a workspace whose person trusts it."""

    def __init__(self, client: RuntimeClient, workspace_id: str, session_id: str) -> None:
        self.client = client
        self.workspace_id = workspace_id
        self.session_id = session_id

    async def send(self, text: str) -> None:
        body = QueueRequest(workspace_id=self.workspace_id, session_id=self.session_id, text=text)
        await self.client.queue(body)

    async def tasks(self) -> list[BackgroundTask]:
        found = await self.client.background_tasks(self.workspace_id)
        return found.items[::-1]

    async def log(self, *types: str) -> list[SessionEvent]:
        return (await self.client.session_events(self.session_id, types=list(types), limit=1000)).items

    async def said(self) -> list[str]:
        history = await self.client.history(self.workspace_id, self.session_id)
        return [message.text for message in history.messages if message.role == "assistant"]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait by following the change feed."""
        changes = self.client.changes()
        assert await anext(changes) is None
        try:
            while not await holds():  # pyright: ignore[reportGeneralTypeIssues]
                await anext(changes)
        finally:
            await changes.aclose()

    async def until_statuses(self, *wanted: str) -> list[BackgroundTask]:
        async def hold() -> bool:
            return [task.status for task in await self.tasks()] == list(wanted)

        await self.until(hold)
        return await self.tasks()

    async def until_said(self, count: int) -> list[str]:
        async def hold() -> bool:
            state = await self.client.session_state(self.workspace_id, self.session_id)
            return len(await self.said()) >= count and state.runtime_status == "IDLE"

        await self.until(hold)
        return await self.said()


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = Path(tmp_path_factory.mktemp("subagents"))
    with RuntimeProcess(folder / "root", keys={"mine": KEY}) as running:
        yield running


@pytest.fixture
def model() -> object:
    with ScriptedProvider(key=KEY) as running:
        yield Model(running)


@pytest.fixture
async def client(runtime: RuntimeProcess, model: Model) -> AsyncIterator[RuntimeClient]:
    async with runtime.client() as client:
        await client.put_provider("mine", PutProvider(base_url=model.provider.url, models=["scripted"]))
        yield client


@pytest.fixture
async def desk(client: RuntimeClient) -> Desk:
    workspace = await client.create_workspace(CreateWorkspace(name="w"))
    await client.set_permissions(workspace.id, SetPermissions(profile="trusted"))
    made = await client.create_session(CreateSession(workspace_id=workspace.id))
    return Desk(client, workspace.id, made.session_id)


def hands_out(*goals: str, **more: object) -> Callable[[Recorded], object]:
    """Delegates once, then ends its turn."""

    def answer(request: Recorded) -> object:
        if request.prompt.results:
            return model_says("Handed out.")
        return model_calls("delegate_task", tasks=[{"goal": goal} | more for goal in goals])

    return answer


async def test_two_subagents_report_in_one_message(model: Model, desk: Desk) -> None:
    doors, windows = Gate(), Gate()
    model.rules = {
        "Background tasks": lambda _: model_says("Three doors and nine windows."),
        "hand out": hands_out("count the doors", "count the windows"),
        "count the doors": lambda _: Answer(model_says("There are three doors."), gate=doors),
        "count the windows": lambda _: Answer(model_says("There are nine windows."), gate=windows),
    }
    await desk.send("hand out")
    await doors.wait_async()
    await windows.wait_async()  # both at once, and their owner is done
    await desk.until_statuses("running", "running")
    doors.release()
    windows.release()
    assert await desk.until_said(2) == ["Handed out.", "Three doors and nine windows."]
    [news] = model.asked("Background tasks")
    assert "There are three doors." in news.prompt.text
    assert "There are nine windows." in news.prompt.text
    tasks = await desk.until_statuses("completed", "completed")
    assert [task.result for task in tasks] == ["There are three doors.", "There are nine windows."]
    assert len(await desk.log("session.child_results")) == 1
    history = await desk.client.history(desk.workspace_id, tasks[0].subagent_id)
    assert history.messages[-1].text == "There are three doors."


async def test_a_child_run_moves_no_mounts_has_no_children_and_is_in_the_log_of_its_parent(
    runtime: RuntimeProcess, model: Model, client: RuntimeClient
) -> None:
    parent = await new_agent_session(client, "mason")
    later = Gate()

    def lead(request: Recorded) -> object:
        steps = [
            model_calls("write", path="before.txt", content="parent"),
            model_calls("delegate_task", goal="lay the bricks"),
            Answer(model_calls("write", path="after.txt", content="parent"), gate=later),
            model_calls("read", path="after.txt"),
            model_says("Built."),
        ]
        return steps[len(request.prompt.results)]

    def child(request: Recorded) -> object:
        steps = [
            model_calls("write", path="child.txt", content="child"),
            model_calls("delegate_task", goal="deeper"),
            model_says("Laid."),
        ]
        return steps[len(request.prompt.results)]

    model.rules = {
        "Background tasks": lambda _: model_says("Heard of it."),
        "lay the bricks": child,
        "build a house": lead,
    }
    await say(client, parent, "build a house")
    await later.wait_async()
    session = (await client.session_status(parent)).workspace_id  # its workspace
    [task] = (await client.background_tasks(session, owner_main_session_id=parent)).items
    desk = Desk(client, session, parent)
    await desk.until_statuses("completed")  # while the run of the parent is still under way
    later.release()
    await desk.until_said(2)

    folders = runtime.root / ".openboa" / "agents" / "mason" / "sessions"
    of_parent = sorted(path.name for path in (folders / parent / "workspace").glob("*.txt"))
    of_child = sorted(path.name for path in (folders / task.subagent_id / "workspace").glob("*.txt"))
    assert (of_parent, of_child) == (["after.txt", "before.txt"], ["child.txt"])

    inside = [one for one in model.asked("lay the bricks") if "Background tasks" not in one.prompt.text]
    assert len(inside) == 3
    assert all("delegate_task" not in one.prompt.tools for one in inside)
    assert "delegate_task" in model.asked("build a house")[0].prompt.tools
    assert (await client.background_tasks(session, owner_main_session_id=task.subagent_id)).count == 0

    log = await desk.log("session.child_created", "session.child_idle", "session.child_results")
    assert [event.type for event in log] == [
        "session.child_created", "session.child_idle", "session.child_results",
    ]  # fmt: skip
    assert {event.payload.get("child_session_id", task.subagent_id) for event in log} == {task.subagent_id}


async def test_what_a_subagent_asks_is_decided_in_its_own_session(model: Model, desk: Desk) -> None:
    await desk.client.set_permissions(desk.workspace_id, SetPermissions(profile="ask"))
    model.rules = {
        "Background tasks": lambda _: model_says("Noted."),
        "hand out": hands_out("touch a file"),
        "touch a file": lambda request: (
            model_says("Touched.")
            if request.prompt.results
            else model_calls("bash", command="touch here.txt")
        ),
    }
    await desk.send("hand out")

    async def asked() -> bool:
        return bool((await desk.client.pending_actions(desk.session_id, only_open=True)).items)

    await desk.until(asked)  # handing out is asked as well
    [action] = (await desk.client.pending_actions(desk.session_id, only_open=True)).items
    assert action.tool_name == "delegate_task"
    await desk.client.decide_action(desk.session_id, action.id, DecideAction(allowed=True))
    [task] = await desk.until_statuses("waiting_on_user")
    [action] = task.waiting_for
    assert (action.tool_name, action.session_id) == ("bash", task.subagent_id)
    assert await desk.until_said(2) == ["Handed out.", "Noted."]
    assert "only the person can allow that" in model.asked("Background tasks")[0].prompt.text
    await desk.client.decide_action(task.subagent_id, action.id, DecideAction(allowed=True))
    await desk.until_statuses("completed")
    assert (await desk.until_said(3))[-1] == "Noted."
    [idle, ended] = await desk.log("session.child_idle")
    assert (idle.payload["child_stop_reason"], ended.payload["child_stop_reason"]) == (
        "requires_action",
        "completed",
    )


async def test_cancelling_stops_its_commands_and_nothing_else(
    runtime: RuntimeProcess, model: Model, desk: Desk
) -> None:
    model.rules = {
        "hand out": hands_out("sleep long"),
        "sleep long": lambda _: model_calls("bash", command="sleep 1000"),
        "Background tasks": lambda _: model_says("I am."),  # its news come with what the person asks
    }
    await desk.send("hand out")
    [task] = await desk.until_statuses("running")
    async for event in desk.client.output_stream(desk.workspace_id, task.subagent_id):
        if event is not None and event.event_type == "tool_call":
            break
    sleeping = await asyncio.to_thread(wait_for_commands, runtime.pid, "sleep 1000")
    cancelled = await desk.client.cancel_background_task(task.subagent_id)
    assert (cancelled.status, cancelled.cancelled_at is not None) == ("cancelled", True)
    assert await asyncio.to_thread(wait_until_gone, sleeping) == []
    await desk.send("are you there")
    assert (await desk.until_said(2))[-1] == "I am."


async def test_a_subagent_has_no_more_time_than_it_was_given(model: Model, desk: Desk) -> None:
    endless = Gate()
    model.rules = {
        "Background tasks": lambda _: model_says("Too slow."),
        "hand out": hands_out("think for ever", timeout_ms=1_000),
        "think for ever": lambda _: Answer(model_says("Hm."), gate=endless),
    }
    await desk.send("hand out")
    assert await desk.until_said(2) == ["Handed out.", "Too slow."]
    [task] = await desk.tasks()
    assert (task.status, (task.error or {})["code"]) == ("failed", "run_timeout")
    endless.release()
