"""From a message to a committed turn."""

from __future__ import annotations

import asyncio

import pytest

from holaboss_client.events import Change
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.subscription import OutputQuery
from tests.runtime.sessions.core import SECRET, WORKSPACE, Core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


async def test_a_message_becomes_a_turn(core: Core) -> None:
    reply = core.send("hello there")
    assert (reply.status, reply.effective_state, reply.current_input_id) == (
        "QUEUED",
        "QUEUED",
        reply.input_id,
    )
    assert core.sessions.transcript.index("s1").queued[0].text == "hello there"

    terminal = await core.terminal(reply)

    assert terminal.event_type == "run_completed"
    assert core.types(reply.input_id) == ["run_claimed", "run_started", "output_delta", "run_completed"]
    assert [event.sequence for event in core.events()] == [1, 2, 3, 4]
    started = core.events()[1].payload
    assert (started["provider_id"], started["model_id"]) == ("openai", "m-default")
    assert started["workspace_tool_ids"] == ["read", "write", "bash"]


async def test_whoever_sees_the_terminal_event_can_read_everything(core: Core) -> None:
    def script_text(stage: Stage) -> str:
        return f"answer to {stage.package.instruction}"

    async def script(stage: Stage) -> None:
        stage.say(script_text(stage))

    core.harness.script = script
    for number in range(5):
        reply = core.send(f"question {number}")
        async for event in core.follow(OutputQuery("s1", input_id=reply.input_id)):
            if event.is_terminal:
                state = core.state()
                turn = core.records.turns.get(reply.input_id)
                history = core.sessions.transcript.history(
                    core.sessions.directory.require(WORKSPACE, "s1"), limit=1000, offset=0, newest_first=True
                )
                assert (state.effective_state, state.last_turn_status) == ("IDLE", "completed")
                assert turn is not None
                assert turn.assistant_text == f"answer to question {number}"
                assert history.messages[0].id == f"assistant-{reply.input_id}"
                assert core.records.inputs.get(reply.input_id).status == "DONE"  # type: ignore[union-attr]
                assert core.sessions.transcript.index("s1").rows[-1][1] == reply.input_id
    assert core.records.sessions.get("s1").turns == 5  # type: ignore[union-attr]


async def test_the_user_message_is_history_only_once_it_is_claimed(core: Core) -> None:
    gate = asyncio.Event()

    async def script(stage: Stage) -> None:
        stage.say("busy")
        await gate.wait()

    core.harness.script = script
    first = core.send("first")
    await core.until(lambda: core.state().effective_state == "BUSY")
    second = core.send("second")
    session = core.sessions.directory.require(WORKSPACE, "s1")
    shown = core.sessions.transcript.history(session, limit=10, offset=0, newest_first=False)
    assert [message.text for message in shown.messages] == ["first"]
    assert second.current_input_id == first.input_id
    assert second.effective_state == "BUSY"
    gate.set()
    await core.terminal(second)
    shown = core.sessions.transcript.history(session, limit=10, offset=0, newest_first=False)
    assert [message.text for message in shown.messages] == ["first", "busy", "second", "busy"]


async def test_the_same_key_asks_only_once(core: Core) -> None:
    first = core.send("once", idempotency_key="k")
    again = core.send("twice", session_id="other", idempotency_key="k")
    assert (again.input_id, again.session_id) == (first.input_id, "s1")
    assert core.records.sessions.get("other") is None
    await core.terminal(first)
    assert core.send("later", idempotency_key="k").status == "DONE"
    assert len(core.harness.packages) == 1
    same = [
        core.sessions.inbound.append_inbound(
            core.sessions.directory.get("s1"), "user.message", {"text": "cron"}, idempotency_key="tick"
        )
        for _ in range(2)
    ]
    assert same[0].input_id == same[1].input_id


