"""What a run gets of local MCP servers that nobody allowed: nothing, said once to the person and once to the model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.events import OutputEvent, RunEvent
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.mcp_consent import (
    LONGEST_TEXT,
    McpConsents,
    command_text,
    fingerprint_of,
)
from holaboss_runtime.runs.mcp import access_of
from holaboss_runtime.store.mcp_consents import McpConsentRecords
from holaboss_runtime.workspace.mcp_plan import McpPlan, PlannedServer
from holaboss_runtime.workspace.plan import load_plan
from tests.runtime.sessions.core import WORKSPACE, Core, add_workspace, running_core

pytestmark = pytest.mark.anyio

PLAN = """\
agents: {id: workspace.general}
mcp_registry:
  allowlist: {tool_ids: [files.read, far.search]}
  servers:
    files: {type: local, command: [serve, --all]}
    far: {type: remote, url: "https://far.example/mcp"}
    quiet: {type: local, command: [never], enabled: false}
"""
FILES = PlannedServer("files", "local", command=("npx", "-y", "files"), environment={"TOKEN": "one"})


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with running_core(tmp_path) as core:
        (core.folder / "workspace.yaml").write_text(PLAN)
        yield core


def plan_of(core: Core) -> McpPlan:
    return load_plan(core.folder).mcp


def allow(core: Core, name: str) -> None:
    server = plan_of(core).find(name)
    assert server is not None
    core.consents.give(WORKSPACE, server, fingerprint_of(server))


async def ran(core: Core) -> tuple[RunPackage, list[OutputEvent]]:
    reply = core.send("Hi")
    assert (await core.terminal(reply)).event_type == RunEvent.RUN_COMPLETED
    return core.harness.packages[-1], core.records.outputs.of_inputs([reply.input_id])[reply.input_id]


def notices(events: list[OutputEvent]) -> list[dict[str, Any]]:
    return [event.payload for event in events if event.event_type == RunEvent.RUN_NOTICE]


async def test_a_command_that_nobody_allowed_is_left_out_and_the_run_goes_on(core: Core) -> None:
    package, events = await ran(core)
    assert [server.name for server in package.mcp_servers] == ["far"]
    assert [ref.tool_id for ref in package.mcp_tool_refs] == ["far.search"]
    (notice,) = notices(events)
    assert (notice["code"], notice["mcp_server_id"], notice["state"]) == (
        "mcp_needs_consent",
        "files",
        "needs_consent",
    )
    assert "files" in notice["message"]
    assert "allow it" in notice["message"]
    types = [event.event_type for event in events]
    assert types.index(RunEvent.RUN_NOTICE) == types.index(RunEvent.RUN_STARTED) + 1
    assert "The MCP server files is not allowed yet" in package.system_prompt
    assert "--all" not in package.system_prompt


async def test_what_was_allowed_runs_until_the_command_is_another_one(core: Core) -> None:
    allow(core, "files")
    package, events = await ran(core)
    assert [server.name for server in package.mcp_servers] == ["files", "far"]
    assert [ref.tool_id for ref in package.mcp_tool_refs] == ["files.read", "far.search"]
    assert notices(events) == []

    (core.folder / "workspace.yaml").write_text(PLAN.replace("--all", "--everything"))
    package, events = await ran(core)
    assert [server.name for server in package.mcp_servers] == ["far"]
    (notice,) = notices(events)
    assert notice["code"] == "mcp_needs_consent"
    assert "changed" in notice["message"]

    core.consents.withdraw(WORKSPACE, "files")
    (core.folder / "workspace.yaml").write_text(PLAN)
    package, _ = await ran(core)
    assert [server.name for server in package.mcp_servers] == ["far"]


async def test_a_server_that_lacks_something_is_told_of_in_the_same_way(core: Core) -> None:
    (core.folder / "workspace.yaml").write_text(PLAN.replace("https://far.example/mcp", "https://x/{env:NO}"))
    allow(core, "files")
    _, events = await ran(core)
    (notice,) = notices(events)
    assert (notice["code"], notice["mcp_server_id"]) == ("mcp_server_unavailable", "far")


async def test_where_nobody_can_be_asked_no_command_is_started() -> None:
    elsewhere = PlannedServer("far", "remote", url="https://far.example/mcp")
    access = await access_of(McpPlan((FILES, elsewhere)), WORKSPACE, None, None)
    assert [server.name for server in access.servers] == ["far"]
    assert [(one.name, one.needs_consent) for one in access.unavailable] == [("files", True)]


async def test_consent_is_of_one_command_in_one_workspace(core: Core) -> None:
    add_workspace(core.database, "w2", core.folder, name="Other")
    consents = core.consents
    consents.give(WORKSPACE, FILES, fingerprint_of(FILES))
    assert consents.why_not(WORKSPACE, FILES) is None
    assert consents.why_not("w2", FILES) is not None
    assert consents.why_not(WORKSPACE, replace(FILES, name="others")) is not None
    with pytest.raises(DomainError) as outdated:
        consents.give(WORKSPACE, replace(FILES, command=("rm",)), fingerprint_of(FILES))
    assert (outdated.value.kind, outdated.value.code) == ("conflict", "mcp_consent_outdated")
    shown = consents.shown(WORKSPACE, replace(FILES, command=("rm",)))
    assert shown is not None
    assert (shown.state, shown.command_text, shown.earlier_command_text) == (
        "changed",
        "TOKEN=… rm",
        "TOKEN=… npx -y files",
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(FILES, command=("npx", "-y files")),
        replace(FILES, command=("npx", "files", "-y")),
        replace(FILES, command=("npx", "-y", "files", "")),
        replace(FILES, environment={}),
        replace(FILES, environment={"TOKEN": "one", "MORE": ""}),
        replace(FILES, environment={"TOKEN": "one", "NODE_OPTIONS": ""}),
    ],
)
async def test_what_makes_another_command(other: PlannedServer) -> None:
    assert fingerprint_of(other) != fingerprint_of(FILES)


async def test_values_of_variables_count_only_where_they_decide_what_runs() -> None:
    assert fingerprint_of(replace(FILES, environment={"TOKEN": "two"})) == fingerprint_of(FILES)
    loads = replace(FILES, environment={"NODE_OPTIONS": "--require ./a.js"})
    other = replace(FILES, environment={"NODE_OPTIONS": "--require ./b.js"})
    assert fingerprint_of(loads) != fingerprint_of(other)
    assert command_text(loads) == "NODE_OPTIONS='--require ./a.js' npx -y files"
    index = replace(FILES, environment={"npm_config_registry": "https://me:secret@mirror.example/"})
    assert "secret" not in command_text(index)
    assert "mirror.example" in command_text(index)


async def test_a_command_is_shown_with_everything_in_it() -> None:
    hidden = replace(FILES, command=("sh", "-c", "echo\nrm -rf \u202e~"), environment={})
    assert command_text(hidden) == "sh -c 'echo\\nrm -rf \\u202e~'"


async def test_a_command_that_nobody_could_look_at_is_not_allowed(core: Core) -> None:
    endless = replace(FILES, command=("sh", "-c", "x" * (LONGEST_TEXT + 1)))
    with pytest.raises(DomainError) as raised:
        core.consents.give(WORKSPACE, endless, fingerprint_of(endless))
    assert raised.value.code == "mcp_command_too_long"
    shown = core.consents.shown(WORKSPACE, endless)
    assert shown is not None
    assert len(shown.command_text) <= LONGEST_TEXT + 1


async def test_a_server_whose_operator_owns_the_files_asks_nobody(core: Core) -> None:
    trusting = McpConsents(McpConsentRecords(core.database), trusted=True)
    assert trusting.why_not(WORKSPACE, FILES) is None
    shown = trusting.shown(WORKSPACE, FILES)
    assert shown is not None
    assert shown.state == "trusted"
    assert core.consents.why_not(WORKSPACE, FILES) is not None, "nothing was kept"
