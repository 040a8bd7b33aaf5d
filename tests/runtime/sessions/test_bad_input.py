"""A worker in trouble: clocks that go back, disks that are full or cannot be written, wakes and leases at odds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_client.agents import AppendEvent, CreateAgentSession
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.errors import DomainError
from holaboss_runtime.runs import agent_profile, prepare
from holaboss_runtime.sessions import claims, orchestrator, recovery, state, wake
from holaboss_runtime.store import (
    activations,
    clock,
    inputs,
    messages,
    output_events,
    session_events,
    session_wakes,
    sessions,
    turns,
    wakes,
)
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio
LOG = "holaboss_runtime.sessions"
PAST = "2020-01-01T00:00:00.000Z"
CLOCKS = (
    *(agent_profile, claims, orchestrator, prepare, recovery, state, wake, activations, inputs, messages),
    *(output_events, session_events, session_wakes, sessions, turns, wakes),
)


class Clock:
    """An hour back with every reading; no real clock can be made to do that."""

    def __init__(self) -> None:
        self._readings = 0

    def now(self) -> str:
        self._readings += 1
        return clock.from_now(-3600.0 * self._readings)


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Clock()
    for module in CLOCKS:
        if hasattr(module, "utc_now"):
            monkeypatch.setattr(module, "utc_now", running.now)


@pytest.mark.usefixtures("backwards")
async def test_a_clock_that_goes_back_changes_no_order_and_loses_nothing(core: Core) -> None:
    replies = [core.send(f"message {number}") for number in range(5)]
    for reply in replies:
        assert (await core.terminal(reply)).event_type == "run_completed"
    assert [package.instruction for package in core.harness.packages] == [f"message {n}" for n in range(5)]
    page = core.sessions.transcript.turns("s1", from_seq=0, limit=10)
    assert [turn.text for turn in page.items] == [f"message {number}" for number in range(5)]
    log = core.records.events.select("s1", types=[Event.USER_MESSAGE])
    assert [event.payload["text"] for event in log] == [f"message {number}" for number in range(5)]
    assert log[0].created_at > log[-1].created_at  # the clock really went back
    assert core.state().effective_state == "IDLE"


async def test_after_the_clock_went_back_a_dead_worker_is_still_recovered(tmp_path: Path) -> None:
    core = Core(tmp_path)
    reply = core.send("hello")
    assert core.sessions.waker.claim_next("s1") is not None
    core.database.execute("UPDATE agent_sessions SET lease_until = '2099-01-01T00:00:00.000Z'")
    await core.close()
    async with running_core(tmp_path) as core:
        assert (await core.terminal(reply)).event_type == "run_completed"


@pytest.mark.parametrize("kind", ["desk", "agent"])
async def test_of_twenty_wakes_at_once_one_runs(tmp_path: Path, kind: str) -> None:
    core = Core(tmp_path)
    began, end = asyncio.Event(), asyncio.Event()

    async def script(stage: Stage) -> None:
        began.set()
        await end.wait()
        stage.say("once")

    core.harness.script = script
    if kind == "agent":
        session_id = core.sessions.agent_directory.create(CreateAgentSession(agent_id="helper")).session_id
    else:
        session_id = core.sessions.directory.choose(WORKSPACE, "desk").session_id
    core.sessions.control.append(session_id, AppendEvent(type=Event.USER_MESSAGE, payload={"text": "x"}))
    wakes_at_once = [asyncio.create_task(core.sessions.waker.wake(session_id)) for _ in range(20)]
    await began.wait()
    late = await core.sessions.waker.wake(session_id)
    assert late.skipped == "lease_contended"
    pending = set(wakes_at_once)
    while len(pending) > 1:  # all but the one that runs
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    end.set()
    outcomes = await asyncio.gather(*wakes_at_once)
    assert Counter(outcome.skipped for outcome in outcomes) == {None: 1, "lease_contended": 19}
    assert len(core.harness.packages) == 1
    assert (await core.sessions.waker.wake(session_id)).skipped == "idle"
    await core.close()


@pytest.mark.parametrize("recover_first", [True, False])
async def test_a_run_whose_lease_ran_out_says_nothing_more(
    tmp_path: Path, recover_first: bool, allow_log: Callable[..., None]
) -> None:
    allow_log(LOG, "lost the lease")
    slow, other = Core(tmp_path), Core(tmp_path)
    began, end = asyncio.Event(), asyncio.Event()

    async def script(stage: Stage) -> None:
        if recover_first:
            stage.say("first half, ")
        began.set()
        await end.wait()
        stage.tool("bash")
        stage.say("second half")

    slow.harness.script = script
    reply = slow.send("hello")
    running = asyncio.create_task(slow.sessions.waker.wake("s1"))
    await began.wait()
    while recover_first and "output_delta" not in slow.types(reply.input_id):  # noqa: ASYNC110
        await asyncio.sleep(0)
    other.database.execute("UPDATE agent_sessions SET lease_until = ?", (PAST,))
    assert other.sessions.recover() == 1
    before = other.types(reply.input_id)
    end.set()
    await running
    assert other.types(reply.input_id) == before
    assert before[-1] == ("run_failed" if recover_first else "run_retrying")
    if not recover_first:
        assert (await other.sessions.waker.wake("s1")).wake_id is not None
        assert other.types(reply.input_id)[-1] == "run_completed"
    await slow.close()
    await other.close()


async def test_a_worker_that_died_after_its_commit_holds_up_nobody(tmp_path: Path) -> None:
    """Another worker is alive all the time, so nothing starts that would recover."""
    async with running_core(tmp_path) as alive:
        gone = Core(tmp_path, owner_kind="cli")
        gone.send("first")
        claim = gone.sessions.waker.claim_next("s1")
        assert claim is not None
        ended = wake._stopped()  # pyright: ignore[reportPrivateUsage]
        assert gone.sessions.waker.settler.finish(claim, wake.TurnFold(), ended)
        await gone.close()
        assert alive.records.wakes.owing()
        reply = alive.send("second")
        assert (await alive.terminal(reply)).event_type == "run_completed"
        await alive.until(lambda: alive.state().lease_until is None)
        assert not alive.records.wakes.owing()


async def test_a_run_that_the_disk_keeps_from_ending_is_ended_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allow_log: Callable[..., None]
) -> None:
    """The lease of this very process still holds; nobody may have to wait for it to run out."""
    allow_log(LOG)
    monkeypatch.setattr(orchestrator, "_AFTER_TROUBLE_S", 0.01)
    async with running_core(tmp_path) as core:

        async def script(stage: Stage) -> None:
            if stage.package.instruction == "stuck":
                stage.say("so far")
                await core.until_event("output_delta")
                core.database.execute("PRAGMA query_only = ON")
                stage.say(" and more")
                await asyncio.Event().wait()

        core.harness.script = script
        reply = core.send("stuck")
        work = core.sessions.orchestrator
        while core.harness.packages == [] or "s1" in work._active:  # noqa: ASYNC110 # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)  # its own end could not be written either
        assert core.state().effective_state == "BUSY"
        core.database.execute("PRAGMA query_only = OFF")
        assert (await core.terminal(reply)).event_type == "run_failed"
        turn = core.records.turns.get(reply.input_id)
        assert turn is not None
        assert turn.assistant_text == "so far"
        assert (await core.ask("again")).event_type == "run_completed"


async def test_a_database_that_cannot_be_written_refuses_by_name_and_goes_on_later(core: Core) -> None:
    await core.ask("before")
    core.database.execute("PRAGMA query_only = ON")
    with pytest.raises(DomainError) as refused:
        core.send("lost?")
    assert (refused.value.kind, refused.value.code) == ("unavailable", "disk_read_only")
    assert core.state().effective_state == "IDLE"
    core.database.execute("PRAGMA query_only = OFF")
    assert (await core.ask("after")).event_type == "run_completed"


async def test_a_session_that_ended_while_its_worker_died_is_not_run_again(tmp_path: Path) -> None:
    gone, alive = Core(tmp_path), Core(tmp_path)
    reply = gone.send("hello")
    assert gone.sessions.waker.claim_next("s1") is not None
    alive.sessions.control.terminate("s1")
    await gone.close()
    assert alive.sessions.recover() == 1
    found = alive.records.inputs.get(reply.input_id)
    assert found is not None
    assert found.status == "FAILED"
    assert alive.types(reply.input_id) == ["run_claimed", "run_failed"]
    await alive.close()


async def test_a_run_of_a_session_that_ended_meanwhile_asks_for_nothing(tmp_path: Path) -> None:
    working, other = Core(tmp_path), Core(tmp_path)

    async def script(stage: Stage) -> None:
        other.sessions.control.terminate("s1")
        stage.ask("bash", {"command": "make"})

    working.harness.script = script
    reply = working.send("hello")
    await working.sessions.waker.wake("s1")
    assert other.types(reply.input_id)[-1] == "run_completed"
    assert other.records.actions.open("s1") == []
    assert other.sessions.views.status("s1").status == "terminated"
    log = other.records.events.select("s1")
    assert [event.type for event in log if event.type == Event.SESSION_STATUS_IDLE] == []
    await working.close()
    await other.close()
