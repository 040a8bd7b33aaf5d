"""`mcp_registry` of a workspace file: what is understood, what mistakes are called, what placeholders may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import McpToolRef
from holaboss_runtime.harness.mcp_resolve import McpAccess, resolve, why_unavailable
from holaboss_runtime.runs.mcp import access_of, described, notices
from holaboss_runtime.runs.texts import capability_policy
from holaboss_runtime.workspace.mcp_plan import McpPlan, PlannedServer
from holaboss_runtime.workspace.plan import load_plan

pytestmark = pytest.mark.anyio

PLAN = """\
agents: {id: workspace.general}
mcp_registry:
  allowlist: {tool_ids: [git.git_status, git.git_log, workspace.sum]}
  servers:
    time: {type: local, command: "uvx 'mcp-server-time' --local-timezone=UTC", timeout_ms: 15000}
    git:
      type: local
      command: [uvx, mcp-server-git]
      args: [--repository, ., 3]
      environment: {TOKEN: "{env:GIT_TOKEN}", VERBOSE: 1, QUIET: false}
    tracker:
      type: remote
      url: https://tracker.example/mcp?team={env:TEAM}
      headers: {Authorization: "Bearer {env:TRACKER_KEY}"}
      transport: sse
    quiet: {type: local, command: [x], enabled: false}
