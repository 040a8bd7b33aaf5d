"""Background tasks over the routes: the list, one of them, cancelling and archiving."""

from __future__ import annotations

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession
from holaboss_runtime.sessions.subagents import Task
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import problem_of, refused

pytestmark = pytest.mark.anyio


def hand_out(core: Core, *goals: str, owner: str = "s1") -> list[str]:
    if core.records.sessions.get(owner) is None:
        core.sessions.directory.create(CreateSession(workspace_id=WORKSPACE, session_id=owner))
    begun = core.sessions.subagents.delegate(owner, "no-input", [Task(goal=goal) for goal in goals])
    return [record.subagent_id for record in begun]


async def test_the_list_and_its_filters(client: RuntimeClient, core: Core) -> None:
    one, two = hand_out(core, "one", "two")
    [other] = hand_out(core, "other", owner="s2")
    found = await client.background_tasks(WORKSPACE)
    assert [task.subagent_id for task in found.items] == [other, two, one]
    assert found.count == 3
    of_owner = await client.background_tasks(WORKSPACE, owner_main_session_id="s1")
    assert [task.subagent_id for task in of_owner.items] == [two, one]
    assert len((await client.background_tasks(WORKSPACE, limit=1)).items) == 1
    await client.cancel_background_task(one)
    queued = await client.background_tasks(WORKSPACE, statuses=["queued", "running"])
    assert [task.subagent_id for task in queued.items] == [other, two]
    cancelled = await client.background_tasks(WORKSPACE, statuses=["cancelled"])
    assert [task.subagent_id for task in cancelled.items] == [one]


async def test_one_task_tells_how_it_is_doing(client: RuntimeClient, core: Core) -> None:
    [child] = hand_out(core, "count the doors")
    task = await client.background_task(child)
    assert (task.status, task.title, task.started_at) == ("queued", "count the doors", None)
    assert (task.owner_main_session_id, task.child_session_id) == ("s1", child)
    await client.wake(child, wait=True)
    task = await client.background_task(child)
    assert (task.status, task.turns) == ("completed", 1)
    assert task.result.startswith("You said: count the doors")
    assert task.started_at is not None
    assert task.completed_at is not None


async def test_cancelled_once_and_archived(client: RuntimeClient, core: Core) -> None:
    [child] = hand_out(core, "count the doors")
    with pytest.raises(ProblemError) as early:
        await client.archive_background_task(child)
    assert problem_of(early.value) == (409, "subagent_still_working")
    position = core.changes.last_seq()
    task = await client.cancel_background_task(child)
    assert (task.status, task.cancelled_at is not None) == ("cancelled", True)
    told = core.changes.after(position) or []
    assert "session.state" in [change.kind for change in told if change.session_id == child]
    with pytest.raises(ProblemError) as again:
        await client.cancel_background_task(child)
    assert problem_of(again.value) == (409, "subagent_cancel_unavailable")
    assert (await client.archive_background_task(child)).archived_at is not None
    assert (await client.background_tasks(WORKSPACE)).items == []
    assert (await client.background_tasks(WORKSPACE, include_archived=True)).count == 1
    assert (await client.archive_background_task(child)).archived_at is not None


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "", 422, None),
        ("GET", "?workspace_id=none", 404, "workspace_not_found"),
        ("GET", f"?workspace_id={WORKSPACE}&statuses=asleep", 422, "status_invalid"),
        ("GET", f"?workspace_id={WORKSPACE}&limit=0", 422, None),
        ("GET", "/none", 404, "subagent_not_found"),
        ("POST", "/none/cancel", 404, "subagent_not_found"),
        ("POST", "/none/archive", 404, "subagent_not_found"),
    ],
)
async def test_what_is_refused(url: str, method: str, path: str, status: int, code: str | None) -> None:
    problem = await refused(url, method, f"/background-tasks{path}")
    assert problem.status == status
    assert code is None or problem.code == code
