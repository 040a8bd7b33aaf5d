"""What a run may do: which profile counts, what a workspace file adds to it, and what a person keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AppendEvent, CreateAgentSession
from holaboss_client.permissions import KeepRule, RuleText, SetPermissions
from holaboss_client.sessions import CreateSession
from holaboss_runtime.errors import DomainError
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts, PermissionPolicy
from holaboss_runtime.permissions.profiles import policy_of
from holaboss_runtime.workspace.plan import load_plan
from holaboss_runtime.workspace.plan_permissions import read_rules
from tests.runtime.sessions.core import WORKSPACE, Core, running_core

pytestmark = pytest.mark.anyio

PLAN = "agents:\n  id: workspace.general\n"


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with running_core(tmp_path) as core:
        yield core


def make(core: Core, kind: str, session: str, parent: str | None = None) -> None:
    body = CreateSession(workspace_id=WORKSPACE, session_id=session, kind=kind, parent_session_id=parent)
    core.sessions.directory.create(body)


async def policy(core: Core, session: str = "s1") -> PermissionPolicy:
    """That of the next run."""
    await core.ask("hello", session)
    return core.harness.packages[-1].permissions


def verdict(found: PermissionPolicy, **facts: Any) -> str:
    return decide(found, CallFacts(**({"tool": "bash"} | facts))).effect


async def test_a_conversation_asks_first(core: Core) -> None:
    found = await policy(core)
    assert found == policy_of("ask")
    assert (verdict(found, command="make"), verdict(found, command="ls")) == ("always_ask", "always_allow")


@pytest.mark.parametrize(
    ("kind", "profile"),
    [
        ("workspace_session", "ask"),
        ("onboarding", "ask"),
        ("subagent", "ask"),
        ("cronjob", "unattended"),
        ("task_proposal", "unattended"),
    ],
)
async def test_the_kind_of_a_session_decides_the_profile(core: Core, kind: str, profile: str) -> None:
    make(core, kind, "s1")
    assert (await policy(core)).profile == profile


@pytest.mark.parametrize(("kind", "profile"), [("workspace_session", "trusted"), ("cronjob", "read-only")])
async def test_a_subagent_may_do_what_its_parent_may(core: Core, kind: str, profile: str) -> None:
    core.sessions.permissions.set(
        WORKSPACE, SetPermissions(profile="trusted", unattended_profile="read-only")
    )
    make(core, kind, "parent")
    make(core, "subagent", "child", "parent")
    make(core, "subagent", "grandchild", "child")
    for session in ("parent", "child", "grandchild"):
        assert (await policy(core, session)).profile == profile


async def test_subagents_that_are_each_others_parents_end_somewhere(core: Core) -> None:
    make(core, "subagent", "a")
    core.database.execute("UPDATE agent_sessions SET parent_session_id = 'a' WHERE session_id = 'a'")
    assert (await policy(core, "a")).profile == "ask"


async def test_the_file_of_the_workspace_narrows(core: Core) -> None:
    core.sessions.permissions.set(WORKSPACE, SetPermissions(profile="trusted"))
    rules = "permissions:\n  deny:\n    - {tool: bash, command: git push}\n  ask:\n    - path: docs/**\n    - bash\n"
    (core.folder / "workspace.yaml").write_text(PLAN + rules)
    found = await policy(core)
    assert [(rule.effect, rule.source) for rule in found.rules[-3:]] == [
        ("deny", "workspace"),
        ("always_ask", "workspace"),
        ("always_ask", "workspace"),
    ]
    assert verdict(found, command="git push") == "deny"
    assert verdict(found, command="make") == "always_ask"
    assert verdict(found, tool="write", writes=("docs/a.md",)) == "always_ask"
    assert verdict(found, tool="write", writes=("a.md",)) == "always_allow"


async def test_what_a_person_keeps_widens_but_never_over_a_deny(core: Core) -> None:
    (core.folder / "workspace.yaml").write_text(
        PLAN + "permissions: {deny: [{tool: bash, command: git push}]}\n"
    )
    for command in ("make", "git"):
        core.sessions.permissions.keep(
            WORKSPACE, KeepRule(effect="always_allow", tool="bash", command=command)
        )
    found = await policy(core)
    assert verdict(found, command="make all") == "always_allow"
    assert verdict(found, command="git commit") == "always_allow"
    assert verdict(found, command="git push") == "deny"


async def test_an_agent_has_its_own_rules_and_those_a_person_keeps(core: Core) -> None:
    made = core.sessions.agent_directory.create(CreateAgentSession(agent_id="scout"))
    session = core.records.sessions.get(made.session_id)
    assert session is not None
    core.records.permissions.keep(session.workspace_id, RuleText(tool="bash", command="make"))
    core.sessions.control.append(made.session_id, AppendEvent(type="user.message", payload={"text": "hi"}))
    await core.until(lambda: len(core.records.turns.newest(made.session_id, limit=1)) == 1)
    found = core.harness.packages[-1].permissions
    assert (found.profile, {rule.source for rule in found.rules}) == ("agent", {"agent", "person"})
    assert (verdict(found, command="rm x"), verdict(found, command="make")) == ("always_ask", "always_allow")


async def test_the_snapshot_says_under_which_permissions_a_run_was(core: Core) -> None:
    def said() -> dict[str, Any]:
        (snapshot,) = core.sessions.inspection.request_snapshots("s1", before=None, limit=1).items
        return snapshot.payload["runtime_config"]["permissions"]

    await policy(core)
    first = said()
    assert (first["profile"], first["may_ask"], first["containment"]["network"]) == ("ask", True, "on")
    core.sessions.permissions.keep(WORKSPACE, KeepRule(effect="always_allow", tool="bash", command="make"))
    await policy(core)
    second = said()
    assert second["rule_count"] == first["rule_count"] + 1
    assert second["rules_fingerprint"] != first["rules_fingerprint"]
    assert "make" not in str(second)


@pytest.mark.parametrize(
    ("section", "code", "path"),
    [
        ({"allow": ["bash"]}, "workspace_permissions_cannot_allow", "permissions.allow"),
        ({"deny": [{"effect": "always_allow"}]}, "workspace_permissions_invalid", "permissions.deny[0]"),
        (
            {"deny": [{"source": "person", "tool": "x"}]},
            "workspace_permissions_invalid",
            "permissions.deny[0]",
        ),
        ({"ask": ["bash", {}]}, "workspace_permissions_invalid", "permissions.ask[1]"),
        ({"ask": [{"tool": 1}]}, "workspace_permissions_invalid", "permissions.ask[0]"),
        ({"ask": [{"tool": "x" * 501}]}, "workspace_permissions_invalid", "permissions.ask[0]"),
        ({"ask": "bash"}, "workspace_permissions_invalid", "permissions.ask"),
        ({"ask": ["bash"] * 201}, "workspace_permissions_invalid", "permissions"),
        ({"denied": ["bash"]}, "workspace_permissions_invalid", "permissions"),
        (["bash"], "workspace_permissions_invalid", "permissions"),
        ("deny", "workspace_permissions_invalid", "permissions"),
    ],
)
def test_a_section_that_is_wrong_is_refused_by_name(section: object, code: str, path: str) -> None:
    with pytest.raises(DomainError) as refused:
        read_rules(section)
    assert (refused.value.code, refused.value.context["path"]) == (code, path)


def test_an_absent_section_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "workspace.yaml").write_text(PLAN)
    assert load_plan(tmp_path).permissions == ()
    assert read_rules({"deny": None}) == ()


async def test_a_file_that_would_allow_fails_the_run_visibly(core: Core) -> None:
    (core.folder / "workspace.yaml").write_text(PLAN + "permissions: {allow: [bash]}\n")
    terminal = await core.ask("hello")
    assert (terminal.event_type, terminal.payload["type"]) == (
        "run_failed",
        "workspace_permissions_cannot_allow",
    )
    assert core.harness.packages == []
