"""Stopping, going on, and changing what waits."""

from __future__ import annotations

import asyncio

import pytest

from holaboss_client.sessions import CreateSession, PatchSession
from holaboss_runtime.errors import DomainError
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


async def forever(stage: Stage) -> None:
    stage.say("partial answer")
    await asyncio.Event().wait()


async def test_pausing_a_run_keeps_what_it_said_and_holds_the_queue(core: Core) -> None:
    core.harness.script = forever
    running = core.send("one")
    await core.until_event("output_delta")
    waiting = core.send("two")

    reply = core.sessions.control.pause(WORKSPACE, "s1")
    assert (reply.input_id, reply.status) == (running.input_id, "PAUSING")
    terminal = await core.terminal(running)

    assert terminal.payload["status"] == "paused"
    turn = core.records.turns.get(running.input_id)
    assert turn is not None
    assert (turn.status, turn.assistant_text) == ("paused", "partial answer")
    state = core.state()
    assert (state.effective_state, state.runtime_status) == ("QUEUED", "PAUSED")
    assert core.records.inputs.get(waiting.input_id).status == "QUEUED"  # type: ignore[union-attr]
    assert len(core.harness.packages) == 1

    async def short(stage: Stage) -> None:
        stage.say("done")

    core.harness.script = short
    core.sessions.control.resume(WORKSPACE, "s1")
    assert (await core.terminal(waiting)).payload["status"] == "success"
    assert core.state().effective_state == "IDLE"


async def test_a_new_message_lets_a_paused_session_go_on(core: Core) -> None:
    core.harness.script = forever
    running = core.send("one")
    await core.until_event("output_delta")
    core.sessions.control.pause(WORKSPACE, "s1")
    await core.terminal(running)
    assert core.state().effective_state == "PAUSED"

    async def short(stage: Stage) -> None:
        stage.say("done")

    core.harness.script = short
    assert (await core.ask("two")).payload["status"] == "success"


async def test_pausing_a_run_that_ends_by_itself_leaves_no_hold(core: Core) -> None:
    gate = asyncio.Event()

    async def stubborn(stage: Stage) -> None:
        stage.say("almost done")
        await gate.wait()

    core.harness.script = stubborn
    running = core.send("one")
    await core.until_event("output_delta")
    gate.set()
    await asyncio.sleep(0)  # The script is over before the order to stop comes.
    core.sessions.control.pause(WORKSPACE, "s1")
    terminal = await core.terminal(running)
    expected = "IDLE" if terminal.payload["status"] == "success" else "PAUSED"
    assert core.state().effective_state == expected


async def test_pausing_a_queued_input_turns_it_into_a_stopped_turn(core: Core) -> None:
    core.models.missing_keys = {"openai"}
    queued = core.send("never ran")
    await core.until(lambda: core.state().last_error is not None)

    reply = core.sessions.control.pause(WORKSPACE, "s1")

    assert (reply.input_id, reply.status) == (queued.input_id, "PAUSED")
    assert core.types(queued.input_id) == ["run_claimed", "run_completed"]
    page = core.sessions.transcript.turns("s1", from_seq=0, limit=10)
    assert [(turn.text, turn.status) for turn in page.items] == [("never ran", "paused")]
    assert core.state().effective_state == "PAUSED"
    assert core.harness.packages == []


async def test_pausing_while_the_model_is_still_being_resolved(core: Core) -> None:
    core.models.gate = asyncio.Event()
    queued = core.send("not yet")
    while not core.models.requested:  # noqa: ASYNC110 - nothing is written yet that could be followed
        await asyncio.sleep(0)
    assert core.sessions.control.pause(WORKSPACE, "s1").status == "PAUSED"
    core.models.gate.set()
    core.models.gate = None
    await core.ask("next")
    assert [package.instruction for package in core.harness.packages] == ["next"]
    assert core.types(queued.input_id) == ["run_claimed", "run_completed"]


async def test_pausing_an_idle_session_is_refused(core: Core) -> None:
    await core.ask("one")
    with pytest.raises(DomainError) as refused:
        core.sessions.control.pause(WORKSPACE, "s1")
    assert refused.value.code == "session_not_running"


