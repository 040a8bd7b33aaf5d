"""Every way an approval can go, with a real host and a real model on the wire: what was approved is done once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import DecideAction, PendingAction
from holaboss_client.client import RuntimeClient
from holaboss_client.permissions import KeepRule, RuleText
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession, QueueRequest, TurnResult
from holaboss_runtime.harness.native import NativeHarness
from tests.runtime.harness.conftest import open_harness
from tests.runtime.sessions.core import WORKSPACE, Core, PlainModel, PlainModels, running_core
from tests.runtime.sessions.wire import append, client_of, problem_of
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio

COMMAND = "echo made >> log"
MADE = "made\n"


@pytest.fixture(scope="module")
async def harness(anyio_backend: str) -> AsyncIterator[NativeHarness]:
    async with open_harness() as opened:
        yield opened


class Model(PlainModels):
    def __init__(self, provider: ScriptedProvider) -> None:
        super().__init__()
        self._url = f"{provider.url}/v1"

    async def resolve_model(self, requested: str | None, *, headers: dict[str, str]) -> PlainModel:
        found = await super().resolve_model(requested, headers=headers)
        return PlainModel(found.provider_id, found.model_id, base_url=self._url)


class Room:
    """A conversation, its folder, and the client of whoever decides."""

    def __init__(self, core: Core, client: RuntimeClient, session: str) -> None:
        self.core, self.client, self.session = core, client, session

    @property
    def log(self) -> str:
        """What the commands of the agent did."""
        file = self.core.folder / "log"
        return file.read_text() if file.exists() else ""

    async def say(self, text: str) -> None:
        await self.client.queue(QueueRequest(workspace_id=WORKSPACE, session_id=self.session, text=text))

    async def action(self) -> PendingAction:
        (action,) = (await self.client.pending_actions(self.session, only_open=True)).items
        return action

    async def decided(self) -> PendingAction:
        """The newest request, whatever became of it."""
        return (await self.client.pending_actions(self.session)).items[0]

    async def rests(self, turns: int) -> TurnResult:
        """The last turn, once that many are over and nothing runs."""

        def done() -> bool:
            found = self.core.records.turns.newest(self.session, limit=50)
            return len(found) >= turns and self.core.sessions.views.status(self.session).lease_owner is None

        await self.core.until(done)
        found = self.core.records.turns.newest(self.session, limit=50)
        assert len(found) == turns
        return found[0]

    async def asks(self, *, turns: int = 1) -> PendingAction:
        assert (await self.rests(turns)).status == "waiting_user"
        return await self.action()

    async def allow(self, **fields: Any) -> None:
        action = await self.action()
        await self.client.decide_action(self.session, action.id, DecideAction(allowed=True, **fields))


@asynccontextmanager
async def entered(
    root: Path,
    harness: NativeHarness,
    provider: ScriptedProvider,
    *,
    kind: str = "workspace_session",
    **options: Any,
) -> AsyncGenerator[Room]:
    """Entering the same root again is a new start on what the last one left."""
    models = Model(provider)
    async with (
        running_core(root, harness=harness, models=models, **options) as core,
        client_of(core) as client,
    ):
        if core.records.sessions.get("s1") is None:
            await client.create_session(CreateSession(workspace_id=WORKSPACE, session_id="s1", kind=kind))
        yield Room(core, client, "s1")


@pytest.fixture
async def room(tmp_path: Path, harness: NativeHarness, provider: ScriptedProvider) -> AsyncIterator[Room]:
    async with entered(tmp_path, harness, provider) as entered_room:
        yield entered_room


@pytest.fixture
async def asked(room: Room, provider: ScriptedProvider) -> Room:
    """The agent wants to run a command that is not known to only read."""
    provider.enqueue(call("bash", command=COMMAND), say("All done."), say("And more."))
    await room.say("Make it")
    await room.asks()
    return room


async def test_allowed_it_is_done_once(asked: Room) -> None:
    action = await asked.action()
    assert asked.log == ""
    assert (action.kind, action.input) == ("tool_confirmation", {"command": COMMAND})
    assert action.reason
    assert action.suggestions
    assert action.expires_at is not None
    await asked.allow()
    turn = await asked.rests(2)
    assert (turn.status, turn.assistant_text, asked.log) == ("completed", "All done.", MADE)
    assert turn.containment is not None
    await asked.say("Go on")
    await asked.rests(3)
    assert asked.log == MADE


async def test_denied_it_is_never_done_and_the_model_hears_why(
    asked: Room, provider: ScriptedProvider
) -> None:
    action = await asked.action()
    await asked.client.decide_action("s1", action.id, DecideAction(allowed=False, note="Not today."))
    await asked.rests(2)
    assert asked.log == ""
    assert "Not today." in str(provider.requests[-1].body)


async def test_edited_it_runs_with_the_new_arguments_and_the_log_shows_both(asked: Room) -> None:
    edited = {"command": "echo edited >> log"}
    await asked.allow(input=edited)
    await asked.rests(2)
    assert asked.log == "edited\n"
    action = await asked.decided()
    assert (action.status, action.input, action.edited_input) == ("approved", {"command": COMMAND}, edited)
    log = (await asked.client.session_events("s1")).items
    decision = next(event for event in log if event.type == "user.tool_confirmation")
    assert (decision.payload["input"], decision.payload["asked_input"]) == (edited, {"command": COMMAND})
    used = next(
        event for event in log if event.type == "agent.tool_use" and event.payload["output"] is not None
    )
    assert (used.payload["input"], used.payload["asked_input"]) == (edited, {"command": COMMAND})
    page = await asked.client.turns(WORKSPACE, "s1", from_seq=0, limit=10)
    assert page.items[1].text == "Allowed: bash with changes"


async def test_the_same_arguments_are_no_edit(asked: Room) -> None:
    await asked.allow(input={"command": COMMAND})
    await asked.rests(2)
    assert (asked.log, (await asked.decided()).edited_input) == (MADE, None)


async def test_arguments_the_tool_refuses_do_nothing(asked: Room, provider: ScriptedProvider) -> None:
    await asked.allow(input={"comand": "echo wrong >> log"})
    await asked.rests(2)
    assert asked.log == ""
    assert "comand" in str(provider.requests[-1].body)


async def test_nobody_in_time_is_a_no(
    tmp_path: Path, harness: NativeHarness, provider: ScriptedProvider
) -> None:
    provider.enqueue(call("bash", command=COMMAND), say("Then not."))
    async with entered(tmp_path, harness, provider, approval_s=0.05) as room:
        await room.say("Make it")
        turn = await room.rests(2)
        assert (turn.assistant_text, room.log) == ("Then not.", "")
        assert "Nobody answered in time." in str(provider.requests[-1].body)
        action = await room.decided()
        assert action.status == "expired"
        with pytest.raises(ProblemError) as late:
            await room.client.decide_action("s1", action.id, DecideAction(allowed=True))
        assert problem_of(late.value) == (409, "action_not_open")
        assert "expired" in str(late.value)
        page = await room.client.turns(WORKSPACE, "s1", from_seq=0, limit=10)
        assert page.items[1].text == "Not answered: bash. Nobody answered in time."


async def test_it_runs_out_while_nothing_runs_here(
    tmp_path: Path, harness: NativeHarness, provider: ScriptedProvider
) -> None:
    provider.enqueue(call("bash", command=COMMAND), say("Then not."))
    async with entered(tmp_path, harness, provider) as room:
        await room.say("Make it")
        await room.asks()
        room.core.database.execute("UPDATE pending_actions SET expires_at = '2020-01-01T00:00:00.000Z'")
    async with entered(tmp_path, harness, provider) as room:
        assert (await room.rests(2)).assistant_text == "Then not."
        assert ((await room.decided()).status, room.log) == ("expired", "")


async def test_the_same_click_twice_is_one(asked: Room) -> None:
    action = await asked.action()
    body = DecideAction(allowed=True, idempotency_key="click-1")
    first = await asked.client.decide_action("s1", action.id, body)
    await asked.rests(2)
    again = await asked.client.decide_action("s1", action.id, body)
    assert again.event.event_id == first.event.event_id
    with pytest.raises(ProblemError) as other:
        await asked.client.decide_action("s1", action.id, DecideAction(allowed=False))
    assert problem_of(other.value) == (409, "action_not_open")
    assert "approved" in str(other.value)
    await asked.say("Go on")
    await asked.rests(3)
    assert asked.log == MADE


async def test_an_answer_that_is_too_late_changes_nothing(asked: Room) -> None:
    action = await asked.action()
    await append(asked.client, "s1", "user.interrupt", {})
    await asked.rests(2)
    with pytest.raises(ProblemError) as late:
        await asked.client.decide_action("s1", action.id, DecideAction(allowed=True))
    assert problem_of(late.value) == (409, "action_not_open")
    assert "cancelled" in str(late.value)
    await asked.say("Go on")
    await asked.rests(3)
    assert asked.log == ""


async def test_a_message_meanwhile_decides_nothing(asked: Room) -> None:
    await asked.say("By the way, hurry up")
    assert (await asked.action()).status == "open"
    assert asked.log == ""
    await asked.allow()
    await asked.rests(3)
    assert asked.log == MADE


async def test_a_restart_between_asking_and_answering(
    tmp_path: Path, harness: NativeHarness, provider: ScriptedProvider
) -> None:
    provider.enqueue(call("bash", command=COMMAND), say("All done."), say("And more."))
    async with entered(tmp_path, harness, provider) as room:
        await room.say("Make it")
        before = await room.asks()
    async with open_harness() as another, entered(tmp_path, another, provider) as room:
        assert await room.action() == before
        await room.allow(input={"command": "echo edited >> log"})
        await room.rests(2)
    async with entered(tmp_path, harness, provider) as room:
        await room.say("Go on")
        await room.rests(3)
        assert room.log == "edited\n"


async def test_two_windows_at_once(asked: Room) -> None:
    action = await asked.action()
    async with client_of(asked.core) as other:
        answers = await asyncio.gather(
            *(
                client.decide_action("s1", action.id, DecideAction(allowed=allowed))
                for client in (asked.client, other)
                for allowed in (True, False)
            ),
            return_exceptions=True,
        )
        await asked.rests(2)  # with the second client the core of this test ends
    refusals = [answer for answer in answers if isinstance(answer, BaseException)]
    assert [problem_of(refusal) for refusal in refusals] == [(409, "action_not_open")] * 3
    status = (await asked.decided()).status
    assert all(status in str(refusal) for refusal in refusals)
    assert asked.log == (MADE if status == "approved" else "")


async def test_what_is_remembered_is_not_asked_again_and_another_call_is(
    room: Room, provider: ScriptedProvider
) -> None:
    provider.enqueue(
        call("bash", command="mkdir -p one"),
        say("One."),
        call("bash", command="mkdir -p two"),
        say("Two."),
        call("bash", command="rmdir one"),
    )
    await room.say("Make one")
    action = await room.asks()
    rule = next(rule for rule in action.suggestions if rule.command == "mkdir")
    position = room.core.changes.last_seq()
    await room.allow(remember=rule)
    await room.rests(2)
    changes = room.core.changes.after(position) or []
    assert [change.workspace_id for change in changes if change.kind == "permissions"] == [WORKSPACE]
    (kept,) = (await room.client.permissions(WORKSPACE)).rules
    assert (kept.effect, kept.tool, kept.command) == ("always_allow", "bash", "mkdir")
    await room.say("Make two")
    assert (await room.rests(3)).status == "completed"
    assert (room.core.folder / "two").is_dir()
    await room.say("Remove one")
    assert (await room.asks(turns=4)).input == {"command": "rmdir one"}
    assert (room.core.folder / "one").is_dir()


async def test_a_narrower_rule_is_kept_and_a_wider_one_is_not(asked: Room) -> None:
    action = await asked.action()
    for rule in (
        RuleText(tool="*"),
        RuleText(tool="bash"),
        RuleText(tool="bash", command="ech"),
        RuleText(effect="always_ask", tool="bash"),
        RuleText(tool="bash", path="**"),
        action.suggestions[0].model_copy(update={"tool": "*"}),
    ):
        with pytest.raises(ProblemError) as wide:
            await asked.client.decide_action("s1", action.id, DecideAction(allowed=True, remember=rule))
        assert problem_of(wide.value) == (409, "rule_not_suggested")
    assert (await asked.action()).status == "open"
    assert (await asked.client.permissions(WORKSPACE)).rules == []
    narrower = action.suggestions[0].model_copy(update={"host": "example.org"})
    await asked.allow(remember=narrower)
    await asked.rests(2)
    assert [rule.host for rule in (await asked.client.permissions(WORKSPACE)).rules] == ["example.org"]


async def test_unattended_it_is_refused_and_the_session_waits_for_a_person(
    tmp_path: Path, harness: NativeHarness, provider: ScriptedProvider
) -> None:
    change = call("write", path="workspace.yaml", content="agents:\n  id: workspace.general\n")
    provider.enqueue(change, say("I may not."), change, say("Now I did."))
    async with entered(tmp_path, harness, provider, kind="cronjob") as room:
        position = room.core.changes.last_seq()
        await room.say("Change the plan")
        turn = await room.rests(1)
        assert not (room.core.folder / "workspace.yaml").exists()
        assert (turn.status, turn.stop_reason) == ("completed", "permission_denied")
        assert [denial["tool_name"] for denial in turn.permission_denials] == ["write"]
        state = await room.client.session_state(WORKSPACE, "s1")
        assert (state.runtime_status, state.hold, state.open_actions) == ("PAUSED", "permission_denied", 0)
        (notification,) = room.core.records.notifications.page(WORKSPACE)
        assert (notification.source_type, notification.priority) == ("permission_denied", "high")
        (denial,) = notification.metadata["denials"]
        notices = [c for c in room.core.changes.after(position) or [] if c.kind == "notice"]
        assert [(n.session_id, n.payload["code"]) for n in notices] == [("s1", "permission_denied")]

        await room.client.keep_rule(WORKSPACE, KeepRule.model_validate(denial["suggestions"][0]))
        await room.say("Go on")
        turn = await room.rests(2)
        assert (turn.stop_reason, turn.permission_denials) == ("success", [])
        assert (room.core.folder / "workspace.yaml").exists()
        assert (await room.client.session_state(WORKSPACE, "s1")).hold is None