async def test_priority_goes_first_and_then_age(core: Core) -> None:
    gate = asyncio.Event()

    async def script(stage: Stage) -> None:
        await gate.wait()

    core.harness.script = script
    core.send("running")
    await core.until(lambda: core.state().effective_state == "BUSY")
    last = [core.send("old"), core.send("new"), core.send("urgent", priority=5)][1]
    gate.set()
    await core.terminal(last)
    assert [package.instruction for package in core.harness.packages] == ["running", "urgent", "old", "new"]


async def test_one_run_per_session_and_sessions_side_by_side(core: Core) -> None:
    in_session: dict[str, int] = {}
    worst = 0
    barrier = asyncio.Barrier(5)

    async def script(stage: Stage) -> None:
        nonlocal worst
        session = stage.package.session_id
        in_session[session] = in_session.get(session, 0) + 1
        worst = max(worst, in_session[session])
        await barrier.wait()
        in_session[session] -= 1

    core.harness.script = script
    replies = [core.send(f"{turn}", session_id=f"s{n}") for turn in range(2) for n in range(5)]
    for reply in replies:
        await core.terminal(reply)
    assert worst == 1
    assert core.harness.most_running == 5


async def test_history_goes_back_to_the_harness(core: Core) -> None:
    await core.ask("one")
    await core.ask("two")
    await core.ask("three")
    payloads = [entry.payload for entry in core.harness.packages[2].history]
    assert payloads == [["one", "You said: one"], ["two", "You said: two"]]


async def test_the_model_is_that_of_the_input_then_the_workspace_then_the_default(core: Core) -> None:
    await core.ask("default")
    (core.folder / "workspace.yaml").write_text("agents:\n  id: workspace.general\n  model: anthropic/m-2\n")
    await core.ask("workspace")
    await core.ask("queued", model="ollama/m-3")
    assert core.models.requested == [None, "anthropic/m-2", "ollama/m-3"]


async def test_the_prompt_carries_the_policy_and_the_snapshot_no_secret(core: Core) -> None:
    (core.folder / "AGENTS.md").write_text(f"Speak like a pirate. {SECRET}")
    reply = core.send(f"hello {SECRET}")
    await core.terminal(reply)
    package = core.harness.packages[0]
    assert "Speak like a pirate." in package.system_prompt
    assert package.model_client.api_key == SECRET
    snapshot = core.records.snapshots.get(reply.input_id)
    turn = core.records.turns.get(reply.input_id)
    assert snapshot is not None
    assert turn is not None
    assert turn.request_snapshot_fingerprint == snapshot.fingerprint
    sections = snapshot.payload["runtime_config"]["prompt_sections"]
    texts = [core.records.snapshots.section(section["fingerprint"]) for section in sections]
    assert any(text and "Speak like a pirate. [redacted]" in text for text in texts)
    stored = str(snapshot.payload) + str(texts)
    assert SECRET not in stored
    assert "user:pw" not in stored
    assert snapshot.payload["runtime_config"]["model_client"]["base_url"] == "http://127.0.0.1:9/v1"


async def test_the_snapshot_is_there_before_the_run_is(core: Core) -> None:
    found: list[bool] = []

    async def script(stage: Stage) -> None:
        found.append(core.records.snapshots.get(stage.package.input_id) is not None)

    core.harness.script = script
    await core.ask("hello")
    assert found == [True]


