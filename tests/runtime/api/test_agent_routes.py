"""Agents, environments and sessions of agents over a real socket, through the typed client."""

# ruff: noqa: ASYNC240 — a test may block its own loop

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import CreateAgent, CreateEnvironment, SandboxPosture
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession, PatchSession
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import new_agent_session, problem_of, refused, say, served

pytestmark = pytest.mark.anyio


def kinds_after(core: Core, position: int) -> list[str]:
    return [change.kind for change in core.changes.after(position) or []]


async def test_an_agent_is_made_once_and_found_again(client: RuntimeClient, core: Core) -> None:
    position = core.changes.last_seq()
    made = await client.create_agent(CreateAgent(agent_id="scout"))
    assert (made.agent_id, made.source, made.session_count) == ("scout", "file", 0)
    assert Change.AGENT in kinds_after(core, position)
    position = core.changes.last_seq()
    assert await client.create_agent(CreateAgent(agent_id="scout")) == made
    assert kinds_after(core, position) == []
    with pytest.raises(ProblemError) as other:
        await client.create_agent(CreateAgent(agent_id="scout", model="another-model"))
    assert problem_of(other.value) == (409, "agent_exists")
    assert [agent.agent_id for agent in (await client.agents()).items] == ["scout"]
    assert (await client.agent("scout")).model == made.model


async def test_sessions_of_an_agent(client: RuntimeClient, core: Core) -> None:
    position = core.changes.last_seq()
    first = await client.create_session(CreateSession(agent_id="scout", title="first"))
    assert (first.kind, first.agent_id, first.environment_id) == ("agent_session", "scout", "local-default")
    assert Change.SESSION in kinds_after(core, position)
    again = await client.create_session(CreateSession(agent_id="scout", session_id=first.session_id))
    assert again.session_id == first.session_id
    child = await client.create_session(CreateSession(agent_id="scout", parent_session_id=first.session_id))
    other = await new_agent_session(client, "another")
    of_workspace = await client.create_session(CreateSession(workspace_id=WORKSPACE, agent_id=WORKSPACE))
    assert of_workspace.workspace_id == WORKSPACE
    listed = (await client.agent_sessions("scout")).items
    assert {session.session_id for session in listed} == {first.session_id, child.session_id}
    assert [session.session_id for session in (await client.agent_sessions("another")).items] == [other]
    await client.patch_session(child.session_id, PatchSession(workspace_id=child.workspace_id, archived=True))
    assert (await client.agent_sessions("scout")).count == 1
    assert (await client.agent_sessions("scout", include_archived=True)).count == 2
    assert (await client.agent_sessions("scout", include_archived=True, limit=1)).count == 1
    assert (await client.agent("scout")).session_count == 2


async def test_environments(client: RuntimeClient, core: Core) -> None:
    position = core.changes.last_seq()
    posture = SandboxPosture(workspace_access="ro", network_access="disabled")
    made = await client.create_environment(CreateEnvironment(environment_id="careful", sandbox=posture))
    assert made.sandbox == posture
    assert kinds_after(core, position) == [Change.AGENT]
    assert await client.environment("careful") == made
    names = [environment.environment_id for environment in (await client.environments()).items]
    assert names == ["local-default", "careful"]
    with pytest.raises(ProblemError) as twice:
        await client.create_environment(CreateEnvironment(environment_id="careful"))
    assert problem_of(twice.value) == (409, "environment_exists")
    session = await client.create_session(CreateSession(agent_id="scout", environment_id="careful"))
    assert (await client.session_status(session.session_id)).environment_id == "careful"


