"""What waits for a person: allowed, denied, interrupted, talked past, answered twice, too late and over a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AppendEvent, DecideAction, PendingAction
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_runtime.harness.contract import ActionDecision
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.runtime.sessions.wire import append, client_of, problem_of, say
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio

COMMAND = {"command": "rm report.txt"}


async def asks_once(stage: Stage) -> None:
    """Asks when told to, and otherwise says what it was told and what was decided."""
    if "remove" in stage.package.instruction and not stage.package.decisions:
        stage.ask("bash", COMMAND)
    stage.say(", ".join([decision.outcome for decision in stage.package.decisions] or ["nothing decided"]))


class Asked:
    """A session that waits for leave to run a command."""

    def __init__(self, core: Core, client: RuntimeClient, session: str, workspace: str) -> None:
        self.core, self.client, self.session, self.workspace = core, client, session, workspace

    async def action(self) -> PendingAction:
        (action,) = (await self.client.pending_actions(self.session, only_open=True)).items
        return action

    async def rests(self, turns: int) -> None:
        """Wait until that many turns are finished and nothing more runs."""

        def done() -> bool:
            finished = len(self.core.records.turns.newest(self.session, limit=50))
            return finished >= turns and self.core.sessions.views.status(self.session).lease_owner is None

        await self.core.until(done)

    @property
    def handed_out(self) -> list[ActionDecision]:
        """Every decision any run was given, in order."""
        return [decision for package in self.core.harness.packages for decision in package.decisions]


@asynccontextmanager
async def asked(core: Core, session: str | None = None, *, agent: bool = True) -> AsyncIterator[Asked]:
    """A new session that has asked, or one that has asked before a restart."""
    core.harness.script = asks_once
    async with client_of(core) as client:
        if session is None:
            body = CreateSession(agent_id="scout") if agent else CreateSession(workspace_id=WORKSPACE)
            made = await client.create_session(body)
            waiting = Asked(core, client, made.session_id, made.workspace_id)
            await say(client, made.session_id, "remove the report")
            await waiting.rests(1)
        else:
            status = await client.session_status(session)
            waiting = Asked(core, client, session, status.workspace_id)
        yield waiting


@pytest.fixture(params=["agent", "desktop"])
async def waiting(request: pytest.FixtureRequest, core: Core) -> AsyncIterator[Asked]:
    async with asked(core, agent=request.param == "agent") as waiting:
        yield waiting


async def test_it_is_seen_that_something_waits(waiting: Asked) -> None:
    status = await waiting.client.session_status(waiting.session)
    assert (status.status, status.runtime_status) == ("requires_action", "WAITING_USER")
    state = await waiting.client.session_state(waiting.workspace, waiting.session)
    assert (state.effective_state, state.open_actions) == ("WAITING_USER", 1)
    log = (await waiting.client.session_events(waiting.session)).items
    blocked = next(event for event in log if event.type == "agent.tool_use")
    assert (blocked.payload["output"], blocked.payload["input"]) == (None, COMMAND)
    idle = next(event for event in log if event.type == "session.status_idle")
    assert idle.payload["blocking_event_ids"] == [blocked.event_id]
    (turn,) = (await waiting.client.turn_results(waiting.session)).items
    assert turn.status == "waiting_user"


@pytest.mark.parametrize(("allowed", "outcome"), [(True, "approved"), (False, "denied")])
async def test_a_decision_is_handed_out_once(waiting: Asked, *, allowed: bool, outcome: str) -> None:
    action = await waiting.action()
    await waiting.client.decide_action(
        waiting.session, action.id, DecideAction(allowed=allowed, note="my reason")
    )
    await waiting.rests(2)
    (decision,) = waiting.handed_out
    assert (decision.outcome, decision.tool_name, decision.tool_args) == (outcome, "bash", COMMAND)
    assert decision.note == "my reason"
    await say(waiting.client, waiting.session, "and now?")
    await waiting.rests(3)
    assert waiting.handed_out == [decision]
    assert waiting.core.harness.packages[-1].decisions == []
    turns = await waiting.client.turns(waiting.workspace, waiting.session, from_seq=0, limit=10)
    verb = "Allowed" if allowed else "Declined"
    assert turns.items[1].text == f"{verb}: bash. my reason"


async def test_an_interrupt_discards_what_waits(waiting: Asked) -> None:
    action = await waiting.action()
    await append(waiting.client, waiting.session, "user.interrupt", {})
    await waiting.rests(2)
    assert len(waiting.core.harness.packages) == 1
    (found,) = (await waiting.client.pending_actions(waiting.session)).items
    assert found.status == "cancelled"
    assert (await waiting.client.session_status(waiting.session)).status == "idle"
    with pytest.raises(ProblemError) as late:
        await waiting.client.decide_action(waiting.session, action.id, DecideAction(allowed=True))
    assert problem_of(late.value) == (409, "action_not_open")
    await say(waiting.client, waiting.session, "never mind")
    await waiting.rests(3)
    assert [decision.outcome for decision in waiting.handed_out] == ["cancelled"]


async def test_a_message_in_between_waits_for_the_decision(waiting: Asked) -> None:
    action = await waiting.action()
    body = QueueRequest(workspace_id=waiting.workspace, session_id=waiting.session, text="by the way")
    await waiting.client.queue(body)
    assert (await waiting.client.wake(waiting.session, wait=True)).skipped == "requires_action"
    status = await waiting.client.session_status(waiting.session)
    assert (status.status, status.runtime_status, status.pending_events) == (
        "requires_action",
        "WAITING_USER",
        1,
    )
    await waiting.client.decide_action(waiting.session, action.id, DecideAction(allowed=True))
    together = status.kind == "agent_session"
    await waiting.rests(2 if together else 3)
    assert [decision.outcome for decision in waiting.handed_out] == ["approved"]
    packages = waiting.core.harness.packages[1:]
    assert len(packages) == (1 if together else 2)
    assert packages[0].decisions != []
    assert "by the way" in packages[-1].instruction


async def test_the_same_answer_twice_changes_nothing(waiting: Asked) -> None:
    action = await waiting.action()
    payload: dict[str, Any] = {"request_id": action.id, "tool_name": "bash", "allowed": True}
    body = AppendEvent(type="user.tool_confirmation", payload=payload, event_id="click-1")
    first = await waiting.client.append_event(waiting.session, body)
    again = await waiting.client.append_event(waiting.session, body)
    assert again.event.seq == first.event.seq
    with pytest.raises(ProblemError) as second:
        await append(waiting.client, waiting.session, "user.tool_confirmation", payload | {"allowed": False})
    assert problem_of(second.value) == (409, "action_not_open")
    assert waiting.session in str(second.value)
    assert action.id in str(second.value)
    await waiting.rests(2)
    assert [decision.outcome for decision in waiting.handed_out] == ["approved"]


async def test_an_answer_about_something_else_is_refused(waiting: Asked) -> None:
    action = await waiting.action()
    for event_type, payload, code in (
        ("user.tool_confirmation", {"request_id": "other", "allowed": True}, "action_not_found"),
        (
            "user.tool_confirmation",
            {"request_id": action.id, "tool_name": "write", "allowed": True},
            "action_mismatch",
        ),
        ("user.custom_tool_result", {"request_id": action.id, "output": "x"}, "action_not_found"),
        ("user.custom_tool_result", {"output": "x"}, "action_not_open"),
    ):
        with pytest.raises(ProblemError) as wrong:
            await append(waiting.client, waiting.session, event_type, payload)
        assert problem_of(wrong.value) == (409, code)
    assert (await waiting.action()).status == "open"


async def test_an_answer_for_another_session_is_refused(waiting: Asked) -> None:
    action = await waiting.action()
    other = (await waiting.client.create_session(CreateSession(agent_id="other"))).session_id
    with pytest.raises(ProblemError) as wrong:
        await waiting.client.decide_action(other, action.id, DecideAction(allowed=True))
    assert problem_of(wrong.value) == (409, "action_not_found")
    assert (await waiting.action()).status == "open"


@pytest.mark.parametrize("decided_before", [True, False])
async def test_a_decision_survives_a_restart(tmp_path: Path, *, decided_before: bool) -> None:
    async with running_core(tmp_path) as core, asked(core) as waiting:
        session, action = waiting.session, await waiting.action()
        if decided_before:
            core.models.missing_keys = {"openai"}  # nothing can run any more in this life
            await waiting.client.decide_action(session, action.id, DecideAction(allowed=True))
            await core.until(lambda: core.sessions.views.status(session).last_error is not None)
        assert len(core.harness.packages) == 1
    async with running_core(tmp_path) as core, asked(core, session) as waiting:
        if not decided_before:
            assert await waiting.action() == action
            await waiting.client.decide_action(session, action.id, DecideAction(allowed=True))
        await waiting.rests(2)
        await say(waiting.client, session, "and now?")
        await waiting.rests(3)
        assert [decision.outcome for decision in waiting.handed_out] == ["approved"]
        assert waiting.handed_out[0].tool_args == COMMAND


async def test_several_requests_go_on_together(core: Core) -> None:
    async def script(stage: Stage) -> None:
        if not stage.package.decisions:
            stage.wait(stage.blocked("bash", {"n": 1}), stage.blocked("write", {"n": 2}))
        stage.say("done")

    async with asked(core) as waiting:
        await waiting.client.terminate(waiting.session)
        core.harness.script = script
        session = (await waiting.client.create_session(CreateSession(agent_id="scout"))).session_id
        both = Asked(core, waiting.client, session, waiting.workspace)
        await say(waiting.client, session, "do both")
        await both.rests(1)
        first, second = (await waiting.client.pending_actions(session, only_open=True)).items
        with pytest.raises(ProblemError) as ambiguous:
            await append(waiting.client, session, "user.tool_confirmation", {"allowed": True})
        assert problem_of(ambiguous.value) == (409, "action_ambiguous")
        await waiting.client.decide_action(session, second.id, DecideAction(allowed=False))
        assert (await waiting.client.wake(session, wait=True)).skipped == "requires_action"
        await waiting.client.decide_action(session, first.id, DecideAction(allowed=True))
        await both.rests(2)
        given = [(decision.tool_name, decision.outcome) for decision in core.harness.packages[-1].decisions]
        assert given == [("bash", "approved"), ("write", "denied")]


LOOP = '<openboa-session-loop>{{"outcome":"sleep","customToolRequest":{}}}</openboa-session-loop>'


@pytest.mark.parametrize("asked_by", ["call", "directive"])
async def test_the_result_of_a_custom_tool_resumes_after_an_unrelated_message(
    core: Core, asked_by: str
) -> None:
    async def script(stage: Stage) -> None:
        if "look it up" not in stage.package.instruction:
            stage.say("resumed")
        elif asked_by == "call":
            stage.ask("lookup", {"id": 7}, kind="custom_tool")
        else:
            stage.say("One moment. " + LOOP.format('{"name": "lookup", "input": {"id": 7}}'))

    async with client_of(core) as client:
        core.harness.script = script
        session = (await client.create_session(CreateSession(agent_id="scout"))).session_id
        waiting = Asked(core, client, session, "scout")
        await say(client, session, "look it up")
        await waiting.rests(1)
        (action,) = (await client.pending_actions(session)).items
        assert (action.kind, action.tool_name, action.input) == ("custom_tool", "lookup", {"id": 7})
        await say(client, session, "take your time")
        assert (await client.wake(session, wait=True)).skipped == "requires_action"
        answer = {"request_id": action.id, "tool_name": "lookup", "output": "seven"}
        await append(client, session, "user.custom_tool_result", answer)
        await waiting.rests(2)
        package = core.harness.packages[-1]
        assert "take your time" in package.instruction
        if asked_by == "call":
            assert [(one.outcome, one.output) for one in package.decisions] == [("answered", "seven")]
        else:
            assert "seven" in package.instruction
        assert len(core.harness.packages) == 2
        assert (await client.session_status(session)).status == "idle"
        with pytest.raises(ProblemError) as twice:
            await append(client, session, "user.custom_tool_result", answer)
        assert problem_of(twice.value) == (409, "action_not_open")
