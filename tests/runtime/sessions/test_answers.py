"""Questions and their answers, approvals that run out, what a run leaves: over the routes, with a scripted executor."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import DecideAction, PendingAction
from holaboss_client.base import utc_now
from holaboss_client.client import RuntimeClient
from holaboss_client.permissions import RuleText
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import NewOutput, PendingCall
from holaboss_runtime.permissions.model import PermissionRule
from holaboss_runtime.sessions.answers import is_suggested
from holaboss_runtime.sessions.approvals import Approvals
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.pending_actions import NewAction
from holaboss_runtime.store.records import Records
from tests.runtime.sessions.core import WORKSPACE, Core, running_core
from tests.runtime.sessions.wire import append, client_of, new_agent_session, problem_of, say
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio

PAST, LATER = "2020-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"
COLOURS: dict[str, Any] = {
    "question": "Which colour?",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}],
    "allow_multiple": False,
}


async def asks(stage: Stage) -> None:
    """Asks what it is told to ask, and says what it was answered."""
    told = stage.package.instruction
    if stage.package.decisions:
        stage.say(f"heard {[decision.output for decision in stage.package.decisions]}")
    elif "colours" in told:
        stage.ask("question", COLOURS | {"allow_multiple": True}, kind="question")
    elif "colour" in told:
        stage.ask("question", COLOURS, kind="question")
    elif "both" in told:
        waits: list[PendingCall] = [
            stage.blocked("question", COLOURS, kind="question"),
            stage.blocked("bash"),
        ]
        stage.wait(*waits)
    elif "risky" in told:
        stage.ask("bash", {"command": "make"})
    else:
        stage.say(f"told {told}")


@pytest.fixture
async def client(core: Core) -> AsyncIterator[RuntimeClient]:
    core.harness.script = asks
    async with client_of(core) as client:
        yield client


async def rests(core: Core, turns: int, session: str = "s1") -> str:
    """What the last turn said, once that many are over."""

    def done() -> bool:
        found = core.records.turns.newest(session, limit=50)
        return len(found) >= turns and core.sessions.views.status(session).lease_owner is None

    await core.until(done)
    return core.records.turns.newest(session, limit=1)[0].assistant_text


async def asked(core: Core, client: RuntimeClient, text: str = "a colour") -> PendingAction:
    core.send(text)
    await rests(core, 1)
    return (await client.pending_actions("s1", only_open=True)).items[0]


@pytest.mark.parametrize(
    ("text", "output", "expected", "shown"),
    [
        ("a colour", " Green, rather. ", "Green, rather.", "Green, rather."),
        ("a colour", {"options": ["Blue"]}, {"options": ["Blue"], "text": ""}, "Blue"),
        ("colours", {"options": ["Blue", "Red"]}, {"options": ["Blue", "Red"], "text": ""}, "Blue, Red"),
        (
            "a colour",
            {"options": ["Red"], "text": "but dark"},
            {"options": ["Red"], "text": "but dark"},
            "Red\n\nbut dark",
        ),
        ("a colour", {"options": [], "text": ""}, {"options": [], "text": ""}, "(no answer)"),
        ("a colour", "", {"options": [], "text": ""}, "(no answer)"),
    ],
)
async def test_an_answer_reaches_the_agent_as_it_was_given(
    core: Core, client: RuntimeClient, text: str, output: Any, expected: Any, shown: str
) -> None:
    question = await asked(core, client, text)
    assert (question.kind, question.expires_at) == ("question", None)
    await client.decide_action("s1", question.id, DecideAction(output=output))
    assert await rests(core, 2) == f"heard {[expected]}"
    page = await client.turns(WORKSPACE, "s1", from_seq=0, limit=10)
    assert page.items[1].text == shown
    (found,) = (await client.pending_actions("s1")).items
    assert (found.status, found.output) == ("answered", expected)


@pytest.mark.parametrize(
    "output",
    [
        7,
        ["Blue"],
        {"options": ["Green"]},
        {"options": ["Red", "Blue"]},
        {"options": ["Red", "Red"]},
        {"options": "Red"},
        {"options": [1]},
        {"text": 1},
        {"option": "Red"},
        "x" * 100_001,
        {"text": "x" * 100_001},
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_by_name(
    core: Core, client: RuntimeClient, output: Any
) -> None:
    question = await asked(core, client)
    with pytest.raises(ProblemError) as wrong:
        await client.decide_action("s1", question.id, DecideAction(output=output))
    assert problem_of(wrong.value) == (422, "answer_invalid")
    assert len((await client.pending_actions("s1", only_open=True)).items) == 1


async def test_a_question_is_not_confirmed(core: Core, client: RuntimeClient) -> None:
    question = await asked(core, client)
    with pytest.raises(ProblemError) as wrong:
        await client.decide_action("s1", question.id, DecideAction(allowed=True))
    assert problem_of(wrong.value) == (409, "action_not_found")


async def test_the_next_message_is_the_answer_to_the_only_question(core: Core, client: RuntimeClient) -> None:
    await asked(core, client)
    reply = await client.queue(
        QueueRequest(workspace_id=WORKSPACE, session_id="s1", text="Violet", idempotency_key="k", model="m/x")
    )
    again = await client.queue(
        QueueRequest(workspace_id=WORKSPACE, session_id="s1", text="Violet", idempotency_key="k")
    )
    assert again.input_id == reply.input_id
    assert await rests(core, 2) == "heard ['Violet']"
    assert core.models.requested[-1] == "m/x"
    assert core.harness.packages[-1].instruction == ""
    spoken = [(message.role, message.text) for message in (await client.history(WORKSPACE, "s1")).messages]
    assert ("user", "Violet") in spoken
    page = await client.turns(WORKSPACE, "s1", from_seq=0, limit=10)
    assert page.items[1].text == "Violet"
    core.send("and then?")
    assert await rests(core, 3) == "told and then?"


async def test_an_executor_that_remembers_nothing_is_told_the_answer(
    core: Core, client: RuntimeClient
) -> None:
    await asked(core, client)
    core.database.execute("DELETE FROM harness_history")
    core.send("Violet")
    await rests(core, 2)
    assert core.harness.packages[-1].instruction == "Violet"


async def test_with_more_than_a_question_open_a_message_waits(core: Core, client: RuntimeClient) -> None:
    await asked(core, client, "both")
    core.send("Violet")
    assert len((await client.pending_actions("s1", only_open=True)).items) == 2
    assert (await client.session_state(WORKSPACE, "s1")).has_queued_inputs
    confirmation = next(a for a in (await client.pending_actions("s1")).items if a.kind != "question")
    await client.decide_action("s1", confirmation.id, DecideAction(allowed=False))
    assert len((await client.pending_actions("s1", only_open=True)).items) == 1
    core.send("Green")
    assert await rests(core, 2) == "heard ['Green', None]"
    assert await rests(core, 3) == "told Violet"


async def test_the_session_of_an_agent_takes_a_message_for_what_it_is(
    core: Core, client: RuntimeClient
) -> None:
    session = await new_agent_session(client)
    await say(client, session, "a colour")
    await rests(core, 1, session)
    await say(client, session, "Violet")
    (question,) = (await client.pending_actions(session, only_open=True)).items
    await append(client, session, "user.custom_tool_result", {"output": "Red"})
    await rests(core, 2, session)
    (found,) = (await client.pending_actions(session)).items
    assert (found.id, found.status, found.output) == (question.id, "answered", "Red")


# --- running out


async def test_it_runs_out_by_itself_and_is_seen_by_all(tmp_path: Path) -> None:
    async with running_core(tmp_path, approval_s=0.05) as core, client_of(core) as client:
        core.harness.script = asks
        core.send("risky")
        await rests(core, 2)
        (action,) = (await client.pending_actions("s1")).items
        assert (action.status, action.note) == ("expired", "Nobody answered in time.")
        (decision,) = core.harness.packages[-1].decisions
        assert (decision.outcome, decision.note) == ("denied", "Nobody answered in time.")


async def test_what_was_decided_in_time_does_not_run_out(core: Core, client: RuntimeClient) -> None:
    action = await asked(core, client, "risky")
    core.models.missing_keys = {"openai"}  # the decision cannot be taken up yet
    await client.decide_action("s1", action.id, DecideAction(allowed=True))
    core.database.execute("UPDATE pending_actions SET expires_at = ?", (PAST,))
    assert core.sessions.approvals.expire(utc_now()) == 0
    (found,) = (await client.pending_actions("s1")).items
    assert found.status == "approved"


async def test_a_paused_session_stays_paused(core: Core, client: RuntimeClient) -> None:
    await asked(core, client, "risky")
    core.records.sessions.hold("s1", "user_pause")
    core.database.execute("UPDATE pending_actions SET expires_at = ?", (PAST,))
    assert core.sessions.approvals.expire(utc_now()) == 1
    assert (await client.session_state(WORKSPACE, "s1")).hold == "user_pause"
    await client.resume(WORKSPACE, "s1")
    assert await rests(core, 2) == "heard [None]"


async def test_a_session_that_has_ended_runs_out_of_nothing(core: Core, client: RuntimeClient) -> None:
    await asked(core, client, "risky")
    await client.terminate("s1")
    core.database.execute("UPDATE pending_actions SET expires_at = ?, status = 'open'", (PAST,))
    assert core.sessions.approvals.expire(utc_now()) == 0


ROUNDS = 40


def test_a_decision_and_the_clock_at_once(tmp_path: Path) -> None:
    """Two programs on one database: whichever is first, the other changes nothing."""
    setup = Core(tmp_path)
    setup.sessions.directory.choose(WORKSPACE, "s1")
    ids = [f"a{number}" for number in range(ROUNDS)]
    with setup.database.transaction():
        for action_id in ids:
            action = NewAction(action_id, "tool_confirmation", "c", "bash", {}, "e", expires_at=PAST)
            setup.records.actions.insert("s1", "w", action)
    setup.sessions.owners.release(setup.sessions.waker.owner)
    setup.database.close()
    start, accepted, refused = threading.Barrier(2), list[str](), list[tuple[str, Any]]()

    def inbound_of(database: Database) -> tuple[Records, Inbound]:
        records = Records(database)
        return records, Inbound(records, Publisher(records, ChangeLog(database)), lambda: None)

    def person() -> None:
        database = Database.open(tmp_path / "runtime.db", beside_others=True)
        records, inbound = inbound_of(database)
        session = records.sessions.get("s1")
        assert session is not None
        start.wait()
        for action_id in reversed(ids):
            try:
                inbound.append_inbound(
                    session,
                    "user.tool_confirmation",
                    {"request_id": action_id, "allowed": True, "note": None},
                )
                accepted.append(action_id)
            except DomainError as error:
                refused.append((error.code, error.context.get("decision")))
        database.close()

    def clock() -> None:
        database = Database.open(tmp_path / "runtime.db", beside_others=True)
        records, inbound = inbound_of(database)
        approvals = Approvals(_OneByOne(records), inbound)
        start.wait()
        while approvals.expire(LATER):
            pass
        database.close()

    workers = [threading.Thread(target=work) for work in (person, clock)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    database = Database.open(tmp_path / "runtime.db")
    statuses = {row["id"]: row["status"] for row in database.rows("SELECT id, status FROM pending_actions")}
    assert {name for name, status in statuses.items() if status == "approved"} == set(accepted)
    assert set(statuses.values()) <= {"approved", "expired"}
    assert refused == [("action_not_open", "expired")] * (ROUNDS - len(accepted))
    decisions = database.rows("SELECT payload FROM session_events WHERE type = 'user.tool_confirmation'")
    assert len(decisions) == ROUNDS
    database.close()


class _OneByOne(Records):
    """Records whose clock finds one overdue request at a time, so that both programs take turns."""

    def __init__(self, records: Records) -> None:
        super().__init__(records.database)
        whole = self.actions.overdue
        self.actions.overdue = lambda now, session_id=None: whole(now, session_id)[:1]


# --- what a run leaves


async def test_outputs_and_containment_are_kept_with_the_turn(core: Core, client: RuntimeClient) -> None:
    async def script(stage: Stage) -> None:
        made = NewOutput(
            output_id="o1", output_type="document", title="A report", file_path="r.md", metadata={"a": 1}
        )
        stage.outputs.append(made)
        stage.containment = "bubblewrap"
        stage.say("done")

    core.harness.script = script
    first, second = core.send("one"), core.send("two")
    await rests(core, 2)
    turn = (await client.turn_results("s1")).items[0]
    assert turn.containment == "bubblewrap"
    kept = core.records.products.page(WORKSPACE, session_id="s1")
    assert {output.input_id for output in kept} == {first.input_id, second.input_id}
    assert {(o.title, o.file_path, o.status, o.metadata["a"]) for o in kept} == {
        ("A report", "r.md", "completed", 1)
    }
    assert len({output.id for output in kept}) == 2


async def test_an_unattended_run_that_was_refused_what_nobody_could_be_asked_is_parked(
    core: Core, client: RuntimeClient
) -> None:
    async def script(stage: Stage) -> None:
        assert not stage.package.permissions.may_ask
        rule = PermissionRule(effect="always_allow", tool="bash", command="git push", source="person")
        stage.refused("write", "Never.")
        if "push" in stage.package.instruction:
            stage.refused("bash", "It sends things out.", would_ask=True, suggestions=[rule])
        stage.say("done")

    core.harness.script = script
    await client.create_session(CreateSession(workspace_id=WORKSPACE, session_id="s1", kind="task_proposal"))
    core.send("tidy up")
    await rests(core, 1)
    assert (await client.session_state(WORKSPACE, "s1")).hold is None, "what is simply forbidden parks nobody"
    core.send("push it")
    await rests(core, 2)
    state = await client.session_state(WORKSPACE, "s1")
    assert (state.hold, state.last_turn_stop_reason) == ("permission_denied", "permission_denied")
    (notification,) = core.records.notifications.page(WORKSPACE)
    (denial,) = notification.metadata["denials"]
    assert denial["suggestions"] == [{"effect": "always_allow", "tool": "bash", "command": "git push"}]
    assert "It sends things out." in notification.message


# --- rules that may be kept


WIDE = [
    RuleText(tool="bash", command="git push"),
    RuleText(tool="bash", command="=make; make install"),
    RuleText(tool="write", path="docs/**"),
    RuleText(tool="mcp__git__*", server="git"),
    RuleText(tool="download_url", host="*.example.org"),
    RuleText(tool="bash", command="@reads"),
]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (RuleText(tool="bash", command="git push"), True),
        (RuleText(tool="bash", command="git push origin"), True),
        (RuleText(tool="bash", command="git pushy"), False),
        (RuleText(tool="bash", command="git"), False),
        (RuleText(tool="bash"), False),
        (RuleText(tool="*", command="git push"), False),
        (RuleText(effect="deny", tool="bash", command="git push"), False),
        (RuleText(tool="bash", command="=make; make install"), True),
        (RuleText(tool="bash", command="=make; make install ; rm -rf ~"), False),
        (RuleText(tool="bash", command="@reads all"), False),
        (RuleText(tool="write", path="docs/a.md"), True),
        (RuleText(tool="write", path="docs/deep/**"), True),
        (RuleText(tool="write", path="docs/../workspace.yaml"), False),
        (RuleText(tool="write", path="docs/*/../../x"), False),
        (RuleText(tool="write", path="docs"), False),
        (RuleText(tool="write", path="**"), False),
        (RuleText(tool="mcp__git__log", server="git"), True),
        (RuleText(tool="mcp__git__log"), False),
        (RuleText(tool="mcp__*", server="git"), False),
        (RuleText(tool="mcp__other__log", server="git"), False),
        (RuleText(tool="download_url", host="a.example.org"), True),
        (RuleText(tool="download_url", host="example.org.evil.net"), False),
        (RuleText(tool="download_url", host="*"), False),
    ],
)
def test_a_rule_is_kept_when_it_allows_no_more_than_was_offered(rule: RuleText, *, kept: bool) -> None:
    assert is_suggested(rule, WIDE) is kept
