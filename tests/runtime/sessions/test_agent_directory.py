"""Sessions of agents: made once, with their folders, bound to one agent and one environment for good."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holaboss_client.agents import AttachResource, CreateAgentSession, CreateEnvironment
from holaboss_client.base import new_id
from holaboss_client.events import Change
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.agent_directory import AgentDirectory
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.records import Records
from tests.runtime.agents.place import Place, agent_place


@dataclass
class Desk:
    place: Place
    records: Records
    changes: ChangeLog
    directory: AgentDirectory

    def create(self, agent_id: str = "alpha", **fields: str) -> str:
        return self.directory.create(CreateAgentSession(agent_id=agent_id, **fields)).session_id

    def marks(self) -> int:
        return int(self.place.database.scalar("SELECT count(*) FROM projection_outbox"))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with agent_place(tmp_path) as place:
        records, changes = Records(place.database), ChangeLog(place.database)
        publisher = Publisher(records, changes)
        private = [tmp_path / "runtime.db"]
        directory = AgentDirectory(records, publisher, place.agents, private=private)
        yield Desk(place, records, changes, directory)


def code_of(attempt: Callable[[], object]) -> str:
    with pytest.raises(DomainError) as raised:
        attempt()
    return raised.value.code


def test_a_session_has_an_agent_an_environment_and_folders(desk: Desk) -> None:
    made = desk.directory.create(CreateAgentSession(agent_id="alpha", title="  Look around "))
    record = desk.directory.require(made.session_id)
    assert (record.kind, record.coalesce, record.status) == ("agent_session", "all", "idle")
    assert (record.agent_id, record.environment_id, record.title) == ("alpha", "local-default", "Look around")
    assert record.workspace_id == desk.place.agents.get("alpha").workspace_id
    assert desk.place.agents.get("alpha").session_count == 1
    tree = desk.place.tree
    for folder in (
        tree.session_workspace("alpha", made.session_id),
        tree.session_runtime("alpha", made.session_id),
    ):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    found = desk.directory.resources(made.session_id)
    assert [one.mount_path for one in found] == [
        "/workspace",
        "/workspace/agent",
        "/memory/learnings",
        "/runtime",
    ]
    assert all(Path(one.source_ref).is_dir() for one in found)
    kinds = [event.kind for event in desk.changes.after(0) or []]
    assert kinds == [Change.AGENT, Change.AGENT, Change.SESSION]  # its environment, its agent, and itself
    assert desk.marks() == 1


def test_a_chosen_id_makes_the_session_once(desk: Desk) -> None:
    chosen = new_id()
    assert desk.create(session_id=chosen) == chosen
    first = desk.directory.require(chosen)
    assert desk.create(session_id=chosen, title="other", environment_id="nowhere") == chosen
    assert desk.directory.require(chosen) == first
    assert desk.marks() == 1
    assert code_of(lambda: desk.create("beta", session_id=chosen)) == "session_id_in_use"
    assert desk.place.tree.agent_ids() == ["alpha"]


def test_what_is_refused_leaves_nothing(desk: Desk) -> None:
    desk.place.agents.ensure("beta")
    theirs = desk.create("beta")
    for fields, code in (
        ({"agent_id": "../up"}, "agent_id_invalid"),
        ({"session_id": "one"}, "session_id_invalid"),
        ({"session_id": "0b0e8c2e-1111-4111-8111-111111111111"}, "session_id_invalid"),
        ({"environment_id": "nowhere"}, "environment_not_found"),
        ({"environment_id": "../agents"}, "environment_id_invalid"),
        ({"parent_session_id": new_id()}, "session_not_found"),
        ({"parent_session_id": theirs}, "session_agent_mismatch"),
    ):
        assert code_of(lambda fields=fields: desk.create(**fields)) == code
    assert desk.place.tree.agent_ids() == ["beta"]
    assert desk.place.database.scalar("SELECT count(*) FROM agent_sessions") == 1


def test_a_child_session(desk: Desk) -> None:
    parent = desk.create()
    child = desk.directory.require(desk.create(parent_session_id=parent))
    assert (child.parent_session_id, child.agent_id) == (parent, "alpha")
    mine, theirs = desk.directory.resources(parent), desk.directory.resources(child.session_id)
    assert mine[0].source_ref != theirs[0].source_ref
    assert mine[1].source_ref == theirs[1].source_ref
    assert not {one.id for one in mine} & {one.id for one in theirs}


def test_the_environment_says_where_things_are(desk: Desk) -> None:
    environments = desk.place.agents.environments
    environments.create(CreateEnvironment(environment_id="odd"))
    path = desk.place.tree.environment("odd")
    path.write_text('{"workspaceMountDefaults": {"workspacePath": "/w", "runtimePath": "/r"}}')
    session = desk.create(environment_id="odd")
    found = desk.directory.resources(session)
    assert [one.mount_path for one in found] == ["/w", "/w/agent", "/memory/learnings", "/r"]
    path.write_text("{}")
    assert desk.directory.resources(session) == found


def test_a_session_of_a_workspace_of_the_desktop(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "space"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("policy")
    desk.place.registry.add("w1", folder)
    session = desk.directory.require(desk.create("w1"))
    assert (session.workspace_id, session.agent_id) == ("w1", "w1")
    _, substrate, *_ = desk.directory.resources(session.session_id)
    assert (substrate.source_ref, substrate.access) == (str(folder), "read_only")
    assert [path.name for path in folder.iterdir()] == ["AGENTS.md"]


def test_a_file_is_attached_once_and_stays(desk: Desk, tmp_path: Path) -> None:
    session = desk.create()
    (tmp_path / "report.pdf").write_text("x")
    body = AttachResource(source_ref="report.pdf", prompt="read me")
    made = desk.directory.attach(session, body, base=tmp_path)
    assert made.mount_path == "/files/report.pdf"
    assert desk.directory.attach(session, body, base=tmp_path) == made
    assert desk.directory.resources(session)[4:] == [made]
    assert desk.marks() == 2
    assert code_of(lambda: desk.directory.attach(session, body)) == "resource_source_invalid"
    other = AttachResource(source_ref=str(tmp_path / "report.pdf"), mount_path="/workspace")
    assert code_of(lambda: desk.directory.attach(session, other)) == "mount_path_taken"
    database = AttachResource(source_ref=str(tmp_path / "runtime.db"))
    assert code_of(lambda: desk.directory.attach(session, database)) == "resource_source_forbidden"
    assert len(desk.directory.resources(session)) == 5


def test_two_processes_attach_to_one_session(desk: Desk, tmp_path: Path) -> None:
    session = desk.create()
    other_database = Database.open(tmp_path / "runtime.db")
    records = Records(other_database)
    other = AgentDirectory(records, Publisher(records, ChangeLog(other_database)), desk.place.agents)
    for number, directory in enumerate([desk.directory, other, desk.directory]):
        source = tmp_path / f"{number}.txt"
        source.write_text("x")
        directory.attach(session, AttachResource(source_ref=str(source)))
    names = [one.mount_path for one in desk.directory.resources(session)[4:]]
    assert names == ["/files/0.txt", "/files/1.txt", "/files/2.txt"]
    other_database.close()


def test_sessions_that_take_nothing(desk: Desk, tmp_path: Path) -> None:
    body = AttachResource(source_ref=str(tmp_path))
    assert code_of(lambda: desk.directory.attach("nobody", body)) == "session_not_found"
    workspace_id = desk.place.agents.ensure("alpha").workspace_id
    desk.records.sessions.create("talk", workspace_id, kind="workspace_session", created_by="test")
    assert code_of(lambda: desk.directory.attach("talk", body)) == "session_kind_mismatch"
    assert code_of(lambda: desk.create(parent_session_id="talk")) == "session_kind_mismatch"
    session = desk.create()
    desk.records.sessions.terminate(session)
    assert code_of(lambda: desk.directory.attach(session, body)) == "session_terminated"


def test_a_session_may_be_made_while_the_file_of_its_agent_is_broken(desk: Desk) -> None:
    desk.create()
    desk.place.tree.agent_config("alpha").write_text("{")
    assert desk.directory.require(desk.create()).agent_id == "alpha"
    assert code_of(lambda: desk.place.agents.config("alpha")) == "agent_config_invalid"


def test_sessions_of_an_agent_are_counted_without_reading_them(desk: Desk) -> None:
    desk.create()
    plan = "EXPLAIN QUERY PLAN SELECT count(*) FROM agent_sessions WHERE agent_id = 'alpha'"
    details = [str(row["detail"]) for row in desk.place.database.rows(plan)]
    assert details
    assert all("COVERING INDEX agent_sessions_by_agent" in detail for detail in details)
