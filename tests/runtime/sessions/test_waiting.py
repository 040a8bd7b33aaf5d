"""Runs that are tried again, and inputs that wait for a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from holaboss_client.events import Change
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio

SOON = 0.001


def failing(times: int, **payload: object):  # noqa: ANN201
    """A script that fails `times` times before it says anything, and then answers."""
    attempts = 0

    async def script(stage: Stage) -> None:
        nonlocal attempts
        attempts += 1
        if attempts <= times:
            stage.fail(message="busy", retryable=True, retry_after_s=SOON, **payload)
        stage.say("finally")

    return script


async def test_a_run_that_failed_before_it_said_anything_is_tried_again(core: Core) -> None:
    core.harness.script = failing(2)
    reply = core.send("hello")
    terminal = await core.terminal(reply)
    assert terminal.event_type == "run_completed"
    one_attempt = ["run_claimed", "run_started", "run_retrying"]
    assert core.types(reply.input_id) == [
        *one_attempt * 2,
        "run_claimed",
        "run_started",
        "output_delta",
        "run_completed",
    ]
    retries = [event.payload for event in core.events() if event.event_type == "run_retrying"]
    assert [retry["attempt"] for retry in retries] == [1, 2]
    assert all(retry["message"] == "busy" and retry["delay_s"] < 1 for retry in retries)
    assert len(core.sessions.transcript.index("s1").rows) == 1


async def test_it_gives_up_after_three_retries(core: Core) -> None:
    core.harness.script = failing(99)
    terminal = await core.ask("hello")
    assert terminal.event_type == "run_failed"
    assert len(core.harness.packages) == 4
    assert core.state().effective_state == "ERROR"


async def test_a_run_that_said_something_is_not_repeated(core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.say("half an ans")
        stage.fail(message="reset", retryable=True, retry_after_s=SOON)

    core.harness.script = script
    reply = core.send("hello")
    assert (await core.terminal(reply)).event_type == "run_failed"
    assert len(core.harness.packages) == 1
    assert core.records.turns.get(reply.input_id).assistant_text == "half an ans"  # type: ignore[union-attr]


async def test_what_a_retry_cannot_cure_fails_at_once(core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.fail(type="AuthError", message="bad key", retryable=False)

    core.harness.script = script
    terminal = await core.ask("hello")
    assert terminal.payload["type"] == "AuthError"
    assert core.state().last_error == {
        "code": "AuthError",
        "message": "bad key",
        "provider_id": "openai",
        "model_id": "m-default",
    }


async def test_the_rest_of_a_session_waits_behind_a_retry(core: Core) -> None:
    async def script(stage: Stage) -> None:
        if stage.package.instruction == "first" and len(core.harness.packages) == 1:
            core.send("urgent", priority=9)
            stage.fail(message="busy", retryable=True, retry_after_s=0.05)
        stage.say("ok")

    core.harness.script = script
    core.send("first")
    await core.until(lambda: len(core.harness.packages) == 3 and core.state().effective_state == "IDLE")
    assert [package.instruction for package in core.harness.packages] == ["first", "first", "urgent"]


async def test_while_a_retry_waits_the_turn_is_live_and_not_queued(core: Core) -> None:
    core.harness.script = failing(1, type="RateLimit")

    async def script(stage: Stage) -> None:
        stage.fail(message="busy", retryable=True, retry_after_s=200)

    core.harness.script = script
    reply = core.send("hello")
    await core.until(lambda: core.types(reply.input_id)[-1:] == ["run_retrying"])
    index = core.sessions.transcript.index("s1")
    assert index.live_input_id == reply.input_id
    assert [row[1] for row in index.rows] == [reply.input_id]
    assert index.queued == []
    page = core.sessions.transcript.turns("s1", from_seq=index.rows[0][0], limit=5)
    assert [turn.status for turn in page.items] == ["running"]
    assert core.state().effective_state == "QUEUED"
    assert core.sessions.control.pause(WORKSPACE, "s1").status == "PAUSED"
    assert core.types(reply.input_id)[-1] == "run_completed"


async def test_an_input_waits_for_its_key_and_runs_when_it_is_there(core: Core) -> None:
    core.models.missing_keys = {"openai"}
    reply = core.send("hello")
    await core.until(lambda: core.state().last_error is not None)
    state = core.state()
    assert state.last_error == {
        "code": "provider_key_missing",
        "message": "The key is missing.",
        "provider_id": "openai",
    }
    assert (state.effective_state, state.current_input_id) == ("QUEUED", reply.input_id)
    published = [c for c in core.changes.after(0) or [] if c.kind == Change.SESSION_STATE]
    assert published[-1].payload["last_error"]["provider_id"] == "openai"
    assert core.types(reply.input_id) == []

    core.sessions.poke()
    await core.until(lambda: len(core.models.requested) == 2 and not core.types(reply.input_id))
    core.models.missing_keys = set()
    core.sessions.poke()
    assert (await core.terminal(reply)).event_type == "run_completed"
    assert core.state().last_error is None


async def test_one_missing_key_stops_nobody_else(core: Core) -> None:
    core.models.missing_keys = {"openai"}
    core.send("waits")
    await core.until(lambda: core.state().last_error is not None)
    assert (await core.ask("other model", model="ollama/m")).event_type == "run_completed"
    assert (await core.ask("other session", session_id="s2", model="ollama/m")).event_type == "run_completed"


async def test_it_still_waits_after_a_restart(tmp_path: Path) -> None:
    async with running_core(tmp_path) as core:
        core.models.missing_keys = {"openai"}
        reply = core.send("hello")
        await core.until(lambda: core.state().last_error is not None)
    async with running_core(tmp_path) as core:
        assert (await core.terminal(reply)).event_type == "run_completed"