"""


class Known:
    """`stored` are secrets of the workspace w1, `variables` what was opened to placeholders."""

    def __init__(self, stored: dict[str, str] | None = None, **variables: str) -> None:
        self.stored = stored or {}
        self.variables = variables

    async def open(self) -> None: ...

    def placeholder(self, workspace_id: str, name: str) -> str | None:
        own = self.stored.get(name) if workspace_id == "w1" else None
        return own or self.variables.get(name)

    def variable(self, name: str) -> str | None:
        return self.variables.get(name)


class Everybody:
    """Whatever is asked for may be started."""

    def why_not(self, workspace_id: str, server: PlannedServer) -> str | None:
        return None


def plan_of(tmp_path: Path, text: str) -> McpPlan:
    (tmp_path / "workspace.yaml").write_text(text)
    return load_plan(tmp_path).mcp


def one(tmp_path: Path, **entry: Any) -> PlannedServer:
    document = {"agents": {"id": "a"}, "mcp_registry": {"servers": {"s": entry}}}
    return plan_of(tmp_path, yaml.safe_dump(document)).servers[0]


def test_servers_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, PLAN)
    assert [server.name for server in plan.servers] == ["time", "git", "tracker", "quiet"]
    time, git, tracker, off = plan.servers
    assert (time.command, time.timeout_s) == (("uvx", "mcp-server-time", "--local-timezone=UTC"), 15.0)
    assert git.command == ("uvx", "mcp-server-git", "--repository", ".", "3")
    assert git.environment == {"TOKEN": "{env:GIT_TOKEN}", "VERBOSE": "1", "QUIET": "false"}
    assert (tracker.type, tracker.transport, tracker.timeout_s) == ("remote", "sse", 30.0)
    assert not off.enabled
    assert plan.tool_ids == ("git.git_status", "git.git_log", "workspace.sum")


def test_no_section_is_no_server(tmp_path: Path) -> None:
    assert plan_of(tmp_path, "agents: {id: a}\n") == McpPlan()
    assert load_plan(tmp_path / "nowhere").mcp == McpPlan()


def test_the_type_follows_from_what_is_there(tmp_path: Path) -> None:
    assert one(tmp_path, url="http://127.0.0.1:8000/mcp").type == "remote"
    assert one(tmp_path, command="server").type == "local"
    assert one(tmp_path, command="server", env={"A": "b"}, note="whatever").environment == {"A": "b"}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("nothing", "mcp_registry.servers.s"),
        ({}, "mcp_registry.servers.s.command"),
        ({"type": "docker"}, "mcp_registry.servers.s.type"),
        ({"type": "local", "command": []}, "mcp_registry.servers.s.command"),
        ({"type": "local", "command": "a 'b"}, "mcp_registry.servers.s.command"),
        ({"type": "local", "command": ["a", {"b": 1}]}, "mcp_registry.servers.s.command"),
        ({"type": "local", "command": ["a"] * 300}, "mcp_registry.servers.s.command"),
        ({"type": "local", "command": ["a\x00b"]}, "mcp_registry.servers.s.command"),
        ({"type": "local", "command": ["{env:PROGRAM}"]}, "mcp_registry.servers.s.command"),
        ({"type": "local", "command": ["a"], "args": "b"}, "mcp_registry.servers.s.args"),
        ({"type": "local", "command": ["a"], "environment": {"A B": "c"}}, "mcp_registry.servers.s.environment.A B"),
        ({"type": "local", "command": ["a"], "environment": {"A": ["c"]}}, "mcp_registry.servers.s.environment.A"),
        ({"type": "local", "command": ["a"], "environment": {}, "env": {}}, "mcp_registry.servers.s.env"),
        ({"type": "local", "command": ["a"], "environment": {"A": "{env:}"}}, "mcp_registry.servers.s.environment.A"),
        ({"type": "local", "command": ["a"], "env": {"A": "{env:A-B}"}}, "mcp_registry.servers.s.env.A"),
        ({"type": "local", "command": ["a"], "enabled": "yes"}, "mcp_registry.servers.s.enabled"),
        ({"type": "local", "command": ["a"], "timeout_ms": 5}, "mcp_registry.servers.s.timeout_ms"),
        ({"type": "local", "command": ["a"], "timeout": "10s"}, "mcp_registry.servers.s.timeout"),
        ({"type": "remote"}, "mcp_registry.servers.s.url"),
        ({"type": "remote", "url": "ftp://x/"}, "mcp_registry.servers.s.url"),
        ({"type": "remote", "url": "https://"}, "mcp_registry.servers.s.url"),
        ({"type": "remote", "url": "https://[x/"}, "mcp_registry.servers.s.url"),
        ({"type": "remote", "url": "https://me:pw@x/"}, "mcp_registry.servers.s.url"),
        ({"type": "remote", "url": "https://{env:HOST}/"}, "mcp_registry.servers.s.url"),
        ({"type": "remote", "url": "https://x/", "transport": "carrier"}, "mcp_registry.servers.s.transport"),
        ({"type": "remote", "url": "https://x/", "headers": {"A:": "b"}}, "mcp_registry.servers.s.headers.A:"),
        ({"type": "remote", "url": "https://x/", "headers": {"A": "b\r\nC: d"}}, "mcp_registry.servers.s.headers.A"),
    ],
)  # fmt: skip
def test_every_mistake_says_where_and_what_to_do(tmp_path: Path, entry: Any, path: str) -> None:
    document = {"agents": {"id": "a"}, "mcp_registry": {"servers": {"s": entry}}}
    with pytest.raises(DomainError) as raised:
        plan_of(tmp_path, yaml.safe_dump(document))
    assert raised.value.code in (
        "workspace_mcp_server_invalid", "workspace_mcp_placeholder_invalid", "workspace_config_invalid",
    )  # fmt: skip
    assert raised.value.context["path"] == path
    assert raised.value.context["hint"].endswith(".")


@pytest.mark.parametrize("name", ["a.b", "../x", "-x", "ä", "x" * 65, 7])
def test_server_ids_are_plain(tmp_path: Path, name: Any) -> None:
    document = {"agents": {"id": "a"}, "mcp_registry": {"servers": {name: {"command": ["x"]}}}}
    with pytest.raises(DomainError) as raised:
        plan_of(tmp_path, yaml.safe_dump(document))
    assert raised.value.code == "workspace_mcp_server_invalid"


def test_there_is_an_end_to_servers(tmp_path: Path) -> None:
    document = {
        "agents": {"id": "a"},
        "mcp_registry": {"servers": {f"s{n}": {"command": ["x"]} for n in range(65)}},
    }
    with pytest.raises(DomainError):
        plan_of(tmp_path, yaml.safe_dump(document))


def test_placeholders_are_filled_in_for_a_run(tmp_path: Path) -> None:
    known = Known({"GIT_TOKEN": "stored-secret", "TRACKER_KEY": "key"}, TEAM="blue")
    access = resolve(plan_of(tmp_path, PLAN), "w1", known)
    assert [server.name for server in access.servers] == ["time", "git", "tracker"]
    assert access.servers[1].config.environment["TOKEN"] == "stored-secret"
    assert access.servers[2].config.url == "https://tracker.example/mcp?team=blue"
    assert access.servers[2].config.headers == {"Authorization": "Bearer key"}
    assert access.tool_refs == (
        McpToolRef(tool_id="git.git_status", server_id="git", tool_name="git_status"),
        McpToolRef(tool_id="git.git_log", server_id="git", tool_name="git_log"),
    )
    assert "stored-secret" not in repr(access)


def test_a_name_that_stands_for_nothing_leaves_its_server_out_with_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TOKEN", "of-the-process")  # which no file may read
    access = resolve(plan_of(tmp_path, PLAN), "w1", Known(TEAM="blue", TRACKER_KEY="k"))
    assert [server.name for server in access.servers] == ["time", "tracker"]
    assert [one.name for one in access.unavailable] == ["git"]
    assert "GIT_TOKEN" in access.unavailable[0].reason
    assert access.tool_refs == ()
    assert resolve(plan_of(tmp_path, PLAN), "w2", Known({"GIT_TOKEN": "x"})).servers[0].name == "time"


def test_a_stored_secret_never_stands_in_a_command_line(tmp_path: Path) -> None:
    server = one(tmp_path, command=["server", "--token={env:TOKEN}"])
    assert "command line" in (why_unavailable(server, "w1", Known({"TOKEN": "secret"})) or "")
    assert why_unavailable(server, "w1", Known(TOKEN="opened")) is None


def test_a_secret_cannot_add_a_header(tmp_path: Path) -> None:
    server = one(tmp_path, url="https://x.example/", headers={"A": "{env:K}"})
    assert why_unavailable(server, "w1", Known({"K": "a\r\nEvil: b"})) is not None


def test_a_value_that_looks_like_a_placeholder_is_not_filled_in_again(tmp_path: Path) -> None:
    server = one(tmp_path, command=["x"], environment={"A": "{env:FIRST}"})
    plan = McpPlan((server,))
    access = resolve(plan, "w1", Known({"FIRST": "{env:SECOND}", "SECOND": "secret"}))
    assert access.servers[0].config.environment == {"A": "{env:SECOND}"}


async def test_what_a_model_and_a_person_are_told(tmp_path: Path) -> None:
    access = await access_of(plan_of(tmp_path, PLAN), "w1", None, Everybody())
    assert "time" in described(access)
    assert "git is not available" in described(access)
    assert len(notices(access)) == 2
    assert (described(McpAccess()), await access_of(McpPlan(), "w1", None, None)) == ("", McpAccess())
    assert "MCP servers" in capability_policy(("read",), more=True)
    assert "no tools" not in capability_policy((), more=True)
