"""An approval is used once and in time, also where a host is lost silently and where nobody has looked at the clock."""

from __future__ import annotations

import pytest

from holaboss_client.agents import DecideAction
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession, QueueRequest
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import client_of, problem_of
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio

COMMAND = {"command": "rm report.txt"}
made: list[str] = []


async def loses_its_host(stage: Stage) -> None:
    """Asks, makes the approved call, and is gone before anybody hears of it."""
    if not stage.package.decisions and not made:
        stage.ask("bash", COMMAND)
    made.extend(decision.call_id for decision in stage.package.decisions if decision.outcome == "approved")
    stage.fail(type="host_lost", message="The agent stopped.", retryable=True)


async def asked(core: Core, client: RuntimeClient) -> tuple[str, str]:
    """The session that waits, and its request."""
    made.clear()
    core.harness.script = loses_its_host
    session = (await client.create_session(CreateSession(workspace_id=WORKSPACE))).session_id
    await client.queue(QueueRequest(workspace_id=WORKSPACE, session_id=session, text="Remove it"))
    await turns(core, session, 1)
    (action,) = (await client.pending_actions(session, only_open=True)).items
    return session, action.id


async def turns(core: Core, session: str, count: int) -> None:
    def done() -> bool:
        finished = len(core.records.turns.newest(session, limit=50))
        return finished >= count and core.sessions.views.status(session).lease_owner is None

    await core.until(done)


async def test_a_lost_host_does_not_get_an_approval_twice(core: Core) -> None:
    async with client_of(core) as client:
        session, action = await asked(core, client)
        await client.decide_action(session, action, DecideAction(allowed=True))
        await turns(core, session, 2)
        assert len(made) == 1
        assert [turn.status for turn in core.records.turns.newest(session, limit=1)] == ["failed"]


@pytest.mark.parametrize("allowed", [True, False])
async def test_it_is_too_late_before_anybody_noticed(core: Core, *, allowed: bool) -> None:
    async with client_of(core) as client:
        session, action = await asked(core, client)
        core.database.execute("UPDATE pending_actions SET expires_at = '2020-01-01T00:00:00.000Z'")
        with pytest.raises(ProblemError) as late:
            await client.decide_action(session, action, DecideAction(allowed=allowed))
        assert problem_of(late.value) == (409, "action_not_open")
        assert "expired" in str(late.value)
        assert made == []
