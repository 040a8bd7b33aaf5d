"""A run is cut to what its executor can use and its policy allows: package, prompt and manifest say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_client.permissions import SetPermissions
from holaboss_runtime.harness.contract import AdapterCapabilities, PrepPlan, RunPackage
from tests.runtime.sessions.core import WORKSPACE, Core

pytestmark = pytest.mark.anyio

TOOLS = ("read", "write", "bash", "skill", "question")
PLAN = """\
name: Plan
agents: {id: workspace.general}
mcp_registry:
  servers:
    clock: {type: remote, url: "http://127.0.0.1:9/mcp"}
"""


async def run(core: Core) -> tuple[RunPackage, dict[str, Any], dict[str, Any]]:
    """The package of a new turn, what RUN_STARTED says of it, and its manifest."""
    reply = core.send("Hi")
    assert (await core.terminal(reply)).event_type == RunEvent.RUN_COMPLETED
    events = core.records.outputs.of_inputs([reply.input_id])[reply.input_id]
    started = next(event.payload for event in events if event.event_type == RunEvent.RUN_STARTED)
    (snapshot,) = core.sessions.inspection.request_snapshots(reply.session_id, before=None, limit=1).items
    text = core.records.snapshots.section(snapshot.payload["runtime_config"]["capability_manifest"])
    assert text is not None
    return core.harness.packages[-1], started, json.loads(text)


@pytest.fixture
def furnished(core: Core) -> Core:
    """A workspace with a skill, a command and a server, and an executor with some tools."""
    core.harness.tool_names = TOOLS
    (core.folder / "workspace.yaml").write_text(PLAN)
    (core.folder / ".holaboss").mkdir(exist_ok=True)
    (core.folder / "skills" / "filing").mkdir(parents=True)
    (core.folder / "skills" / "filing" / "SKILL.md").write_text("---\ndescription: Filing.\n---\nFile it.\n")
    (core.folder / "commands").mkdir()
    (core.folder / "commands" / "review.md").write_text("Review it.")
    return core


async def test_an_executor_that_can_everything_gets_everything(furnished: Core) -> None:
    package, started, manifest = await run(furnished)
    assert set(package.tools) == set(TOOLS)
    assert [server.name for server in package.mcp_servers] == ["clock"]
    assert package.workspace_skill_dirs
    assert package.staged_dir is None
    assert "workspace_command_ids" not in started
    assert manifest["context"]["mcp_server_ids"] == ["clock"]
    assert manifest["fingerprint"] == started["capability_manifest_fingerprint"]


async def test_one_that_can_nothing_gets_no_skills_no_servers_and_asks_nobody(furnished: Core) -> None:
    furnished.harness.capabilities = AdapterCapabilities()
    package, started, manifest = await run(furnished)
    assert set(package.tools) == {"read", "write", "bash"}
    assert (package.mcp_servers, package.workspace_skill_dirs) == ([], [])
    assert package.permissions.may_ask is False
    assert "clock" not in package.system_prompt
    assert "Filing" not in package.system_prompt
    assert started["workspace_skill_ids"] == []
    assert manifest["coordinate"] == []


async def test_servers_are_prepared_only_when_the_plan_says_so(
    furnished: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(furnished.harness, "prep_plan", lambda kind: PrepPlan())
    package, _, _ = await run(furnished)
    assert package.mcp_servers == []


async def test_commands_and_skills_are_staged_only_when_the_plan_says_so(
    furnished: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = PrepPlan(stage_workspace_skills=True, stage_workspace_commands=True)
    monkeypatch.setattr(furnished.harness, "prep_plan", lambda kind: plan)
    package, started, _ = await run(furnished)
    assert started["workspace_command_ids"] == ["review"]
    assert package.staged_dir is not None
    staged = furnished.folder / ".holaboss" / "staged" / "native"
    assert package.staged_dir == str(staged)
    assert (staged / "commands" / "review.md").read_text() == "Review it."
    assert (staged / "skills" / "filing" / "SKILL.md").is_file()


async def test_a_tool_that_is_forbidden_altogether_is_not_promised(furnished: Core) -> None:
    furnished.sessions.permissions.set(WORKSPACE, SetPermissions(profile="read-only"))
    package, _, manifest = await run(furnished)
    assert "bash" not in package.tools
    assert "bash" not in package.system_prompt
    assert "bash" not in manifest["mutate"]
    assert "read" in package.tools
