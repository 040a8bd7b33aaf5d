"""Every command but the runs: what it says, to people and to programs, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holaboss_client.agents import SessionEvent
from holaboss_client.base import new_id
from holaboss_runtime.cli.agent.lines import event_line
from holaboss_runtime.cli.agent.table import COMMANDS
from holaboss_runtime.cli.place import find_place
from tests.runtime.cli.agent_shell import Shell

NOBODY = "01993f5a-7c1e-7b2a-9a70-6d2f0c4b8e11"


def test_nothing_is_made_by_looking(shell: Shell) -> None:
    agents, sessions, environments, woken, status = shell.many(
        ["agent", "list"],
        ["agent", "session", "list", "--json"],
        ["agent", "environment", "list"],
        ["agent", "wake", NOBODY],
        ["agent", "session", "status", NOBODY, "--json"],
    )

    assert (agents.code, agents.out) == (0, "agent list: (empty)\n")
    assert sessions.data == {"items": [], "count": 0}
    assert environments.out == "environment list: (empty)\n"
    assert woken.code == 1
    assert "agent session create" in woken.err
    assert (status.code, status.data["code"], status.data["status"]) == (1, "nothing_stored", 404)
    assert list(shell.folder.iterdir()) == []


def test_agents_sessions_and_environments(shell: Shell) -> None:
    made, again, other, environment, careful = shell.many(
        ["agent", "spawn", "--name", "alpha"],
        ["agent", "create", "alpha"],
        ["agent", "create", "--agent=beta", "--provider", "claude-cli", "--json"],
        ["agent", "environment", "create", "careful", "--workspace-access", "ro", "--network=disabled"],
        ["agent", "session", "create", "alpha", "--environment", "careful", "--title", "Mine", "--json"],
    )
    config = shell.folder / ".openboa" / "agents" / "alpha" / "agent.json"
    assert made.out == f"created: {config}\n"
    assert again.out == f"exists: {config}\n"
    assert (other.data["agent_id"], other.data["provider"], other.data["source"]) == (
        "beta",
        "claude-cli",
        "file",
    )
    assert environment.out.startswith("environment created\n- environment: careful\n")
    assert (careful.data["environment_id"], careful.data["title"]) == ("careful", "Mine")
    session = careful.data["session_id"]

    agents, environments, sessions, mine, theirs = shell.many(
        ["agent", "list"],
        ["agent", "environment", "list"],
        ["agent", "session", "list"],
        ["agent", "session", "list", "--agent", "alpha", "--json"],
        ["agent", "session", "list", "beta"],
    )
    first, alpha, beta = agents.out.splitlines()
    assert first == "agent list:"
    assert alpha.startswith("- alpha provider=")
    assert alpha.endswith(" sessions=1")
    assert beta.startswith("- beta provider=claude-cli model=")
    assert beta.endswith(" runner=cli sessions=0")
    assert "- careful kind=local mode=workspace workspaceAccess=ro networkAccess=disabled" in environments.out
    assert sessions.out == f"session list:\n- {session} agent=alpha status=idle turns=0 Mine\n"
    assert [item["session_id"] for item in mine.data["items"]] == [session]
    assert theirs.out == "session list: (empty)\n"


def test_messages_may_begin_with_dashes(shell: Shell) -> None:
    session = shell.session("alpha")
    texts = ["--not-a-flag", "-x", "- a list", "--root=/nowhere", "zwei\nZeilen “ä”"]

    sent = shell.many(
        ["agent", "session", "send", "--session", session, f"--message={texts[0]}"],
        ["agent", "session", "send", session, "--", texts[1]],
        ["agent", "session", "send", session, texts[2]],
        ["agent", "session", "send", "--message", "nothing", "--session", session, "--", texts[3]],
        ["agent", "session", "send", "--json", session, f"--message={texts[4]}", "--idempotency-key", "k"],
        ["agent", "session", "send", "--json", session, f"--message={texts[4]}", "--idempotency-key", "k"],
        ["agent", "session", "send", session, "--message", "--lost"],
        ["agent", "session", "send", session],
        ["agent", "session", "send", session, "  "],
    )

    assert [done.code for done in sent] == [0, 0, 0, 2, 0, 0, 2, 1, 1], [done.err for done in sent]
    assert "unrecognized arguments: --root=/nowhere" in sent[3].err
    assert sent[4].data["event"]["payload"] == {"text": texts[4]}
    assert sent[5].data["input_id"] == sent[4].data["input_id"]
    assert "--message" in sent[7].err
    assert [event["payload"]["text"] for event in shell.events(session)] == [*texts[:3], texts[4]]
    (lines,) = shell.many(["agent", "session", "events", session, "--limit", "1"])
    assert lines.out.splitlines()[1].endswith(' user.message "zwei\\nZeilen “ä”" processed=pending')


def test_refusals_name_the_way_out(shell: Shell) -> None:
    session = shell.session("alpha")
    refused = shell.many(
        ["agent", "session", "status", NOBODY],
        ["agent", "wake", NOBODY, "--json"],
        ["agent", "session", "send", NOBODY, "hello"],
        ["agent", "session", "create", "--name", "../etc"],
        ["agent", "session", "create", "--name", "alpha", "--environment", "nowhere"],
        ["agent", "session", "create", "--name", "alpha", "--session", "not-a-uuid", "--json"],
        ["agent", "orchestrator", "--agent", "nobody"],
        ["agent", "activation-events", "--agent", "alpha", "--kind", "leased,won"],
        ["agent", "session", "confirm-tool", session, "--allowed", "true"],
        ["agent", "session", "custom-tool-result", session, "--request", "r", "--output", "42"],
        ["agent", "session", "pause", session],
        ["agent", "session", "attach", session, "missing.txt"],
    )

    assert [done.code for done in refused] == [1] * len(refused), [done.out for done in refused]
    assert all(done.err.strip().endswith(".") for done in refused), [done.err for done in refused]
    assert refused[1].data == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": f"There is no session with the id '{NOBODY}'.",
        "code": "session_not_found",
    }
    assert (refused[5].data["status"], refused[5].data["code"]) == (422, "session_id_invalid")
    assert "leased, blocked, acked, requeued, abandoned" in refused[7].err


def test_usage_is_explained(shell: Shell) -> None:
    wrong = shell.many(
        ["agent"],
        ["agent", "activate"],
        ["agent", "wake"],
        ["agent", "session", "confirm-tool", NOBODY, "--allowed", "maybe"],
        ["agent", "orchestrator", "alpha", "--max-cycles", "0"],
        ["agent", "session", "events", NOBODY, "--limit", "many"],
        ["agent", "list", "--bogus"],
        ["bogus"],
        [],
    )
    assert [done.code for done in wrong] == [2] * len(wrong), [done.out for done in wrong]
    assert "orchestrator" in wrong[1].err
    assert "--session" in wrong[2].err

    helps = shell.many(["--help"], ["agent", "--help"], *[["agent", *one.path, "--help"] for one in COMMANDS])
    assert {done.code for done in helps} == {0}
    for done, command in zip(helps[2:], COMMANDS, strict=True):
        assert f"Example:\n  openboa {command.example}\n" in done.out
        assert "Exit codes: 0 done, 1 refused" in done.out
    assert list(shell.folder.iterdir()) == []


def test_pause_resume_terminate_and_attach(shell: Shell) -> None:
    session = shell.session("alpha", "hello")
    (shell.folder / "notes.md").write_text("a note")
    paused, held, resumed, attached, ended, again, late = shell.many(
        ["agent", "session", "pause", session],
        ["agent", "wake", session],
        ["agent", "session", "resume", session, "--json"],
        ["agent", "session", "attach", session, "--path", "notes.md", "--access", "read_write"],
        ["agent", "session", "terminate", session],
        ["agent", "session", "terminate", session],
        ["agent", "session", "send", session, "hello"],
    )

    assert (paused.code, paused.field("hold")) == (0, "user_pause"), paused.err
    assert (held.code, held.field("skippedReason")) == (0, "held")
    assert resumed.data["hold"] is None
    assert attached.code == 0, attached.err
    assert attached.field("source") == str(shell.folder / "notes.md")
    assert [done.field("status") for done in (ended, again)] == ["terminated", "terminated"]
    assert late.code == 1
    (status,) = shell.many(["agent", "session", "status", session])
    assert f"- resource: local_file {attached.field('mount')} access=read_write" in status.out


def test_the_claim_journal(shell: Shell) -> None:
    session = shell.session("alpha", "hello")
    woken, lines, acked, one = shell.many(
        ["agent", "wake", session, "--json"],
        ["agent", "activation-events", "--agent", "alpha"],
        ["agent", "activation-events", "alpha", "--kind", "activation.acked", "--limit", "5", "--json"],
        ["agent", "activation-events", "alpha", "--session", session, "--claim", NOBODY],
    )
    wake = woken.data["wake_id"]
    head, leased, done = lines.out.splitlines()
    assert head == "activation events: alpha"
    assert f" activation.leased claim={wake} session={session} " in leased
    assert ' reason="manual" ' in leased
    assert " owner=cli:" in leased
    assert f" activation.acked claim={wake} " in done
    assert done.endswith(f" wakeId={wake} stopReason=idle queuedWakes=0 processedEvents=1")
    assert [item["claim_id"] for item in acked.data["items"]] == [wake]
    assert one.out == "activation events: alpha\n"


def test_files_and_database_come_back_from_each_other(shell: Shell) -> None:
    session = shell.session("alpha", "hello")
    tree = shell.folder / ".openboa"
    journal = tree / "agents" / "alpha" / "sessions" / session / "events.jsonl"
    written = journal.read_text()
    journal.unlink()
    files, refused, elsewhere = shell.many(
        ["agent", "store", "rebuild-projections", "--agent", "alpha", "--json"],
        ["agent", "store", "rebuild-db", "--from-files"],
        ["agent", "store", "rebuild-db", "--to", "copy.db"],
    )
    assert (files.code, files.data["complete"]) == (0, True), files.err
    assert journal.read_text() == written
    assert refused.code == 1
    assert elsewhere.field("sessions") == "1", elsewhere.err

    lose_the_database(tree)
    imported, nothing = shell.many(
        ["agent", "store", "import", "--json"], ["agent", "store", "import", "--json"]
    )
    assert (imported.data["sessions"], imported.data["agents"]) == ([session], ["alpha"])
    assert (nothing.data["sessions"], nothing.data["agents"]) == ([], [])

    lose_the_database(tree)
    (looked,) = shell.many(["agent", "session", "status", session, "--json"])
    assert (looked.data["pending_events"], looked.data["projection"]) == (1, "current"), looked.err

    lose_the_database(tree)
    (rebuilt, again) = shell.many(
        ["agent", "store", "rebuild-db", "--from-files", "--json"], ["agent", "session", "list"]
    )
    assert (rebuilt.data["sessions"], rebuilt.data["agents"]) == ([session], ["alpha"]), rebuilt.err
    assert session in again.out


def test_files_that_cannot_be_written_do_not_stop_a_command(shell: Shell) -> None:
    session = shell.session("alpha")
    journal = shell.folder / ".openboa" / "agents" / "alpha" / "sessions" / session / "events.jsonl"
    journal.unlink(missing_ok=True)
    journal.mkdir()
    sent, behind = shell.many(
        ["agent", "session", "send", session, "hello"], ["agent", "session", "status", session]
    )
    assert sent.code == 0
    assert str(journal) in sent.err
    assert behind.field("projection") == "stale"

    journal.rmdir()
    (again,) = shell.many(["agent", "session", "events", session])
    assert again.err == ""
    assert '"hello"' in journal.read_text()


def test_a_reader_that_leaves_early_is_no_error(shell: Shell) -> None:
    session = shell.session("alpha", "x" * 200_000)
    reading = shell.start("agent", "session", "events", session)
    assert reading.process.stdout is not None
    reading.process.stdout.close()
    reading.process.stdout = None
    done = reading.wait()
    assert (done.code, done.err) == (0, "")


def lose_the_database(tree: Path) -> None:
    for path in (tree / "state").glob("runtime.db*"):
        if path.is_file():
            path.unlink()


def test_many_first_commands_at_once(shell: Shell) -> None:
    """They make one database together, and lose nothing."""
    with ThreadPoolExecutor(4) as at_once:
        ends = list(at_once.map(lambda _: shell.agent("session", "create", "alpha", "--json"), range(4)))

    assert [done.code for done in ends] == [0] * 4, [done.err for done in ends]
    (listed,) = shell.many(["agent", "session", "list", "--json"])
    assert {item["session_id"] for item in listed.data["items"]} == {done.data["session_id"] for done in ends}


def test_a_message_costs_no_server_no_model_and_no_http(shell: Shell) -> None:
    session = shell.session("alpha")
    program = (
        "import sys; from holaboss_runtime.cli.main import holaboss;"
        f" code = holaboss(['agent', 'session', 'send', '{session}', 'hello', '--json']);"
        " heavy = {'fastapi', 'uvicorn', 'pydantic_ai', 'openai', 'anthropic', 'httpx', 'httpx2'} & set(sys.modules);"
        " print(sorted(heavy), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=shell.folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert json.loads(done.stdout)["event"]["type"] == "user.message"


def test_where_a_command_works(tmp_path: Path) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    (project / ".openboa").mkdir()
    (root / "state").mkdir(parents=True)
    (root / "workspace").mkdir()

    in_project = find_place(None, {}, deep)
    assert in_project.database_path == project / ".openboa" / "state" / "runtime.db"
    assert (in_project.root, in_project.agent_root) == (project / ".openboa", project)
    assert find_place(str(project), {}, root) == in_project
    assert find_place("../..", {}, deep) == in_project

    by_name = find_place(str(root), {}, deep)
    assert by_name.database_path == root / "state" / "runtime.db"
    assert (by_name.root, by_name.agent_root, by_name.state) == (root, root, root / "state")
    assert find_place(None, {"HB_SANDBOX_ROOT": str(root)}, deep) == by_name
    assert find_place(str(project), {"HB_SANDBOX_ROOT": str(root)}, deep) == in_project
    by_name.database_path.touch()
    (root / ".openboa").mkdir()
    assert find_place(None, {}, root / "workspace") == by_name

    elsewhere = {"HB_SANDBOX_ROOT": str(root), "HOLABOSS_RUNTIME_DB_PATH": str(tmp_path / "x.db")}
    assert find_place(None, elsewhere, deep).database_path == tmp_path / "x.db"
    assert find_place(None, {}, tmp_path).database_path == tmp_path / ".openboa" / "state" / "runtime.db"


def test_a_file_in_the_way_is_named(shell: Shell) -> None:
    (shell.folder / ".openboa").write_text("not a folder")
    (blocked,) = shell.many(["agent", "session", "create", "alpha"])
    assert blocked.code == 1
    assert ".openboa" in blocked.err
    assert "--root" in blocked.err

    foreign = shell.folder / "other" / ".openboa" / "state"
    foreign.mkdir(parents=True)
    (foreign / "runtime.db").write_text("somebody else's file, not a database at all")
    (damaged,) = shell.many(["agent", "list", "--root", "other", "--json"])
    assert (damaged.code, damaged.data["status"]) == (1, 503)
    assert (foreign / "runtime.db").read_text().startswith("somebody else's")


@pytest.mark.parametrize(
    ("event_type", "payload", "line"),
    [
        ("user.define_outcome", {"title": "Ship it"}, 'title="Ship it" processed=pending'),
        ("user.interrupt", {"note": "stop\nnow"}, 'note="stop\\nnow" processed=pending'),
        ("user.interrupt", {"note": None}, "processed=pending"),
        (
            "user.tool_confirmation",
            {"tool_name": "bash", "request_id": "r1", "allowed": False},
            "bash request=r1 allowed=false processed=pending",
        ),
        (
            "user.custom_tool_result",
            {"tool_name": "lookup", "request_id": "r1", "output": "4 2"},
            'lookup request=r1 output="4 2" processed=pending',
        ),
        (
            "session.child_created",
            {"child_session_id": "c1", "outcome_title": None},
            "child=c1 processed=pending",
        ),
        (
            "session.child_idle",
            {"child_session_id": "c1", "child_stop_reason": "idle", "summary": "Done.", "executed_cycles": 2},
            'child=c1 stopReason=idle cycles=2 summary="Done."',
        ),
        (
            "agent.tool_use",
            {
                "tool_name": "bash",
                "ownership": "managed",
                "permission_policy": "always_ask",
                "request_id": "r1",
            },
            "bash request=r1 ownership=managed permission=always_ask",
        ),
        (
            "agent.custom_tool_use",
            {"tool_name": "lookup", "request_id": "r1", "input": {"a": [1, "ä"]}},
            'lookup request=r1 input={"a":[1,"ä"]}',
        ),
        (
            "session.status_idle",
            {"reason": "requires_action", "summary": "Asks.", "blocking_event_ids": ["e1", "e2"]},
            'reason=requires_action summary="Asks." blocking=e1,e2',
        ),
        (
            "span.completed",
            {"span_kind": "tool", "name": "bash", "span_id": "s2", "parent_span_id": "s1", "result": "error"},
            "tool/bash span=s2 parent=s1 result=error",
        ),
    ],
)
def test_one_line_for_each_event(event_type: str, payload: dict[str, object], line: str) -> None:
    event = SessionEvent(
        seq=1,
        event_id=new_id(),
        session_id=NOBODY,
        type=event_type,
        created_at="2026-01-02T03:04:05.006Z",
        processed_at=None,
        wake_id=None,
        payload=payload,
    )
    assert event_line(event) == f"2026-01-02T03:04:05.006Z {event_type} {line}"
