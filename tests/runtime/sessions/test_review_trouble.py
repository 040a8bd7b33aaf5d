"""Workers that cannot let go, die before their signal, or find what nobody can recover; and what a look costs."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AppendEvent, CreateAgentSession
from holaboss_client.events import Change
from holaboss_runtime import file_locks, root_lock
from holaboss_runtime.file_locks import is_locked
from holaboss_runtime.root_lock import RootLock
from holaboss_runtime.sessions import orchestrator
from holaboss_runtime.store import inputs as inputs_store
from holaboss_runtime.store import messages as messages_store
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.queue import InputQueue
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio
LOG = "holaboss_runtime.sessions"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orchestrator, "_AFTER_TROUBLE_S", 0.01)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("times", [1, 2])
async def test_a_session_that_could_not_be_let_go_is_free_soon(
    tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch, allow_log: Callable[..., None]
) -> None:
    """The turn is committed, and then the disk is full for a moment."""
    allow_log(LOG)
    async with running_core(tmp_path) as core:
        settler = core.sessions.waker.settler
        release, failed = settler.release, 0

        def full(claim: Any) -> None:
            nonlocal failed
            if failed < times:
                failed += 1
                core.database.execute("PRAGMA query_only = ON")
                try:
                    release(claim)
                finally:
                    core.database.execute("PRAGMA query_only = OFF")
            release(claim)

        monkeypatch.setattr(settler, "release", full)
        assert (await core.ask("first")).event_type == "run_completed"
        assert (await core.ask("second")).event_type == "run_completed"
        await core.until(lambda: core.state().lease_until is None)
        assert failed == times


async def test_what_a_program_wrote_before_it_was_killed_is_found(tmp_path: Path) -> None:
    """It had no time to signal anybody."""
    async with running_core(tmp_path, look_s=0.01) as alive:
        await alive.ask("before")
        for _ in range(50):
            await asyncio.sleep(0)  # the worker has looked, and sleeps
        gone = Core(tmp_path, owner_kind="cli")
        reply = gone.send("hello")
        await gone.close()
        await alive.until(lambda: alive.types(reply.input_id)[-1:] == ["run_completed"])


async def test_an_order_that_nobody_signalled_is_heeded_with_the_next_beat(tmp_path: Path) -> None:
    async with running_core(tmp_path) as alive:
        session_id = alive.sessions.agent_directory.create(CreateAgentSession(agent_id="alpha")).session_id
        config = alive.root / ".openboa/agents/alpha/agent.json"
        text = config.read_text().replace('"heartbeatSeconds": 60', '"heartbeatSeconds": 1')
        assert '"heartbeatSeconds": 1,' in text or '"heartbeatSeconds": 1\n' in text
        config.write_text(text)
        gone = Core(tmp_path, owner_kind="cli")

        async def script(stage: Stage) -> None:
            stage.say("working")
            gone.sessions.control.terminate(session_id)
            await alive.lifetime.wait()

        alive.harness.script = script
        body = AppendEvent(type="user.message", payload={"text": "go"})
        event_id = alive.sessions.control.append(session_id, body).event.event_id
        await alive.until(lambda: alive.types(event_id)[-1:] == ["run_completed"])
        await gone.close()


async def test_a_session_that_cannot_be_recovered_holds_up_no_other(
    tmp_path: Path, allow_log: Callable[..., None]
) -> None:
    allow_log(LOG, "could not be recovered")
    core = Core(tmp_path)
    core.send("broken")
    core.send("fine", session_id="s2")
    assert core.sessions.waker.claim_next("s1") is not None
    assert core.sessions.waker.claim_next("s2") is not None
    core.database.execute(
        "DELETE FROM wake_inputs WHERE input_id IN (SELECT input_id FROM agent_session_inputs"
        " WHERE session_id = 's1')"
    )
    await core.close()
    async with running_core(tmp_path) as core:
        await core.until(lambda: core.state("s2").effective_state == "IDLE")
        assert (await core.ask("new", session_id="s3")).event_type == "run_completed"


@pytest.mark.usefixtures("soon")
async def test_an_input_that_a_worker_ended_and_gave_back_can_still_end(core: Core) -> None:
    """The worker said that its run was over, and then queued the input again."""
    core.models.missing_keys = {"openai"}
    reply = core.send("hello")
    await core.until(lambda: core.state().last_error is not None)
    core.records.outputs.append(WORKSPACE, "s1", reply.input_id, [("run_completed", {"status": "success"})])
    core.models.missing_keys = set()
    core.sessions.poke()
    await core.until(lambda: core.records.turns.get(reply.input_id) is not None)
    assert (await core.ask("again")).event_type == "run_completed"


async def test_what_is_approved_is_on_the_disk_before_it_is_done(core: Core) -> None:
    said: list[str] = []

    async def script(stage: Stage) -> None:
        if not stage.package.decisions:
            stage.ask("bash", {})
        said.append("done")

    def hear(_cursor: object, sql: str, _values: object) -> bool:
        if sql.startswith("PRAGMA synchronous") or sql == "COMMIT":
            said.append(sql)
        return True

    core.harness.script = script
    await core.ask("go")
    core.database._connection.set_exec_trace(hear)  # type: ignore[attr-defined]
    body = AppendEvent(type="user.tool_confirmation", payload={"allowed": True})
    core.sessions.control.append("s1", body)
    await core.until(lambda: len(core.records.turns.newest("s1", limit=9)) == 2)
    core.database._connection.set_exec_trace(None)  # type: ignore[attr-defined]
    before = said[: said.index("done")]
    assert before[-3:] == ["PRAGMA synchronous = FULL", "COMMIT", "PRAGMA synchronous = NORMAL"]


def queue_changes(core: Core) -> list[object]:
    changes = core.changes.after(0) or []
    return [change.payload["input_id"] for change in changes if change.kind == Change.QUEUE]


async def test_screens_hear_of_what_a_termination_drops(tmp_path: Path) -> None:
    core = Core(tmp_path)
    reply = core.send("never read")
    before = len(queue_changes(core))
    core.sessions.control.terminate("s1")
    assert queue_changes(core)[before:] == [reply.input_id]
    await core.close()


async def test_screens_hear_of_what_a_worker_lost(tmp_path: Path) -> None:
    core = Core(tmp_path)
    reply = core.send("hello")
    assert InputQueue(core.database).claim(1, "worker", -1.0)
    before = len(queue_changes(core))
    core.sessions.recover()
    assert queue_changes(core)[before:] == [reply.input_id]
    assert core.state().effective_state == "QUEUED"
    await core.close()


def test_a_look_whether_a_server_is_there_keeps_no_server_from_starting(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_locked(state / "server.lock")

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(200):
            server = RootLock(state, state / "runtime.db")
            server.acquire()
            server.release()
    finally:
        over.set()
        looking.join()


@pytest.fixture
def stopped_look(tmp_path: Path) -> Iterator[int]:
    """The descriptor of a program that was stopped in the middle of its look at `server.lock`."""
    descriptor = os.open(tmp_path / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    file_locks._look(descriptor)  # pyright: ignore[reportPrivateUsage]
    with os.fdopen(descriptor):
        yield descriptor


def test_a_look_that_takes_long_keeps_no_server_from_starting(
    tmp_path: Path, stopped_look: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def lock(descriptor: int) -> None:
        nonlocal tries
        tries += 1
        if tries == 5 * root_lock._TRIES:  # pyright: ignore[reportPrivateUsage]
            fcntl.flock(stopped_look, fcntl.LOCK_UN)
        file_locks.lock(descriptor)

    monkeypatch.setattr(root_lock, "lock", lock)
    server = RootLock(tmp_path, tmp_path / "runtime.db")
    server.acquire()
    assert is_locked(tmp_path / "server.lock")
    server.release()


@pytest.mark.usefixtures("stopped_look")
def test_two_that_look_do_not_take_each_other_for_a_server(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "server.lock")


async def test_one_run_takes_no_more_than_a_model_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs_store, "MOST_AT_ONCE", 3)
    core = Core(tmp_path)
    session_id = core.sessions.agent_directory.create(CreateAgentSession(agent_id="alpha")).session_id
    for number in range(5):
        body = AppendEvent(type="user.message", payload={"text": f"message {number}"})
        core.sessions.control.append(session_id, body)
    reports = [core.sessions.views.report(await core.sessions.waker.wake(session_id)) for _ in range(3)]
    assert [len(report.processed_event_ids) for report in reports] == [3, 2, 0]
    await core.close()


LOOKS: dict[str, Callable[[Core], object]] = {
    "leased": lambda core: core.records.sessions.leased(),
    "next_lease_end": lambda core: core.records.sessions.next_lease_end("me", from_now(0)),
    "claims": lambda core: InputQueue(core.database).recover_expired(),
    "expired": lambda core: InputQueue(core.database).expired(),
    "ready": lambda core: core.records.inputs.next_ready(from_now(0), busy_sessions=(), waiting_inputs=()),
    "due": lambda core: core.records.inputs.next_due(from_now(0)),
    "wakes": lambda core: core.records.scheduled.next_due(from_now(0)),
    "open": lambda core: core.records.wakes.open(),
    "owing": lambda core: core.records.wakes.owing(),
    "facts": lambda core: core.records.facts.get("s1"),
    "actions": lambda core: core.records.actions.page("s1"),
    "decisions": lambda core: core.records.actions.deliver("s1", "w"),
    "status": lambda core: core.sessions.views.status("s1"),
}


@pytest.mark.parametrize("look", LOOKS)
async def test_no_look_reads_a_table_that_only_grows(tmp_path: Path, look: str) -> None:
    core = Core(tmp_path)
    core.send("hello")
    asked: list[tuple[str, Any]] = []

    def hear(_cursor: object, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    connection: Any = core.database._connection
    connection.set_exec_trace(hear)
    LOOKS[look](core)
    connection.set_exec_trace(None)
    for sql, values in asked:
        if sql.startswith(("SELECT", "UPDATE")):
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
            scans = [step for step in plan if step.startswith("SCAN") and "json_each" not in step]
            whole = [step for step in scans if "INDEX" not in step or "autoindex" in step]
            assert whole == [], (sql, plan)
    await core.close()


async def test_a_turn_looks_back_only_so_far_for_what_a_person_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that wakes itself may have said ten thousand things since."""
    monkeypatch.setattr(messages_store, "LOOKED_AT", 3)
    core = Core(tmp_path)
    for input_id, role in (("a", "user"), ("b", "user"), ("b", "assistant"), ("c", "assistant")):
        core.records.messages.insert(WORKSPACE, "s1", input_id, role, "text")
    assert [found[0] for found in core.records.messages.newest_of("s1", "user", limit=3)] == ["b"]
    await core.close()
