"""The files of the agent layer follow the database, whatever happens to them or to the writer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.sessions.projections import disk, files
from holaboss_runtime.store.outbox import Outbox
from holaboss_runtime.store.pending_actions import NewAction
from tests.support.agent_files import AGENT, AgentFiles, read_jsonl

PROJECTIONS = "holaboss_runtime.sessions.projections"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[AgentFiles]:
    with AgentFiles(tmp_path) as kept:
        yield kept


def test_a_desktop_session_has_no_files(kept: AgentFiles) -> None:
    session = kept.session(None)
    kept.say(session, "hello")

    report = kept.projector.flush_now()

    assert report.lines == 0
    assert report.complete
    assert not kept.tree.session(AGENT, session).exists()
    assert kept.records.outbox.agents() == []


def test_the_log_says_what_happened_in_order(kept: AgentFiles) -> None:
    session = kept.session()
    message = kept.say(session, "hello")
    wake = kept.answer(session, message, "hi")

    kept.projector.flush_now()

    asked, processed, answered = kept.lines(session)
    assert [line["kind"] for line in (asked, processed, answered)] == [
        "session.event.appended",
        "session.event.processed",
        "session.event.appended",
    ]
    assert asked["event"]["message"] == "hello"
    assert asked["event"]["processedAt"] is None
    assert (processed["eventId"], processed["wakeId"], processed["seq"]) == (
        message.event_id,
        wake,
        asked["seq"],
    )
    assert answered["seq"] > asked["seq"]
    assert answered["event"] | {"id": "", "createdAt": "", "processedAt": ""} == {
        "id": "",
        "type": "agent.message",
        "createdAt": "",
        "processedAt": "",
        "wakeId": wake,
        "message": "hi",
        "summary": "hi",
        "inputId": message.event_id,
    }
    assert kept.projector.verify(session) == []
    assert not kept.projector.stale(session)


def test_session_json_has_the_fields_of_the_format(kept: AgentFiles) -> None:
    session = kept.session()
    kept.records.sessions.set_metadata(session, {"lastProvider": "openai", "_file": {"colour": "blue"}})
    with kept.database.transaction():
        for kind in ("custom_tool", "tool_confirmation"):
            arguments = {"command": "ls", "some_key": 1}
            kept.records.actions.insert(
                session, "w", NewAction(f"{kind}-1", kind, "c", "bash", arguments, "e")
            )
        kept.records.outbox.mark(session, "session")

    kept.projector.flush_now()

    raw = kept.tree.session_document(AGENT, session).read_text("utf-8")
    document = json.loads(raw)
    assert raw == json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    assert document["id"] == session
    assert document["agentId"] == AGENT
    assert (document["status"], document["stopReason"], document["usage"]) == ("idle", "idle", {"turns": 0})
    assert document["rowVersion"] == 1
    assert document["colour"] == "blue"
    assert document["metadata"] == {"lastProvider": "openai"}
    asked = document["pendingToolConfirmationRequest"]
    assert (asked["toolName"], asked["permissionPolicy"]) == ("bash", "always_ask")
    assert asked["input"] == {"command": "ls", "some_key": 1}
    assert document["pendingCustomToolRequest"]["name"] == "bash"
    (resource,) = document["resources"]
    assert (resource["kind"], resource["role"]) == ("workspace_directory", "session_workspace")
    assert resource["metadata"] == {"scope": "session_execution_hand", "prompt": "Yours."}
    assert kept.tree.session_document(AGENT, session).stat().st_mode & 0o777 == 0o600


def test_checkpoint_wakes_learnings_and_activations(kept: AgentFiles) -> None:
    session = kept.session()
    rendered = {"session_state": "# State\n", "working_buffer": "# Buffer\n"}
    with kept.database.transaction():
        kept.records.checkpoints.save(session, "w1", {"version": 6, "lastWakeId": "w1", "_files": rendered})
        wake = kept.records.scheduled.schedule(session, due_at=utc_now(), reason="look again", dedupe_key="k")
        kept.records.scheduled.complete(wake, "consumed")
        for kind in ("lesson", "correction", "error"):
            kept.records.learnings.capture(
                AGENT, session, wake_id="w1", kind=kind, title=kind, detail="d", promote=False
            )
        kept.records.activations.append(
            "leased", claim_id="c", agent_id=AGENT, session_id=session, payload={}
        )

    kept.projector.flush_now()

    tree = kept.tree
    checkpoint = json.loads(tree.checkpoint(AGENT, session).read_text("utf-8"))
    assert checkpoint == {"version": 6, "lastWakeId": "w1"}
    assert tree.session_state(AGENT, session).read_text("utf-8") == "# State\n"
    assert tree.working_buffer(AGENT, session).read_text("utf-8") == "# Buffer\n"
    enqueued, completed = read_jsonl(tree.wake_queue(AGENT, session))
    assert (enqueued["wake"]["id"], enqueued["wake"]["dedupeKey"]) == (wake.id, "k")
    assert (completed["wakeId"], completed["outcome"]) == (wake.id, "consumed")
    for kind in ("lesson", "correction", "error"):
        (line,) = read_jsonl(tree.learnings(AGENT, kind))
        assert line["learning"]["title"] == kind
    (activation,) = read_jsonl(tree.activations(AGENT))
    assert activation["kind"] == "activation.leased"
    assert kept.projector.verify(session) == []
    assert kept.projector.verify_agent(AGENT) == []


def test_a_flush_with_nothing_new_writes_nothing(kept: AgentFiles) -> None:
    session = kept.session()
    kept.say(session, "one")
    kept.projector.flush_now()
    before = _stamps(kept.root)
    kept.records.outbox.mark(session, "session")

    report = kept.projector.flush_now()

    assert (report.lines, report.problems) == (0, ())
    assert _stamps(kept.root) == before


class _Crash(BaseException):
    """The process is gone: nothing after this line happened."""


@pytest.mark.parametrize(
    "step", ["before the lines", "half a line", "before session.json", "before forgetting"]
)
def test_a_crash_between_any_two_steps_loses_and_doubles_nothing(
    kept: AgentFiles, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    session = kept.session()
    kept.answer(session, kept.say(session, "one"), "first answer")
    kept.projector.flush_now()
    kept.answer(session, kept.say(session, "two"), "second answer")
    append = disk.append

    def crash(*_: object) -> None:
        raise _Crash

    def half(path: Path, addition: bytes) -> None:
        append(path, addition[: len(addition) * 2 // 3 + 5])
        raise _Crash

    with monkeypatch.context() as patch:
        if step == "before the lines":
            patch.setattr(disk, "append", crash)
        elif step == "half a line":
            patch.setattr(disk, "append", half)
        elif step == "before session.json":
            patch.setattr(files, "replace", crash)
        else:
            patch.setattr(Outbox, "done", crash)
        with pytest.raises(_Crash):
            kept.projector.flush_now()
    with AgentFiles(kept.root) as restarted:
        kept_going = restarted.say(session, "three")
        report = restarted.projector.flush_now()

        assert report.problems == ()
        assert restarted.projector.verify(session) == []
        ids = [line["event"]["id"] for line in restarted.lines(session) if "event" in line]
        assert len(ids) == len(set(ids)) == 5
        assert ids[-1] == kept_going.event_id
        assert len([line for line in restarted.lines(session) if "eventId" in line]) == 2
        assert _extra_files(restarted, session) == []


@pytest.mark.allow_log(PROJECTIONS, "line_torn")
def test_a_torn_tail_is_kept_aside_and_mended(kept: AgentFiles) -> None:
    session = kept.session()
    kept.answer(session, kept.say(session, "one"), "answer")
    kept.projector.flush_now()
    kept.answer(session, kept.say(session, "one more"), "answer")
    kept.projector.flush_now()
    path = kept.events_file(session)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 20] + b"\0\0")
    kept.say(session, "two")

    report = kept.projector.flush_now()

    assert [problem.code for problem in report.problems] == ["line_torn"]
    assert kept.projector.verify(session) == []
    assert [line["event"]["id"] for line in kept.lines(session) if "event" in line] == _event_ids(
        kept, session
    )
    (torn,) = path.parent.glob("events.jsonl.torn-*")
    assert torn.read_bytes().endswith(b"\0\0")


def test_a_tail_torn_off_one_of_our_lines_is_simply_completed(kept: AgentFiles) -> None:
    session = kept.session()
    kept.answer(session, kept.say(session, "one"), "answer")
    kept.projector.flush_now()
    path = kept.events_file(session)
    path.write_bytes(path.read_bytes()[:-20])
    kept.say(session, "two")

    report = kept.projector.flush_now()

    assert report.problems == ()
    assert kept.projector.verify(session) == []
    assert _extra_files(kept, session) == []


@pytest.mark.allow_log(PROJECTIONS, "projection_conflict")
def test_a_log_changed_by_hand_loses_to_the_database_and_is_kept(kept: AgentFiles) -> None:
    session = kept.session()
    kept.answer(session, kept.say(session, "one"), "answer")
    kept.projector.flush_now()
    path = kept.events_file(session)
    edited = path.read_text("utf-8").replace('"one"', '"something else entirely"')
    path.write_text(edited, "utf-8")
    assert kept.projector.verify(session) != []
    kept.say(session, "two")

    report = kept.projector.flush_now()

    assert [problem.code for problem in report.problems] == ["projection_conflict"]
    assert kept.projector.verify(session) == []
    (copy,) = path.parent.glob("events.jsonl.conflict-*")
    assert copy.read_text("utf-8") == edited


@pytest.mark.allow_log(PROJECTIONS, "projection_conflict")
@pytest.mark.parametrize("name", ["session.json", "runtime/session-state.md"])
def test_a_whole_file_changed_by_hand_loses_and_is_kept(kept: AgentFiles, name: str) -> None:
    session = kept.session()
    _checkpoint(kept, session, "first")
    kept.projector.flush_now()
    path = kept.tree.session(AGENT, session) / name
    path.write_text("my own words", "utf-8")
    _checkpoint(kept, session, "second")
    kept.records.sessions.rename(session, "New")
    kept.records.outbox.mark(session, "session")

    report = kept.projector.flush_now()

    assert [problem.code for problem in report.problems] == ["projection_conflict"]
    (copy,) = path.parent.glob(f"{path.name}.conflict-*")
    assert copy.read_text("utf-8") == "my own words"
    assert kept.projector.verify(session) == []
    assert kept.projector.flush_now().problems == ()


def test_files_that_disappeared_are_written_again(kept: AgentFiles) -> None:
    session = kept.session()
    kept.answer(session, kept.say(session, "one"), "answer")
    kept.projector.flush_now()
    for path in (kept.events_file(session), kept.tree.session_document(AGENT, session)):
        path.unlink()
    kept.say(session, "two")

    assert kept.projector.flush_now().problems == ()

    assert kept.projector.verify(session) == []
    assert len(kept.lines(session)) == 4


def test_repair_finds_what_nobody_wrote_about(kept: AgentFiles) -> None:
    session = kept.session()
    kept.answer(session, kept.say(session, "one"), "answer")
    kept.projector.flush_now()
    path = kept.events_file(session)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
    assert [difference.detail for difference in kept.projector.verify(session)] == [
        "lacks session.event.processed",
        "lacks session.event.appended",
    ]

    kept.projector.mark_all()
    assert kept.projector.flush_now().problems == ()

    assert kept.projector.verify(session) == []


def test_more_than_a_batch_in_one_flush(kept: AgentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holaboss_runtime.sessions.projections.projector.BATCH", 7)
    session = kept.session()
    for number in range(40):
        kept.say(session, str(number))

    kept.projector.flush_now()
    for number in range(40, 80):
        kept.say(session, str(number))
    kept.projector.flush_now()

    assert [line["event"]["message"] for line in kept.lines(session)] == [str(number) for number in range(80)]
    assert kept.records.outbox.agents() == []


def test_appending_reads_the_log_neither_here_nor_there(
    kept: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = kept.session()
    kept.say(session, "one")
    kept.projector.flush_now()
    kept.say(session, "two")

    def never(*_: object) -> None:
        raise AssertionError("the whole log was read")

    monkeypatch.setattr("holaboss_runtime.store.rebuild.Families.events", never)
    monkeypatch.setattr("holaboss_runtime.sessions.projections.mending.read_lines", never)

    assert kept.projector.flush_now().lines == 1


def _checkpoint(kept: AgentFiles, session: str, text: str) -> None:
    rendered = {"session_state": text, "working_buffer": text}
    kept.records.checkpoints.save(session, "w", {"version": 6, "lastSummary": text, "_files": rendered})


def _event_ids(kept: AgentFiles, session: str) -> list[str]:
    return [event.event_id for event in kept.records.events.select(session)]


def _extra_files(kept: AgentFiles, session: str) -> list[str]:
    folder = kept.tree.session(AGENT, session)
    return [path.name for path in folder.iterdir() if "jsonl." in path.name or "json." in path.name]


def _stamps(root: Path) -> dict[str, int]:
    files = [path for path in (root / ".openboa").rglob("*") if path.is_file()]
    return {str(path): path.stat().st_mtime_ns for path in files if path.name != ".projection.json"}
