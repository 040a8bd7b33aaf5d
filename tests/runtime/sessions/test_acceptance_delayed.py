"""Delayed wakes under a server, and the same thing asked for by many at once."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from holaboss_client.agents import CreateAgentSession, ScheduleWake
from tests.runtime.sessions.core import Core, running_core
from tests.runtime.sessions.wire import client_of, new_agent_session
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[3]
PROCESSES, TIMES = 5, 10
SOON = 0.05


def ask_in_parallel(root: Path, session: str) -> list[str]:
    """What each process was given: the ids of the wake and of the input, one line for each time it asked."""
    command = [sys.executable, "-m", "tests.runtime.sessions.enqueue_child", str(root), session, str(TIMES)]
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "HOME": str(root)}
    with ExitStack() as stack:
        children: list[subprocess.Popen[str]] = []
        for _ in range(PROCESSES):
            child = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            children.append(stack.enter_context(child))
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        answers = [line for child in children for line in child.communicate()[0].splitlines()]
        assert [child.returncode for child in children] == [0] * PROCESSES
    return answers


async def test_fifty_parallel_requests_of_several_processes_give_one_row(tmp_path: Path) -> None:
    core = Core(tmp_path)
    session = core.sessions.agent_directory.create(CreateAgentSession(agent_id="scout")).session_id
    answers = ask_in_parallel(tmp_path, session)
    assert len(answers) == PROCESSES * TIMES
    assert len(set(answers)) == 1
    rows = core.database.rows(
        "SELECT id FROM session_wakes UNION ALL SELECT input_id FROM agent_session_inputs"
    )
    assert [row["id"] for row in rows] == answers[0].split()
    assert len(core.records.events.select(session)) == 1
    await core.close()


async def test_wakes_that_are_due_together_run_together(core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.say("looked")

    core.harness.script = script
    async with client_of(core) as client:
        session = await new_agent_session(client)
        first = await client.schedule_wake(session, ScheduleWake(reason="one", delay_seconds=SOON))
        second = await client.schedule_wake(
            session, ScheduleWake(reason="two", delay_seconds=SOON, note="why", priority="high")
        )
        await core.until(lambda: core.sessions.views.status(session).turns >= 1)
        await core.until(lambda: not core.records.scheduled.waiting(session))
        events = (await client.session_events(session, types=["session.wake_due"])).items
        fired = [wake["id"] for event in events for wake in event.payload["wakes"]]
        assert sorted(fired) == sorted([first.id, second.id])
        outcomes = core.database.rows("SELECT outcome, input_id FROM session_wakes ORDER BY created_at")
        assert {row["outcome"] for row in outcomes} == {"consumed"}
        assert {row["input_id"] for row in outcomes} == {event.event_id for event in events}


async def test_a_key_may_be_used_again_once_its_wake_is_over(core: Core) -> None:
    async with client_of(core) as client:
        session = await new_agent_session(client)
        wish = ScheduleWake(reason="again", delay_seconds=SOON, dedupe_key="k")
        first = await client.schedule_wake(session, wish)
        await core.until(lambda: core.sessions.views.status(session).turns == 1)
        second = await client.schedule_wake(session, wish)
        assert second.id != first.id
        await core.until(lambda: core.sessions.views.status(session).turns == 2)


async def test_a_wake_that_came_due_while_nobody_was_there_fires_at_the_next_start(tmp_path: Path) -> None:
    core = Core(tmp_path)
    made = core.sessions.agent_directory.create(CreateAgentSession(agent_id="scout"))
    core.sessions.delayed.schedule(
        core.sessions.directory.get(made.session_id), ScheduleWake(reason="while away", delay_seconds=600)
    )
    core.database.execute("UPDATE session_wakes SET due_at = '2026-01-01T00:00:00.000Z'")
    await core.close()
    async with running_core(tmp_path) as core:
        await core.until(lambda: core.sessions.views.status(made.session_id).turns == 1)
        assert "while away" in core.harness.packages[0].instruction


async def test_what_waits_for_a_person_is_not_woken_by_the_clock(core: Core) -> None:
    async def script(stage: Stage) -> None:
        if not stage.package.decisions:
            stage.ask("bash", {})
        stage.say("done")

    core.harness.script = script
    async with client_of(core) as client:
        session = await new_agent_session(client)
        wish = ScheduleWake(reason="first", delay_seconds=SOON)
        await client.schedule_wake(session, wish)
        await core.until(lambda: core.sessions.views.status(session).turns == 1)
        await client.schedule_wake(session, ScheduleWake(reason="second", delay_seconds=0.001))
        assert (await client.wake(session, wait=True)).skipped == "requires_action"
        assert (await client.scheduled_wakes(session)).count == 1
        assert len(core.harness.packages) == 1
