"""What happens to an input whose run fails: tried again with a growing pause, or ended where a person sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest

from holaboss_client.base import utc_now
from holaboss_client.client import RuntimeClient
from holaboss_runtime.sessions.retry import MAX_RETRIES
from holaboss_runtime.store.clock import seconds_until
from tests.runtime.sessions.core import Core
from tests.runtime.sessions.wire import client_of, new_agent_session, say
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


async def unavailable(stage: Stage) -> None:
    """503 without a word about when to come back."""
    stage.fail(type="provider_unavailable", message="503", retryable=True)


def let_it_wait_long(core: Core, agent_id: str = "scout") -> None:
    """No retry comes due while a test looks at it, however slow the machine is."""
    config = core.agents.tree.agent_config(agent_id)
    backoff = {"pendingEventBackoffBaseMs": 60_000, "pendingEventBackoffMaxMs": 3_600_000}
    config.write_text(json.dumps(json.loads(config.read_text()) | {"resilience": {"retry": backoff}}))


async def until_attempt(core: Core, session: str, attempt: int) -> None:
    """Wait until that many attempts are over and the next one waits for its time."""

    def waits() -> bool:
        status = core.sessions.views.status(session)
        return status.retry_attempt == attempt and status.lease_owner is None

    await core.until(waits)


def come_due(core: Core) -> None:
    """Let the time pass that a retry waits for."""
    core.database.execute("UPDATE agent_session_inputs SET available_at = '' WHERE status = 'QUEUED'")
    core.sessions.poke()


async def ended(core: Core, session: str, turns: int = 1) -> None:
    await core.until(
        lambda: (
            len(core.records.turns.newest(session, limit=50)) >= turns
            and core.sessions.views.status(session).lease_owner is None
        )
    )


async def test_an_unavailable_provider_is_asked_again_with_a_growing_pause(core: Core) -> None:
    core.harness.script = unavailable
    async with client_of(core) as client:
        session = await new_agent_session(client)
        let_it_wait_long(core)
        asked = await say(client, session, "hello")
        waits: list[float] = []
        for attempt in range(1, MAX_RETRIES + 1):
            await until_attempt(core, session, attempt)
            status = await client.session_status(session)
            assert (status.status, status.runtime_status) == ("rescheduling", "IDLE")
            assert status.next_retry_at is not None
            assert status.next_retry_at > utc_now()
            waits.append(seconds_until(status.next_retry_at))
            if attempt < MAX_RETRIES:
                assert (await client.wake(session, wait=True)).skipped == "deferred"
            come_due(core)
        await ended(core, session)
        told = [
            event.payload["delay_s"] for event in core.events(session) if event.event_type == "run_retrying"
        ]
        assert all(later > earlier for earlier, later in pairwise(told)), told
        assert all(wait <= delay for wait, delay in zip(waits, told, strict=True))
        await visibly_failed(core, client, session, asked.input_id, "provider_unavailable")
        assert len(core.harness.packages) == MAX_RETRIES + 1


async def test_what_cannot_be_cured_fails_once(core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.fail(type="auth_failed", message="401", retryable=False)

    core.harness.script = script
    async with client_of(core) as client:
        session = await new_agent_session(client)
        asked = await say(client, session, "hello")
        await ended(core, session)
        assert len(core.harness.packages) == 1
        await visibly_failed(core, client, session, asked.input_id, "auth_failed")


async def test_a_poisonous_input_ends_and_lets_the_others_run(
    core: Core, allow_log: Callable[..., None]
) -> None:
    async def script(stage: Stage) -> None:
        if "poison" in stage.package.instruction:
            raise ZeroDivisionError
        stage.say("fine")

    core.harness.script = script
    allow_log("holaboss_runtime.sessions.wake", "failed inside the runtime")
    async with client_of(core) as client:
        session = await new_agent_session(client)
        asked = await say(client, session, "poison")
        await ended(core, session)
        await visibly_failed(core, client, session, asked.input_id, "internal_error")
        await say(client, session, "water")
        await ended(core, session, 2)
        status = await client.session_status(session)
        assert (status.status, status.runtime_status, status.last_error) == ("idle", "IDLE", None)
        await core.sessions.orchestrator.drained("scout")  # a loop that stops when idle comes to its end
        assert len(core.harness.packages) == 2


async def visibly_failed(core: Core, client: RuntimeClient, session: str, input_id: str, code: str) -> None:
    """In every place where somebody could look."""
    status = await client.session_status(session)
    assert (status.status, status.runtime_status, status.pending_events) == ("idle", "ERROR", 0)
    assert status.last_error is not None
    assert status.last_error["code"] == code
    (turn,) = (await client.turn_results(session)).items
    assert (turn.input_id, turn.status, turn.stop_reason) == (input_id, "failed", code)
    found = core.records.inputs.get(input_id)
    assert found is not None
    assert found.status == "FAILED"
    outputs = core.events(session)
    assert outputs[-1].event_type == "run_failed"
    assert sum(event.is_terminal for event in outputs) == 1
    ends = (await client.session_events(session, types=["span.completed"])).items
    assert ends[-1].payload["result"] == "error"
    (event,) = (await client.session_events(session, types=["user.message"])).items
    assert event.processed_at is not None