async def test_the_journal_of_an_agent_says_what_each_wake_came_to(client: RuntimeClient) -> None:
    session = await new_agent_session(client)
    await say(client, session, "hello")
    report = await client.wake(session, wait=True)
    journal = (await client.activations("scout")).items
    assert [(entry.kind, entry.claim_id) for entry in journal] == [
        ("leased", report.wake_id),
        ("acked", report.wake_id),
    ]
    assert (await client.activations("scout", kind="acked", session_id=session)).count == 1
    assert (await client.activations("scout", claim_id="other")).count == 0
    assert [entry.kind for entry in (await client.activations("scout", limit=1)).items] == ["acked"]


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/agents/nope", None, 404, "agent_not_found"),
    ("GET", "/agents/nope/activations", None, 404, "agent_not_found"),
    ("GET", "/agents/a%2Fb", None, 404, "route_not_found"),
    ("GET", "/agents/..", None, 404, "route_not_found"),
    ("GET", "/agents/.hidden", None, 422, "agent_id_invalid"),
    ("POST", "/agents", {"agent_id": "../up"}, 422, "agent_id_invalid"),
    ("POST", "/agents", {"agent_id": "a", "colour": "red"}, 422, "invalid_request"),
    ("GET", "/environments/nope", None, 404, "environment_not_found"),
    ("POST", "/environments", {"environment_id": "a/b"}, 422, "environment_id_invalid"),
    ("POST", "/agent-sessions", {}, 422, "workspace_or_agent_required"),
    ("POST", "/agent-sessions", {"agent_id": "../up"}, 422, "agent_id_invalid"),
    ("POST", "/agent-sessions", {"agent_id": "a", "session_id": "../x"}, 422, "session_id_invalid"),
    ("POST", "/agent-sessions", {"agent_id": "a", "kind": "cronjob"}, 422, "session_kind_invalid"),
    ("POST", "/agent-sessions", {"agent_id": "a", "environment_id": "x"}, 404, "environment_not_found"),
    (
        "POST",
        "/agent-sessions",
        {"workspace_id": WORKSPACE, "environment_id": "x"},
        422,
        "environment_needs_agent",
    ),
    ("POST", "/agent-sessions", {"agent_id": "a", "workspace_id": WORKSPACE}, 404, "agent_not_found"),
    ("GET", "/agent-sessions", None, 422, "workspace_or_agent_required"),
    ("GET", "/agent-sessions?agent_id=nope", None, 404, "agent_not_found"),
    ("GET", "/agent-sessions?agent_id=nope&limit=0", None, 422, "invalid_request"),
]


async def test_what_is_refused_is_a_problem(url: str) -> None:
    for method, path, body, status, code in REFUSED:
        problem = await refused(url, method, path, body)
        assert (problem.status, problem.code) == (status, code), f"{method} {path}"


async def test_an_agent_of_another_workspace_is_refused(url: str, client: RuntimeClient) -> None:
    await client.create_agent(CreateAgent(agent_id="scout"))
    for problem in (
        await refused(url, "POST", "/agent-sessions", {"agent_id": "scout", "workspace_id": WORKSPACE}),
        await refused(url, "GET", f"/agent-sessions?agent_id=scout&workspace_id={WORKSPACE}"),
    ):
        assert (problem.status, problem.code) == (422, "session_workspace_mismatch")


async def test_the_files_of_an_agent_are_written_anew(client: RuntimeClient, tmp_path: Path) -> None:
    session = await new_agent_session(client)
    await say(client, session, "hello")
    first = await client.rebuild_projections("scout")
    assert (first.complete, first.problems) == (True, [])
    (log,) = tmp_path.rglob("events.jsonl")
    written = log.read_bytes()
    log.write_text("scribbled over")
    again = await client.rebuild_projections()
    assert again.complete
    assert log.read_bytes() == written
    with pytest.raises(ProblemError) as unknown:
        await client.rebuild_projections("nobody")
    assert problem_of(unknown.value) == (404, "agent_not_found")


async def test_a_tree_that_was_put_there_is_taken_in(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    core = Core(one)
    async with served(core) as url, RuntimeClient(url, "unused") as client:
        session = await new_agent_session(client)
        await say(client, session, "hello from afar")
        await client.rebuild_projections()
    await core.close()
    shutil.copytree(one / ".openboa", two / ".openboa", ignore=shutil.ignore_patterns("projection*"))
    core = Core(two)
    async with served(core) as url, RuntimeClient(url, "unused") as client:
        position = core.changes.last_seq()
        taken = await client.import_tree()
        assert (taken.agents, taken.sessions, taken.events) == (["scout"], [session], 1)
        kinds = kinds_after(core, position)
        assert {Change.AGENT, Change.SESSION, Change.SESSION_STATE} <= set(kinds)
        assert (await client.session_status(session)).pending_events == 1
        assert (await client.wake(session, wait=True)).executed
        assert (await client.import_tree()).sessions == []
    await core.close()
