"""What a killed server, a stopped one and a lost lease leave behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_client.agents import AppendEvent
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions import orchestrator
from holaboss_runtime.sessions.cancellation import RunCancellation
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.sessions.owners import Owners
from holaboss_runtime.store.clock import from_now
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[3]


def crash_midway(root: Path) -> None:
    """Leave a database as a server leaves it that is killed while it runs two sessions."""
    command = [sys.executable, "-m", "tests.runtime.sessions.crash_child", str(root)]
    paths = f"{ROOT}:{ROOT / 'runtime'}"
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, env={"PYTHONPATH": paths, "HOME": str(root)}
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"halfway\n"
        child.kill()


async def test_after_a_kill_half_a_turn_is_shown_and_ended_once(tmp_path: Path) -> None:
    crash_midway(tmp_path)
    async with running_core(tmp_path) as core:
        index = core.sessions.transcript.index("talks")
        assert index.live_input_id is None
        input_id = index.rows[0][1]
        assert core.types(input_id) == [
            "run_claimed",
            "run_started",
            "thinking_delta",
            "output_delta",
            "tool_call",
            "tool_call",
            "output_delta",
            "run_failed",
        ]
        terminal = core.events("talks")[-1]
        assert terminal.sequence == 8
        assert terminal.payload["type"] == "interrupted"
        assert '"continue"' in terminal.payload["message"]
        assert terminal.payload["provider_id"] == "openai"
        turn = core.records.turns.get(input_id)
        assert turn is not None
        assert (turn.status, turn.assistant_text) == ("failed", "First half,\n\nsecond half")
        assert turn.request_snapshot_fingerprint is not None
        assert core.state("talks").effective_state == "ERROR"

        await core.ask("continue", session_id="talks")
        told = next(p for p in core.harness.packages if p.session_id == "talks").context_messages
        assert any("First half" in message and "bash" in message and "talks" in message for message in told)


async def test_after_a_kill_what_had_not_begun_to_speak_runs_again(tmp_path: Path) -> None:
    crash_midway(tmp_path)
    async with running_core(tmp_path) as core:
        await core.until(
            lambda: (
                len(core.sessions.transcript.index("silent").rows) == 2
                and core.state("silent").effective_state == "IDLE"
            )
        )
        page = core.sessions.transcript.turns("silent", from_seq=0, limit=10)
        assert [(turn.text, turn.status) for turn in page.items] == [
            ("silent", "completed"),
            ("behind", "completed"),
        ]
        assert core.types(page.items[0].input_id) == [
            "run_claimed",
            "run_started",
            "run_retrying",
            "run_claimed",
            "run_started",
            "output_delta",
            "run_completed",
        ]


async def test_recovery_is_done_once(tmp_path: Path) -> None:
    crash_midway(tmp_path)
    async with running_core(tmp_path) as core:
        before = [event.id for event in core.events("talks")]
    async with running_core(tmp_path) as core:
        assert [event.id for event in core.events("talks")] == before


async def test_closing_ends_runs_and_keeps_what_they_said(tmp_path: Path) -> None:
    async def script(stage: Stage) -> None:
        stage.say("so far")
        await asyncio.Event().wait()

    async with running_core(tmp_path) as core:
        core.harness.script = script
        reply = core.send("hello")
        await core.until_event("output_delta")
    async with running_core(tmp_path) as core:
        turn = core.records.turns.get(reply.input_id)
        assert turn is not None
        assert (turn.status, turn.stop_reason, turn.assistant_text) == ("failed", "interrupted", "so far")
        assert core.types(reply.input_id)[-1] == "run_failed"
        # The executor could end its conversation cleanly, so the next turn has it.
        await core.ask("continue")
        assert core.harness.packages[-1].history[0].payload == ["hello", "so far"]


async def test_a_run_that_will_not_stop_is_left_and_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allow_log: Callable[..., None]
) -> None:
    class Deaf(RunCancellation):
        async def wait(self) -> None:
            await asyncio.Event().wait()

    allow_log("holaboss_runtime.sessions.orchestrator", "did not stop")
    monkeypatch.setattr(orchestrator, "CLOSE_DEADLINE_S", 0.05)
    monkeypatch.setattr(orchestrator, "RunCancellation", Deaf)

    async def script(stage: Stage) -> None:
        stage.say("so far")
        await asyncio.Event().wait()

    async with running_core(tmp_path) as core:
        core.harness.script = script
        reply = core.send("hello")
        await core.until_event("output_delta")
    async with running_core(tmp_path) as core:
        assert core.types(reply.input_id)[-2:] == ["output_delta", "run_failed"]
        assert core.state().effective_state == "ERROR"


async def test_a_full_disk_ends_the_run_once_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allow_log: Callable[..., None]
) -> None:
    allow_log("holaboss_runtime.sessions")
    monkeypatch.setattr(orchestrator, "_AFTER_TROUBLE_S", 0.01)

    async with running_core(tmp_path) as core:

        async def script(stage: Stage) -> None:
            if stage.package.instruction == "fill":
                stage.say("so far")
                await core.until_event("output_delta")
                pages = core.database.scalar("PRAGMA page_count")
                core.database.scalar(f"PRAGMA max_page_count = {pages}")
                stage.say("x" * 1_000_000)
                await asyncio.Event().wait()

        core.harness.script = script
        reply = core.send("fill")
        while core.harness.running or not core.harness.packages:  # noqa: ASYNC110 - a full disk tells nobody
            await asyncio.sleep(0)
        assert core.state().effective_state == "BUSY"
        core.database.scalar("PRAGMA max_page_count = 1000000")
        terminal = await core.terminal(reply)
        assert terminal.event_type == "run_failed"
        assert core.records.turns.get(reply.input_id).assistant_text == "so far"  # type: ignore[union-attr]
        assert (await core.ask("again")).event_type == "run_completed"


async def test_a_run_that_lost_its_lease_changes_nothing(tmp_path: Path) -> None:
    core = Core(tmp_path)
    queued = core.send("x")
    waker = core.sessions.waker
    claim = waker.claim_next("s1")
    assert claim is not None
    assert waker.claim_next("s1") is None

    core.records.sessions.break_lease("s1")
    assert core.records.sessions.acquire_lease("s1", "server:other", from_now(60)) == claim.epoch + 1

    ended = RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload={"status": "success"})
    assert not waker.settler.finish(claim, TurnFold(), ended)
    assert not waker.settler.requeue(claim, delay_s=0, why={})
    assert not core.records.sessions.renew_lease("s1", claim.epoch, from_now(60))
    assert core.types(queued.input_id) == ["run_claimed"]
    assert core.records.turns.get(queued.input_id) is None
    current = Claim(claim.input, claim.wake, claim.epoch + 1, claim.session, claim.inputs)
    assert waker.settler.finish(current, TurnFold(), ended)
    core.database.close()


async def test_a_live_lease_of_another_process_is_respected(tmp_path: Path) -> None:
    async with running_core(tmp_path) as core:
        core.sessions.directory.choose(WORKSPACE, "s1")
        other = Owners.of_database(core.database.path)
        owner = other.register("cli")
        assert core.records.sessions.acquire_lease("s1", owner, from_now(60)) is not None
        waiting = core.send("not yet")
        await core.ask("elsewhere", session_id="s2")
        assert core.records.inputs.get(waiting.input_id).status == "QUEUED"  # type: ignore[union-attr]
        core.records.sessions.break_lease("s1")
        core.sessions.poke()
        await core.terminal(waiting)
        other.release(owner)


async def test_an_approved_call_is_not_handed_out_again_after_a_failure(tmp_path: Path) -> None:
    """Nobody can tell whether a run that said nothing had made the call: it fails visibly instead of running again."""
    handed_out: list[str] = []

    async def script(stage: Stage) -> None:
        decision = stage.decision()
        if decision is None and not handed_out:
            stage.ask("bash", {"command": "make"})
        if decision is None:
            stage.say("I look what became of it.")
            return
        handed_out.append(decision.call_id)
        stage.fail(message="busy", retryable=True, retry_after_s=0)

    core = Core(tmp_path)
    core.harness.script = script
    core.send("go")
    waker = core.sessions.waker
    await waker.wake("s1")
    action = core.records.actions.open("s1")[0]
    allow = AppendEvent(type=Event.USER_TOOL_CONFIRMATION, payload={"allowed": True})
    reply = core.sessions.control.append("s1", allow)
    await waker.wake("s1")
    assert core.types(reply.input_id)[-1] == "run_failed"
    asked = core.send("continue")
    await waker.wake("s1")
    assert core.types(asked.input_id)[-1] == "run_completed"
    assert handed_out == [action.call_id]
    await core.close()
