"""A session of ten thousand events costs what an empty one costs: counted in steps of the database, not in time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AppendEvent, ScheduleWake
from holaboss_runtime.store.queue import InputQueue
from holaboss_runtime.store.subagents import NewSubagent
from tests.runtime.sessions.core import Core
from tests.runtime.sessions.long_session import counted, long_session, sql_cost

pytestmark = pytest.mark.anyio

EVENTS = 10_000
SLACK = 1.25
"""A deeper tree and a page that fills up cost some steps; anything that grows with the session costs thousands."""


@pytest.fixture(scope="module")
async def sessions(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[tuple[Core, str, str]]:
    """A core without a worker, a long session and one with a single turn."""
    core = Core(Path(tmp_path_factory.mktemp("size")))
    yield core, long_session(core, EVENTS), long_session(core, 5)
    await core.close()


def append(core: Core, session: str) -> Callable[[], object]:
    body = AppendEvent(type="user.message", payload={"text": "hello"})
    return lambda: core.sessions.control.append(session, body)


CALLS: dict[str, Callable[[Core, str], Callable[[], object]]] = {
    "append": append,
    "status": lambda core, session: lambda: core.sessions.views.status(session),
    "newest event": lambda core, session: lambda: core.sessions.views.events(session, limit=1),
    "newest of a type": lambda core, session: (
        lambda: core.sessions.views.events(session, types=["agent.message"], limit=1)
    ),
    "state": lambda core, session: (
        lambda: core.sessions.control.state(core.sessions.directory.get(session).workspace_id, session)
    ),
    "open actions": lambda core, session: lambda: core.sessions.views.actions(session, only_open=True),
    "scheduled wakes": lambda core, session: lambda: core.sessions.delayed.waiting(session, limit=50),
    "schedule": lambda core, session: (
        lambda: core.sessions.delayed.schedule(
            core.sessions.directory.get(session), ScheduleWake(reason="x", delay_seconds=600, dedupe_key="k")
        )
    ),
    "what could run": lambda core, session: (
        lambda: core.sessions.waker.claimer.peek(core.sessions.directory.get(session))
    ),
    "next of all": lambda core, session: (
        lambda: core.records.inputs.next_ready(
            "2999-01-01T00:00:00.000Z", busy_sessions=(), waiting_inputs=()
        )
    ),
}


@pytest.mark.parametrize("name", list(CALLS))
async def test_a_long_past_costs_nothing(sessions: tuple[Core, str, str], name: str) -> None:
    core, long, short = sessions
    CALLS[name](core, short)()  # both find their statements prepared
    CALLS[name](core, long)()
    before = sql_cost(core, CALLS[name](core, short))
    after = sql_cost(core, CALLS[name](core, long))
    assert after[0] == before[0]
    assert before[1] > 0
    assert after[1] <= before[1] * SLACK + 50, (name, before, after)


async def test_fifty_events_cost_fifty_events(sessions: tuple[Core, str, str]) -> None:
    core, long, _ = sessions

    def newest(limit: int, **filters: Any) -> int:
        return sql_cost(core, lambda: core.sessions.views.events(long, limit=limit, **filters))[1]

    per_event = (newest(50) - newest(1)) / 49
    assert per_event < 60
    middle = core.sessions.views.events(long, limit=1).last_seq // 2
    assert newest(50, after_seq=middle) < newest(50) * SLACK + 50
    assert newest(50, before_seq=middle) < newest(50) * SLACK + 50
    wake = core.sessions.views.events(long, types=["agent.message"], limit=1).items[0].wake_id
    assert newest(50, wake_id=wake) < newest(50)


async def test_a_wake_of_a_long_session_reads_no_more_than_that_of_a_short_one(
    sessions: tuple[Core, str, str],
) -> None:
    core, long, short = sessions
    for session in (short, long):
        core.sessions.control.append(session, AppendEvent(type="user.message", payload={"text": "x"}))

    async def wake(session: str) -> int:
        with counted(core) as steps:
            outcome = await core.sessions.waker.wake(session)
        assert outcome.wake_id is not None
        return sum(steps)

    await wake(short)
    await wake(long)
    for session in (short, long):
        core.sessions.control.append(session, AppendEvent(type="user.message", payload={"text": "x"}))
    cheap, dear = await wake(short), await wake(long)
    assert dear <= cheap * 3, (cheap, dear)


async def test_what_waits_is_found_without_reading_the_inputs_that_are_over(
    sessions: tuple[Core, str, str],
) -> None:
    core, long, short = sessions
    subagents, queue = core.records.subagents, InputQueue(core.database)
    workspace = core.sessions.directory.get(short).workspace_id
    with core.database.transaction():
        subagents.insert(NewSubagent(short, workspace, long, "i", "look", "", (), None, None, None))
        subagents.owe_report(short, "2026-01-01T00:00:00.000Z")
        over = core.database.scalar("SELECT count(*) FROM agent_session_inputs WHERE status = 'DONE'")
    queue.enqueue(workspace, short, {"text": "x"}, input_id="last")
    core.database.execute(
        "UPDATE agent_session_inputs SET status = 'CLAIMED', claimed_by = 'w' WHERE input_id = 'last'"
    )
    for ask in (
        lambda: core.records.events.pending(long),
        lambda: subagents.get(short),
        lambda: subagents.ready_owners("2999-01-01T00:00:00.000Z"),
        lambda: queue.complete("last", "DONE", "w"),
        lambda: core.records.inputs.queued(long),
    ):
        _, steps = sql_cost(core, ask)
        assert 0 < steps < over
