"""Environments: the file decides, the table follows, and the smaller permission wins."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import CreateEnvironment, Environment, ResourceAttachment, SandboxPosture
from holaboss_client.base import utc_now
from holaboss_runtime.agents.definition import AgentConfig, SandboxPolicy
from holaboss_runtime.agents.posture import effective_posture
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.environments import EnvironmentRecords
from tests.runtime.agents.place import Place

TOOLS = ("read", "write", "edit", "bash", "grep", "find", "ls", "something_new")


def save(place: Place, environment_id: str, document: Any) -> Path:
    path = place.tree.environment(environment_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def code_of(attempt: Callable[[], object]) -> str:
    with pytest.raises(DomainError) as raised:
        attempt()
    return raised.value.code


def test_the_default_one_is_there_when_it_is_asked_for(place: Place) -> None:
    environment = place.agents.environments.get()
    assert (environment.environment_id, environment.kind) == ("local-default", "local")
    assert environment.sandbox == SandboxPosture()
    document = json.loads(place.tree.environment("local-default").read_text())
    assert document["sandbox"] == {
        "mode": "workspace",
        "workspaceAccess": "rw",
        "networkAccess": "enabled",
        "packagePolicy": "workspace",
    }
    assert document["workspaceMountDefaults"] == {"workspacePath": "/workspace", "runtimePath": "/runtime"}
    assert place.again().environments.get() == environment


def test_an_edited_file_is_read_again_and_the_row_follows(place: Place) -> None:
    environments = place.agents.environments
    made = environments.create(CreateEnvironment(environment_id="quiet", name="Quiet"))
    document = json.loads(place.tree.environment("quiet").read_text())
    document["sandbox"]["networkAccess"] = "disabled"
    document["mine"] = 1
    save(place, "quiet", document)
    changed = environments.get("quiet")
    assert (made.sandbox.network_access, changed.sandbox.network_access) == ("enabled", "disabled")
    row = EnvironmentRecords(place.database).get("quiet")
    assert row is not None
    assert row.document == document
    assert row.created_at == made.created_at


def test_an_unchanged_file_writes_no_row(place: Place) -> None:
    place.agents.environments.get()
    before = place.database.scalar("SELECT total_changes()")
    place.agents.environments.get()
    place.again().environments.get()
    assert place.database.scalar("SELECT total_changes()") == before


def test_a_row_that_was_rolled_back_is_written_once_more(place: Place) -> None:
    def fail() -> None:
        with place.database.transaction():
            place.agents.environments.get()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert EnvironmentRecords(place.database).all() == []
    place.agents.environments.get()
    assert [row.environment_id for row in EnvironmentRecords(place.database).all()] == ["local-default"]


def test_a_file_that_says_little_gets_the_defaults(place: Place) -> None:
    save(place, "bare", {})
    bare = place.agents.environments.get("bare")
    assert (bare.name, bare.workspace_path, bare.runtime_path) == ("bare", "/workspace", "/runtime")
    assert place.again().environments.get("bare").created_at == bare.created_at


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        ("{", "environment_invalid", "line 1, column 2"),
        ({"id": "other"}, "environment_invalid", "id must be 'broken'"),
        ({"kind": "cloud"}, "environment_kind_unsupported", "kind 'cloud'"),
        (
            {"sandbox": {"networkAccess": "off"}},
            "environment_invalid",
            "sandbox.networkAccess must be one of",
        ),
        ({"sandbox": {"workspaceAccess": 1}}, "environment_invalid", "sandbox.workspaceAccess"),
        ({"sandbox": []}, "environment_invalid", "sandbox must be an object"),
        ({"workspaceMountDefaults": {"workspacePath": "work"}}, "environment_invalid", "absolute path"),
        ({"workspaceMountDefaults": {"runtimePath": "/a/../b"}}, "environment_invalid", "absolute path"),
        (
            {"workspaceMountDefaults": {"runtimePath": "/workspace"}},
            "environment_invalid",
            "beside each other",
        ),
        (
            {"workspaceMountDefaults": {"runtimePath": "/workspace/agent"}},
            "environment_invalid",
            "beside each",
        ),
        (
            {"workspaceMountDefaults": {"workspacePath": "/memory/learnings"}},
            "environment_invalid",
            "beside the",
        ),
    ],
)
def test_a_broken_one_is_refused_by_name_and_hides_no_other(
    place: Place, allow_log: Callable[..., None], document: Any, code: str, says: str
) -> None:
    save(place, "broken", document)
    with pytest.raises(DomainError) as raised:
        place.agents.environments.get("broken")
    assert raised.value.code == code
    assert says in raised.value.detail
    save(place, "fine", {})
    allow_log("holaboss_runtime.agents.environments", "An environment is left out")
    assert [one.environment_id for one in place.agents.environments.list().items] == ["local-default", "fine"]


def test_a_broken_one_is_complained_about_once(
    place: Place, caplog: pytest.LogCaptureFixture, allow_log: Any
) -> None:
    allow_log("holaboss_runtime.agents.environments")
    save(place, "broken", "{")
    place.agents.environments.list()
    place.agents.environments.list()
    assert len(caplog.records) == 1


def test_ids_and_absences(place: Place) -> None:
    environments = place.agents.environments
    assert code_of(lambda: environments.get("nowhere")) == "environment_not_found"
    assert code_of(lambda: environments.get("../agents")) == "environment_id_invalid"
    bad = CreateEnvironment(environment_id="a:b")
    assert code_of(lambda: environments.create(bad)) == "environment_id_invalid"
    environments.create(CreateEnvironment(environment_id="one"))
    again = CreateEnvironment(environment_id="one")
    assert code_of(lambda: environments.create(again)) == "environment_exists"
    place.tree.environment("one").unlink()
    assert code_of(lambda: environments.get("one")) == "environment_not_found"


def environment(**posture: Any) -> Environment:
    now = utc_now()
    return Environment(
        environment_id="e", name="e", sandbox=SandboxPosture(**posture), created_at=now, updated_at=now
    )


@pytest.mark.parametrize(
    ("posture", "policy", "tools"),
    [
        ({}, SandboxPolicy(), TOOLS),
        ({"workspace_access": "ro"}, SandboxPolicy(), ("read", "grep", "find", "ls")),
        ({}, SandboxPolicy(workspace_access="ro"), ("read", "grep", "find", "ls")),
        ({"workspace_access": "ro"}, SandboxPolicy(workspace_access="none"), ()),
        ({"workspace_access": "none"}, SandboxPolicy(), ()),
        ({"mode": "off"}, SandboxPolicy(), ()),
        ({}, SandboxPolicy(mode="off"), ()),
        ({"network_access": "disabled"}, SandboxPolicy(), TOOLS[:-1]),
    ],
)
def test_the_smaller_permission_wins(
    posture: dict[str, Any], policy: SandboxPolicy, tools: tuple[str, ...]
) -> None:
    effective = effective_posture(environment(**posture), AgentConfig(sandbox=policy))
    assert effective.select(TOOLS) == tools
    assert effective.file_tools == ("read" in tools)
    assert effective.not_enforced == ()


def test_what_cannot_be_kept_is_said() -> None:
    kept = effective_posture(environment(package_policy="none", network_access="disabled"), AgentConfig())
    assert kept.not_enforced == ()
    loose = effective_posture(environment(package_policy="none"), AgentConfig())
    assert "install packages" in loose.not_enforced[0]
    assert loose.not_enforced[0] in loose.describe()
    assert kept.describe() == "Files can be read and written; network disabled."
    assert (kept.containment.required, kept.containment.network) == (True, "off"), "a command is held to it"
    assert (loose.containment.required, loose.containment.network) == (False, "on")


def test_attachments_follow_the_posture() -> None:
    attachment = ResourceAttachment(
        id="r", kind="local_file", source_ref="/x", mount_path="/files/x", access="read_write"
    )
    for policy, expected in (
        (SandboxPolicy(), ["read_write"]),
        (SandboxPolicy(workspace_access="ro"), ["read_only"]),
        (SandboxPolicy(workspace_access="none"), []),
        (SandboxPolicy(mode="off"), []),
    ):
        limited = effective_posture(environment(), AgentConfig(sandbox=policy)).limit([attachment])
        assert [one.access for one in limited] == expected
