"""A tree that another program wrote is taken over whole, reported where it is damaged, and goes on as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.base import new_id
from holaboss_runtime.sessions.projections import lines
from holaboss_runtime.sessions.projections.importer import Importer, ImportReport
from holaboss_runtime.store.database import Row
from tests.support.agent_files import AgentFiles, read_jsonl
from tests.support.older_tree import (
    ASKING,
    BUSY,
    FIRST,
    LESSON,
    QUEUED_WAKE,
    REPLY,
    REQUEST,
    SECOND,
    STRANGE,
    T0,
    T1,
    TALK,
    WAKE,
    appended,
    processed,
    write_older_tree,
)

PROJECTIONS = "holaboss_runtime.sessions.projections"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[AgentFiles]:
    with AgentFiles(tmp_path) as place:
        yield place


@pytest.fixture
def older(place: AgentFiles) -> AgentFiles:
    write_older_tree(place.root)
    return place


def take(place: AgentFiles) -> ImportReport:
    return Importer(place.records, place.agents).import_new_now()


def rows(place: AgentFiles, table: str, **where: Any) -> list[Row]:
    test = " AND ".join(f"{name} = ?" for name in where) or "1 = 1"
    return place.database.rows(f"SELECT * FROM {table} WHERE {test} ORDER BY rowid", list(where.values()))


def codes(report: ImportReport) -> list[str]:
    return sorted(problem.code for problem in report.problems)


def test_everything_of_an_older_tree_is_there(older: AgentFiles) -> None:
    report = take(older)

    assert report.agents == ["alpha", "beta"]
    assert report.sessions == [TALK, ASKING, BUSY]
    assert codes(report) == ["event_type_unknown", "line_torn", "resource_left_out", "wake_duplicate"]
    assert [row["agent_id"] for row in rows(older, "agents")] == ["alpha", "beta"]
    assert [row["id"] for row in rows(older, "learnings")] == [LESSON]
    assert [row["kind"] for row in rows(older, "activations")] == ["leased"]


def test_a_session_is_who_it_was(older: AgentFiles) -> None:
    take(older)

    session = older.records.sessions.get(TALK)
    assert session is not None
    assert (session.workspace_id, session.agent_id, session.environment_id) == (
        "alpha",
        "alpha",
        "local-default",
    )
    assert (session.kind, session.coalesce, session.title) == ("agent_session", "all", "Hello")
    assert (session.status, session.stop_reason, session.turns) == ("rescheduling", "rescheduling", 1)
    assert (session.parent_session_id, session.follow_ups, session.created_at) == (BUSY, 2, T0)
    assert session.metadata["providerSessionBindings"] == {"openai-codex": {"sessionId": "p-1"}}
    assert [row["kind"] for row in session.metadata["unsupported_resources"]] == ["vault"]
    tree = older.tree
    assert [(one["kind"], one["role"], one["mount_path"], one["access"]) for one in session.resources] == [
        ("workspace_directory", "session_workspace", "/workspace", "read_write"),
        ("workspace_directory", "agent_workspace_substrate", "/workspace/agent", "read_only"),
        ("learnings_memory_store", None, "/memory/learnings", "read_only"),
        ("session_runtime_memory", None, "/runtime", "read_only"),
    ]
    assert [one["source_ref"] for one in session.resources] == [
        str(tree.session_workspace("alpha", TALK)),
        str(tree.agent_workspace("alpha")),
        str(tree.agent_learn("alpha")),
        str(tree.session_runtime("alpha", TALK)),
    ]


def test_the_log_keeps_its_order_and_what_waits_can_run(older: AgentFiles) -> None:
    take(older)

    events = older.records.events.select(TALK)
    assert [event.event_id for event in events] == [FIRST, "e-status", "e-span", REPLY, STRANGE, SECOND]
    first, *_, strange, second = events
    assert (first.payload, first.created_at, first.processed_at) == ({"text": "Hello"}, T0, T1)
    assert events[1].payload == {"from_status": "idle", "to_status": "running", "reason": "r"}
    assert (strange.type, strange.payload) == ("vendor.note_taken", {"someField": {"inner_key": 1}})
    assert strange.processed_at is not None
    assert second.processed_at is None
    found = {row["input_id"]: row for row in rows(older, "agent_session_inputs", session_id=TALK)}
    assert {key: row["status"] for key, row in found.items()} == {FIRST: "DONE", SECOND: "QUEUED"}
    assert json.loads(found[SECOND]["payload"]) == {"text": "And now?"}
    messages = [
        (row["input_id"], row["role"], row["text"])
        for row in rows(older, "session_messages", session_id=TALK)
    ]
    assert messages == [(FIRST, "user", "Hello"), (FIRST, "assistant", "Hi there")]


def test_wakes_checkpoints_and_learnings(older: AgentFiles) -> None:
    take(older)

    wakes = {row["id"]: row for row in rows(older, "session_wakes", session_id=TALK)}
    assert {key: row["completed_at"] is None for key, row in wakes.items()} == {
        "w-old": False,
        QUEUED_WAKE: True,
        "w-twice": False,
    }
    assert (wakes[QUEUED_WAKE]["dedupe_key"], wakes[QUEUED_WAKE]["priority"]) == ("look", "high")
    checkpoint = older.records.checkpoints.get(TALK)
    assert checkpoint is not None
    assert (checkpoint.wake_id, checkpoint.document["lastSummary"]) == (WAKE, "greeted")
    assert checkpoint.document["_files"] == {
        "session_state": "# Session state\n",
        "working_buffer": "# Working buffer\n",
    }
    older_checkpoint = older.records.checkpoints.get(ASKING)
    assert older_checkpoint is not None
    assert older_checkpoint.document["version"] == 6
    assert older_checkpoint.document["outcomeEvaluationHistory"] == []
    (lesson,) = rows(older, "learnings")
    assert (lesson["title"], lesson["promote"], lesson["session_id"]) == ("Be brief", 1, TALK)


def test_what_was_asked_still_waits_and_who_ran_does_not(older: AgentFiles) -> None:
    take(older)

    (action,) = older.records.actions.open(ASKING)
    assert (action.id, action.kind, action.tool_name) == (REQUEST, "tool_confirmation", "shell_run")
    assert (action.input, action.event_id, action.wake_id) == ({"command": "git status"}, "a-2", WAKE)
    asking, busy = older.records.sessions.get(ASKING), older.records.sessions.get(BUSY)
    assert asking is not None
    assert busy is not None
    assert asking.status == "requires_action"
    assert busy.status == "rescheduling"
    assert [event.event_id for event in older.records.events.pending(BUSY)] == ["b-1"]


@pytest.mark.allow_log(PROJECTIONS, "line_torn")
def test_the_files_go_on_where_the_other_program_stopped(older: AgentFiles) -> None:
    path = older.tree.session_events("alpha", TALK)
    before = path.read_bytes()
    original = older.tree.session_document("alpha", TALK).read_bytes()
    take(older)

    report = older.projector.flush_now()

    assert [problem.code for problem in report.problems] == ["line_torn"]
    whole = before[: before.rfind(b"\n") + 1]
    assert path.read_bytes().startswith(whole)
    for session in (TALK, ASKING, BUSY):
        assert older.projector.verify(session) == []
    assert older.projector.verify_agent("alpha") == []
    document = json.loads(older.tree.session_document("alpha", TALK).read_text("utf-8"))
    assert document["somethingNew"] == {"kept": True}
    assert document["metadata"]["parentSessionId"] == BUSY
    (kept,) = path.parent.glob("session.json.original-*")
    assert kept.read_bytes() == original
    assert (path.parent / "workspace" / "report.md").read_text("utf-8") == "Mine.\n"
    assert older.projector.flush_now().problems == ()

    event = older.say(TALK, "go on")
    older.projector.flush_now()
    assert read_jsonl(path)[-1]["event"]["id"] == event.event_id
    assert older.projector.verify(TALK) == []


def test_a_second_import_changes_nothing(older: AgentFiles) -> None:
    take(older)
    before = {
        table: rows(older, table) for table in ("agent_sessions", "session_events", "agent_session_inputs")
    }

    again = take(older)

    assert (again.agents, again.sessions, again.problems) == ([], [], [])
    assert {table: rows(older, table) for table in before} == before


@pytest.mark.anyio
async def test_the_same_on_a_loop(older: AgentFiles) -> None:
    report = await Importer(older.records, older.agents).import_new()

    assert report.sessions == [TALK, ASKING, BUSY]


@pytest.mark.allow_log(PROJECTIONS, "line_torn")
@pytest.mark.parametrize("content", ["{ not json", "[]", '{"id": 1' + "0" * 5000 + "}", "[" * 100_000])
def test_a_corrupt_session_json_is_made_again_from_the_events(older: AgentFiles, content: str) -> None:
    older.tree.session_document("alpha", TALK).write_text(content, "utf-8")

    report = take(older)

    assert report.sessions == [TALK, ASKING, BUSY]
    assert {"session_document_damaged", "session_document_rebuilt"} <= set(codes(report))
    session = older.records.sessions.get(TALK)
    assert session is not None
    assert (session.created_at, len(session.resources), session.status) == (T0, 4, "rescheduling")
    older.projector.flush_now()
    (kept,) = older.tree.session("alpha", TALK).glob("session.json.original-*")
    assert kept.read_text("utf-8") == content


def test_without_anything_readable_a_session_is_reported_and_the_others_come(older: AgentFiles) -> None:
    older.tree.session_document("alpha", TALK).write_text("{", "utf-8")
    older.tree.session_events("alpha", TALK).unlink()

    report = take(older)

    assert report.sessions == [ASKING, BUSY]
    (problem,) = [problem for problem in report.problems if problem.code == "session_document_damaged"]
    assert TALK in problem.path
    assert older.tree.session_document("alpha", TALK).read_text("utf-8") == "{"


def test_names_that_are_no_ids_are_refused_by_name(older: AgentFiles) -> None:
    agents = older.tree.agents
    (agents / "alpha" / "sessions" / "a\\b:c").mkdir()
    (agents / "alpha" / "sessions" / "a\\b:c" / "session.json").write_text("{}", "utf-8")
    (agents / "-..").mkdir()
    (agents / ".hidden" / "sessions" / TALK).mkdir(parents=True)

    report = take(older)

    assert report.sessions == [TALK, ASKING, BUSY]
    refused = {problem.code: problem for problem in report.problems}
    assert "a\\b:c" in refused["session_id_invalid"].path
    assert ".hidden" in refused["agent_id_invalid"].path


def test_a_folder_about_another_session_is_refused(older: AgentFiles) -> None:
    path = older.tree.session_document("alpha", ASKING)
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(document | {"id": new_id()}), "utf-8")

    report = take(older)

    assert report.sessions == [TALK, BUSY]
    assert "session_id_mismatch" in codes(report)


def test_a_broken_agent_holds_up_its_own_sessions_only(older: AgentFiles) -> None:
    path = older.tree.agent_config("alpha")
    whole = path.read_text("utf-8")
    path.write_text("{", "utf-8")

    report = take(older)

    assert (report.agents, report.sessions) == (["beta"], [BUSY])
    assert codes(report) == ["agent_config_invalid"]
    path.write_text(whole, "utf-8")
    assert take(older).sessions == [TALK, ASKING]


def test_a_line_glued_onto_a_torn_one_is_read(older: AgentFiles) -> None:
    path = older.tree.session_events("alpha", TALK)
    glued = json.dumps(
        appended(TALK, "e-glued", "user.message", message="after the crash"), separators=(",", ":")
    )
    path.write_text(path.read_text("utf-8") + glued + "\n", "utf-8")

    report = take(older)

    assert "line_unreadable" in codes(report)
    assert older.records.events.select(TALK)[-1].payload == {"text": "after the crash"}


def test_a_line_that_is_too_long_is_left_out_by_number(
    older: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 2000)
    monkeypatch.setattr(lines, "_CHUNK", 64)
    path = older.tree.session_events("beta", BUSY)
    long = json.dumps(appended(BUSY, "b-long", "user.message", message="x" * 5000))
    last = json.dumps(appended(BUSY, "b-2", "user.message", message="still here"))
    path.write_text(path.read_text("utf-8") + long + "\n" + last + "\n", "utf-8")

    report = take(older)

    (problem,) = [problem for problem in report.problems if problem.code == "line_oversized"]
    assert "Line 2" in problem.detail
    assert [event.event_id for event in older.records.events.pending(BUSY)] == ["b-1", "b-2"]


def test_ids_that_are_in_use_elsewhere_are_left_out(older: AgentFiles) -> None:
    path = older.tree.session_events("beta", BUSY)
    path.write_text(
        path.read_text("utf-8") + json.dumps(appended(BUSY, FIRST, "user.message", message="x")) + "\n"
    )

    report = take(older)

    assert "event_id_in_use" in codes(report)
    assert [event.event_id for event in older.records.events.select(BUSY)] == ["b-1"]


def test_text_no_database_can_hold_is_replaced(older: AgentFiles) -> None:
    path = older.tree.session_events("beta", BUSY)
    line = json.dumps(appended(BUSY, "b-2", "user.message", message="odd \ud800 text \0"))
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")

    take(older)

    assert older.records.events.select(BUSY)[-1].payload == {"text": "odd ? text \0"}


def test_a_decision_that_waited_is_carried_out(older: AgentFiles) -> None:
    path = older.tree.session_events("alpha", ASKING)
    decision = appended(
        ASKING,
        "a-4",
        "user.tool_confirmation",
        requestId=REQUEST,
        toolName="shell_run",
        allowed=True,
        note="go",
        at=T1,
    )
    path.write_text(path.read_text("utf-8") + json.dumps(decision) + "\n", "utf-8")

    take(older)

    action = older.records.actions.get(REQUEST)
    assert action is not None
    assert (action.status, action.note, action.decided_at, action.delivered_wake_id) == (
        "approved",
        "go",
        T1,
        None,
    )
    session = older.records.sessions.get(ASKING)
    assert session is not None
    assert session.status == "rescheduling"


def test_nothing_waits_in_a_session_that_ended(older: AgentFiles) -> None:
    path = older.tree.session_document("alpha", TALK)
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(document | {"status": "terminated"}), "utf-8")

    take(older)

    session = older.records.sessions.get(TALK)
    assert session is not None
    assert session.status == "terminated"
    assert older.records.events.pending(TALK) == []
    assert older.records.scheduled.waiting(TALK) == []
    statuses = {
        row["input_id"]: row["status"] for row in rows(older, "agent_session_inputs", session_id=TALK)
    }
    assert statuses == {FIRST: "DONE", SECOND: "CANCELLED"}


def test_replies_find_their_messages(older: AgentFiles) -> None:
    path = older.tree.session_events("beta", BUSY)
    start, later = "2025-03-01T11:00:00.000Z", "2025-03-01T11:01:00.000Z"
    wanted = [
        appended(BUSY, "b-2", "user.message", message="second"),
        appended(BUSY, "b-3", "user.message", message="while it ran", at=start),
        processed(BUSY, "b-1", start),
        processed(BUSY, "b-2", start),
        appended(BUSY, "b-4", "agent.message", start, message="to both", summary=""),
        processed(BUSY, "b-3", later),
        appended(BUSY, "b-5", "agent.message", later, message="to the third", summary=""),
    ]
    path.write_text(path.read_text("utf-8") + "".join(json.dumps(line) + "\n" for line in wanted), "utf-8")

    take(older)

    found = rows(older, "session_messages", session_id=BUSY, role="assistant")
    assert [(row["input_id"], row["text"]) for row in found] == [("b-1", "to both"), ("b-3", "to the third")]


def test_an_unknown_checkpoint_version_and_environment_are_named(older: AgentFiles) -> None:
    folder = older.tree.session("alpha", TALK)
    (folder / "runtime" / "checkpoint.json").write_text('{"version": 99}', "utf-8")
    document = json.loads((folder / "session.json").read_text("utf-8"))
    (folder / "session.json").write_text(json.dumps(document | {"environmentId": "cloud"}), "utf-8")

    report = take(older)

    assert {"checkpoint_version_unknown", "environment_missing"} <= set(codes(report))
    session = older.records.sessions.get(TALK)
    assert session is not None
    assert session.environment_id == "local-default"
    assert session.metadata["missing_environment"] == "cloud"
    assert older.records.checkpoints.get(TALK) is None


def test_a_local_file_out_of_bounds_is_left_out(older: AgentFiles) -> None:
    path = older.tree.session_document("alpha", TALK)
    document = json.loads(path.read_text("utf-8"))
    (older.root / "notes.txt").write_text("fine", "utf-8")
    for name, source in (("secret", older.root / "state"), ("notes", older.root / "notes.txt")):
        document["resources"].append(
            {
                "id": name,
                "kind": "local_file",
                "sourceRef": str(source),
                "mountPath": f"/files/{name}",
                "access": "read_only",
                "metadata": {"prompt": ""},
            }
        )
    path.write_text(json.dumps(document), "utf-8")

    report = take(older)

    session = older.records.sessions.get(TALK)
    assert session is not None
    assert [one["mount_path"] for one in session.resources][4:] == ["/files/notes"]
    assert codes(report).count("resource_left_out") == 2