async def test_tools_are_counted_and_files_announced(core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.say("Looking. ")
        stage.tool("write", changed_paths=["a.txt"])
        stage.tool("bash")
        stage.tool("read")
        stage.tool("bash", error=True, result="cat: a: Permission denied")
        stage.refused("bash", "The workspace says no.")
        stage.tool("write_report", changed_paths=["outputs/reports/r.md"])
        stage.say("Done.")

    core.harness.script = script
    reply = core.send("work")
    await core.terminal(reply)
    turn = core.records.turns.get(reply.input_id)
    assert turn is not None
    assert turn.assistant_text == "Looking.\n\nDone."
    assert turn.tool_usage_summary["total_calls"] == 6
    assert turn.tool_usage_summary["failed_calls"] == 2
    (denial,) = turn.permission_denials
    assert (denial["tool_name"], denial["reason"]) == ("bash", "The workspace says no.")
    assert core.sessions.transcript.index("s1").rows[0][6] == 6
    changes = core.changes.after(0) or []
    files = [change.payload["paths"] for change in changes if change.kind == Change.FILES]
    assert files == [["a.txt"], [], [], ["outputs/reports/r.md"]]


async def test_a_bad_workspace_file_fails_the_run_visibly(core: Core) -> None:
    (core.folder / "workspace.yaml").write_text("agents: [")
    terminal = await core.ask("hello")
    assert terminal.event_type == "run_failed"
    assert terminal.payload["type"] == "workspace_config_invalid_yaml"
    assert core.state().effective_state == "ERROR"
    (core.folder / "workspace.yaml").unlink()
    assert core.send("again").effective_state == "QUEUED"


async def test_without_a_model_the_run_fails_with_its_code(core: Core) -> None:
    core.models.configured = False
    terminal = await core.ask("hello")
    assert terminal.payload["type"] == "model_not_configured"
    state = core.state()
    assert state.last_error == {"code": "model_not_configured", "message": "Connect a model first."}
    assert state.last_turn_status == "failed"


async def test_a_defect_in_the_harness_ends_the_run_and_no_other(core: Core, allow_log: object) -> None:
    async def script(stage: Stage) -> None:
        if stage.package.instruction == "break":
            stage.say("half")
            raise ZeroDivisionError

    allow_log("holaboss_runtime.sessions.wake")  # type: ignore[operator]
    core.harness.script = script
    terminal = await core.ask("break")
    assert terminal.payload["type"] == "internal_error"
    assert core.records.turns.get(terminal.input_id).assistant_text == "half"  # type: ignore[union-attr]
    assert (await core.ask("fine")).event_type == "run_completed"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": "  "}, "text_required"),
        ({"text": "x", "image_urls": ["https://example.org/a.png"]}, "image_urls_unsupported"),
        ({"text": "x", "attachments": [{"kind": "file"}]}, "attachment_invalid"),
        ({"text": "x", "attachments": [{"workspace_path": "nope.txt"}]}, "attachment_missing"),
        ({"text": "x", "attachments": [{"workspace_path": "../../etc/passwd"}]}, "path_outside_workspace"),
    ],
)
async def test_what_cannot_be_sent_is_refused_and_changes_nothing(
    core: Core, fields: dict[str, object], code: str
) -> None:
    with pytest.raises(DomainError) as refused:
        core.send(**fields)  # type: ignore[arg-type]
    assert refused.value.code == code
    assert core.records.sessions.get("s1") is None
    assert core.changes.last_seq() == 0


async def test_attached_files_reach_the_executor(core: Core) -> None:
    (core.folder / "notes.md").write_text("hi")
    reply = core.send("", attachments=[{"workspace_path": "notes.md", "name": "notes.md"}])
    await core.terminal(reply)
    attached = core.harness.packages[0].attachments
    assert [(one.workspace_path, one.name, one.kind) for one in attached] == [
        ("notes.md", "notes.md", "file")
    ]
    session = core.sessions.directory.require(WORKSPACE, "s1")
    shown = core.sessions.transcript.history(session, limit=10, offset=0, newest_first=False)
    assert shown.messages[0].metadata["attachments"][0]["name"] == "notes.md"


async def test_without_a_session_the_main_one_is_taken(core: Core) -> None:
    reply = core.send("a title that is " + "long " * 40, session_id=None)
    main = core.sessions.directory.ensure_main(WORKSPACE)
    assert reply.session_id == main.session_id
    assert main.kind == "main_session"
    assert main.session_id.startswith("main-")
    assert main.title is not None
    assert len(main.title) <= 80
    assert main.title.endswith("…")
    await core.terminal(reply)
