"""The two ways back: the files anew from the database, a database anew from the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections.importer import Importer, ImportReport
from holaboss_runtime.sessions.projections.rebuilding import Rebuilder, rebuild_database
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.pending_actions import NewAction
from tests.support.agent_files import AGENT, AgentFiles, AgentRows
from tests.support.older_tree import write_older_tree

SAME = {
    "agent_sessions": "session_id, workspace_id, kind, title, parent_session_id, created_by, status, stop_reason, hold,"
    " last_error, coalesce, turns, created_at, updated_at, archived_at, agent_id, environment_id, resources, metadata,"
    " follow_ups",
    "session_events": "seq, event_id, session_id, type, payload, wake_id, created_at, processed_at",
    "agent_session_inputs": "input_id, session_id, workspace_id, event_type, payload, status",
    "session_wakes": "id, session_id, due_at, reason, note, dedupe_key, priority, created_at, completed_at, outcome",
    "pending_actions": "id, session_id, wake_id, kind, call_id, tool_name, input, input_hash, status, event_id,"
    " requested_at, decided_at, decision_event_id, note, output",
    "session_checkpoints": "session_id, wake_id, document, notes",
    "learnings": "id, agent_id, session_id, wake_id, kind, title, detail, promote, dedupe_key, source_reason,"
    " created_at",
    "activations": "kind, claim_id, agent_id, session_id, payload, created_at",
    "session_messages": "id, workspace_id, session_id, input_id, role, text",
    "agents": "agent_id, workspace_id, provider, model, runner, config, config_fingerprint, source",
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[AgentFiles]:
    with AgentFiles(tmp_path) as place:
        _live(place)
        place.projector.flush_now()
        yield place


def families(database: Database) -> dict[str, list[dict[str, Any]]]:
    found = {name: database.rows(f"SELECT {columns} FROM {name}") for name, columns in SAME.items()}
    return {name: sorted(rows, key=str) for name, rows in found.items()}


def rebuild(place: AgentFiles, name: str = "again.db") -> tuple[Path, ImportReport]:
    path = place.root / "state" / name

    def agents(database: Database) -> Agents:
        return Agents(database, place.tree, AgentRows(database))

    return path, rebuild_database(path, agents)


def test_a_database_from_the_files_says_the_same(place: AgentFiles) -> None:
    path, report = rebuild(place)

    assert report.problems == []
    with AgentFiles(place.root, path.name) as again:
        before, after = families(place.database), families(again.database)
        for name in SAME:
            assert after[name] == before[name], name
        assert all(rows for rows in after.values())
        # The files need not change for it.
        stamps = _files(place.root)
        assert again.projector.flush_now().problems == ()
        assert {name: text for name, text in _files(place.root).items() if "session.json" not in name} == {
            name: text for name, text in stamps.items() if "session.json" not in name
        }
        for session_id in [row["session_id"] for row in after["agent_sessions"]]:
            assert again.projector.verify(session_id) == []


def test_twice_there_and_back_changes_nothing(place: AgentFiles) -> None:
    first, _ = rebuild(place)
    with AgentFiles(place.root, first.name) as again:
        Rebuilder(again.records, again.projector, again.root).rebuild_projections_now()
    second, report = rebuild(place, "third.db")

    assert report.problems == []
    with AgentFiles(place.root, second.name) as third:
        assert families(third.database) == families(place.database)


def test_the_files_anew_say_the_same_and_the_old_ones_stay(place: AgentFiles) -> None:
    sessions = place.database.rows("SELECT session_id FROM agent_sessions WHERE agent_id IS NOT NULL")
    first = place.tree.session_events(AGENT, sessions[0]["session_id"])
    old = first.read_bytes()

    report = Rebuilder(place.records, place.projector, place.root).rebuild_projections_now()

    assert report.problems == ()
    for row in sessions:
        assert place.projector.verify(row["session_id"]) == []
    assert place.projector.verify_agent(AGENT) == []
    (kept,) = first.parent.glob("events.jsonl.replaced-*")
    assert kept.read_bytes() == old
    assert place.records.outbox.agents() == []


@pytest.mark.anyio
async def test_files_that_are_gone_come_back(place: AgentFiles) -> None:
    before = _files(place.root)
    for name in before:
        (place.root / name).unlink()

    await Rebuilder(place.records, place.projector, place.root).rebuild_projections(AGENT)

    after = _files(place.root)
    assert set(after) == set(before)
    for name in ("session.json", "checkpoint.json", ".md"):
        assert {key: text for key, text in after.items() if key.endswith(name)} == {
            key: text for key, text in before.items() if key.endswith(name)
        }


def test_a_rebuild_that_died_is_finished_by_the_next_flush(
    place: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(place.projector, "flush_now", die)
        with pytest.raises(Died):
            Rebuilder(place.records, place.projector, place.root).rebuild_projections_now()
    with AgentFiles(place.root) as restarted:
        assert restarted.projector.flush_now().problems == ()
        for session_id in restarted.database.rows(
            "SELECT session_id FROM agent_sessions WHERE agent_id IS NOT NULL"
        ):
            assert restarted.projector.verify(session_id["session_id"]) == []


def test_an_older_tree_makes_a_database_too(tmp_path: Path) -> None:
    write_older_tree(tmp_path)
    with AgentFiles(tmp_path, "unused.db") as place:
        path, report = rebuild(place)

    assert len(report.sessions) == 3
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_database_that_is_there_is_left_alone(place: AgentFiles) -> None:
    path = place.root / "state" / "runtime.db"
    before = path.read_bytes()

    with pytest.raises(DomainError) as refused:
        rebuild(place, "runtime.db")

    assert refused.value.code == "database_exists"
    assert path.read_bytes() == before


def test_a_rebuild_that_fails_leaves_nothing_behind(place: AgentFiles) -> None:
    path = place.root / "state" / "again.db"

    def fail(_: Database) -> Agents:
        raise DomainError("conflict", "not_now", "Not now.")

    with pytest.raises(DomainError):
        rebuild_database(path, fail)

    assert list(path.parent.glob("again.db*")) == []


def test_numbers_that_are_taken_are_not_given_twice(place: AgentFiles, tmp_path: Path) -> None:
    """A tree that comes from another database, whose events have the same numbers."""
    other_root = tmp_path / "other"
    other_root.mkdir()
    with AgentFiles(other_root) as other:
        session = other.session("beta")
        event = other.say(session, "from elsewhere")
        other.projector.flush_now()
    (place.tree.agents / "beta").parent.mkdir(exist_ok=True)
    (other_root / ".openboa" / "agents" / "beta").rename(place.tree.agents / "beta")
    last = place.database.scalar("SELECT max(seq) FROM session_events")

    report = Importer(place.records, place.agents).import_new_now()

    assert report.sessions == [session]
    (taken,) = place.records.events.select(session)
    assert taken.event_id == event.event_id
    assert taken.seq > last
    assert place.projector.flush_now().problems == ()
    place.say(session, "next")
    place.projector.flush_now()
    assert place.projector.verify(session) == []


def _live(place: AgentFiles) -> None:
    """A life with one of everything."""
    first, second = place.session(), place.session()
    for number in range(3):
        for session in (first, second):
            place.answer(session, place.say(session, f"question {number}"), f"answer {number}")
    waiting = place.say(second, "not yet")
    wake_id = place.answer(first, place.say(first, "the last"), "the last answer")
    records = place.records
    with place.database.transaction():
        asked = records.events.append(
            second,
            "agent.tool_use",
            {
                "request_id": "r1",
                "tool_name": "bash",
                "input": {"some_key": {"other_key": 1}},
                "output": None,
            },
            wake_id=wake_id,
        )
        for action, kind in (("r1", "tool_confirmation"), ("r2", "question")):
            new = NewAction(action, kind, "call", "bash", {"some_key": 1}, asked.event_id)
            records.actions.insert(second, wake_id, new)
        records.actions.decide("r2", "answered", event_id=waiting.event_id, note="n", output={"text": "yes"})
        outcome = {"title": "Ship it", "detail": None, "success_criteria": ["it runs"]}
        records.events.append_pending("outcome-1", first, "user.define_outcome", outcome)
        records.inputs.insert("outcome-1", first, AGENT, outcome, event_type="user.define_outcome")
        records.events.append(second, "user.message_edited", {"input_id": waiting.event_id, "text": "edited"})
        records.inputs.rewrite(waiting.event_id, {"text": "edited"})
        done = records.scheduled.schedule(first, due_at=utc_now(), reason="one", note="n")
        records.scheduled.complete(done, "consumed")
        records.scheduled.schedule(first, due_at="2099-01-01T00:00:00.000Z", reason="two", dedupe_key="k")
        for kind in ("lesson", "error"):
            records.learnings.capture(
                AGENT,
                first,
                wake_id=wake_id,
                kind=kind,
                title=kind,
                detail="d",
                promote=True,
                source_reason="s",
            )
        records.activations.append(
            "acked",
            claim_id=wake_id,
            agent_id=AGENT,
            session_id=first,
            payload={"stopReason": "idle", "n": None},
        )
        rendered = {"session_state": "# State\n", "working_buffer": "# Buffer\n"}
        records.checkpoints.save(first, wake_id, {"version": 6, "lastWakeId": wake_id, "_files": rendered})
        place.database.execute(
            "UPDATE session_checkpoints SET notes = ? WHERE session_id = ?",
            ('{"session_state":"mine"}', first),
        )
        place.database.execute(
            "UPDATE agent_sessions SET status = 'requires_action', turns = 7, follow_ups = 2, title = 'A title',"
            " stop_reason = 'requires_action', parent_session_id = ?, last_error = ?, metadata = ?"
            " WHERE session_id = ?",
            (first, '{"code":"c","message":"m"}', '{"lastModel":"m","_file":{"unknownKey":[1]}}', second),
        )
        place.database.execute(
            "UPDATE agent_sessions SET hold = 'user_pause', stop_reason = 'idle', status = 'idle' WHERE session_id = ?",
            (first,),
        )
        for session in (first, second):
            records.outbox.mark(session, "session")


def _files(root: Path) -> dict[str, bytes]:
    folder = root / ".openboa" / "agents"
    names = ("*.jsonl", "session.json", "checkpoint.json", "session-state.md", "working-buffer.md")
    found = [path for name in names for path in folder.rglob(name) if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in found}