async def test_a_waiting_message_can_be_changed_until_it_is_claimed(core: Core) -> None:
    gate = asyncio.Event()

    async def script(stage: Stage) -> None:
        stage.say("…")
        await gate.wait()

    core.harness.script = script
    running = core.send("one")
    await core.until_event("output_delta")
    waiting = core.send("two")
    reply = core.sessions.inbound.edit(WORKSPACE, "s1", waiting.input_id, "two, but better")
    assert reply.status == "QUEUED"
    with pytest.raises(DomainError) as refused:
        core.sessions.inbound.edit(WORKSPACE, "s1", running.input_id, "too late")
    assert (refused.value.kind, refused.value.code) == ("conflict", "input_not_queued")
    with pytest.raises(DomainError) as refused:
        core.sessions.inbound.edit(WORKSPACE, "s1", waiting.input_id, " ")
    assert refused.value.kind == "unprocessable"
    with pytest.raises(DomainError) as refused:
        core.sessions.inbound.edit(WORKSPACE, "elsewhere", waiting.input_id, "x")
    assert refused.value.kind == "not_found"
    gate.set()
    await core.terminal(waiting)
    assert core.harness.packages[1].instruction == "two, but better"
    log = core.database.rows("SELECT type, payload FROM session_events WHERE type LIKE 'user.%' ORDER BY seq")
    assert [row["type"] for row in log] == ["user.message", "user.message", "user.message_edited"]
    assert '"two"' in log[1]["payload"]


async def test_a_waiting_message_can_be_taken_back(core: Core) -> None:
    core.models.missing_keys = {"openai"}
    queued = core.send("forget it")
    await core.until(lambda: core.state().last_error is not None)
    assert core.sessions.inbound.cancel(WORKSPACE, "s1", queued.input_id).status == "CANCELLED"
    state = core.state()
    assert (state.effective_state, state.has_queued_inputs, state.last_error) == ("IDLE", False, None)
    with pytest.raises(DomainError):
        core.sessions.inbound.cancel(WORKSPACE, "s1", queued.input_id)
    assert core.sessions.transcript.index("s1").rows == []


async def test_sessions_are_listed_named_and_archived(core: Core) -> None:
    directory = core.sessions.directory
    made = [directory.create(CreateSession(workspace_id=WORKSPACE, title=f"t{n}")) for n in range(5)]
    directory.patch(made[0].session_id, PatchSession(workspace_id=WORKSPACE, title="renamed"))
    directory.patch(made[1].session_id, PatchSession(workspace_id=WORKSPACE, archived=True))
    seen: list[str] = []
    before = None
    while True:
        page = directory.page(WORKSPACE, include_archived=False, limit=2, before=before)
        seen += [session.session_id for session in page.items]
        if page.count < 2:
            break
        before = seen[-1]
    assert sorted(seen) == sorted(session.session_id for session in made if session != made[1])
    assert directory.require(WORKSPACE, made[0].session_id).title == "renamed"
    directory.patch(made[1].session_id, PatchSession(workspace_id=WORKSPACE, archived=False))
    assert directory.page(WORKSPACE, include_archived=False, limit=10, before=None).count == 5


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"workspace_id": "nowhere"}, "workspace_not_found"),
        ({"workspace_id": WORKSPACE, "kind": "main_session"}, "session_kind_invalid"),
        ({"workspace_id": WORKSPACE, "session_id": "s1"}, "session_id_in_use"),
        ({"workspace_id": WORKSPACE, "parent_session_id": "nobody"}, "session_not_found"),
    ],
)
async def test_a_session_that_cannot_be_made_is_refused(core: Core, body: dict[str, str], code: str) -> None:
    await core.ask("makes s1")
    with pytest.raises(DomainError) as refused:
        core.sessions.directory.create(CreateSession(**body))
    assert refused.value.code == code


async def test_there_is_one_main_session(core: Core) -> None:
    first = core.sessions.directory.ensure_main(WORKSPACE)
    assert core.sessions.directory.ensure_main(WORKSPACE).session_id == first.session_id


async def test_a_run_in_an_archived_session_keeps_its_workspace_busy(core: Core) -> None:
    began, end = asyncio.Event(), asyncio.Event()

    async def hold(_stage: Stage) -> None:
        began.set()
        await end.wait()

    core.harness.script = hold
    reply = core.send("go")
    await began.wait()
    core.sessions.directory.patch("s1", PatchSession(workspace_id=WORKSPACE, archived=True))
    assert core.sessions.control.is_busy(WORKSPACE)
    end.set()
    await core.terminal(reply)
    assert not core.sessions.control.is_busy(WORKSPACE)


@pytest.mark.parametrize("session_id", ["", "a/b", "a b", "a\n", "..", "x" * 201])
async def test_a_session_id_that_no_address_can_name(core: Core, session_id: str) -> None:
    with pytest.raises(DomainError) as raised:
        core.send("go", session_id)
    assert raised.value.code == "session_id_invalid"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), [1], {"a": 1}])
async def test_an_attachment_that_could_not_be_shown_again(core: Core, value: object) -> None:
    (core.folder / "f").touch()
    with pytest.raises(DomainError) as raised:
        core.send("go", attachments=[{"workspace_path": "f", "size_bytes": value}])
    assert raised.value.code == "attachment_invalid"
    core.send("go", attachments=[{"workspace_path": "f", "size_bytes": 1, "name": None, "ratio": 0.5}])
