"""What a run is told and given of the skills, the plan and the report tool of its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import Mount, RunPackage
from holaboss_runtime.runs import texts
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.workspace import todos
from holaboss_runtime.workspace.todos import NewPhase, NewTask, Todo
from tests.runtime.sessions.core import Core

pytestmark = pytest.mark.anyio

TOOLS = ("read", "todo", "skill", "question", "write_report")


def write(folder: Path, front: str = "") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(front or f"---\ndescription: About {folder.name}.\n---\nDo it.\n")


async def started(core: Core, text: str = "Hi") -> tuple[RunPackage, dict[str, Any]]:
    """The package of a new turn and what RUN_STARTED says of it."""
    reply = core.send(text)
    assert (await core.terminal(reply)).event_type == RunEvent.RUN_COMPLETED
    events = core.records.outputs.of_inputs([reply.input_id])[reply.input_id]
    payload = next(event.payload for event in events if event.event_type == RunEvent.RUN_STARTED)
    return core.harness.packages[-1], payload


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What comes with Holaboss, for the cores of a test that asks for this first."""
    folder = tmp_path / "embedded"
    write(folder / "helper")
    monkeypatch.setenv("HOLABOSS_EMBEDDED_SKILLS_DIR", str(folder))
    return folder


async def test_a_run_gets_its_skills_and_an_index_of_them(embedded: Path, core: Core) -> None:
    core.harness.tool_names = TOOLS
    write(core.folder / "skills/a")
    write(core.folder / "skills/broken", "nothing")
    package, told = await started(core)
    assert package.workspace_skill_dirs == [str(core.folder / "skills/a"), str(embedded / "helper")]
    assert package.mounts == [Mount(mount_path="/skills/helper", source=str(embedded / "helper"))]
    assert told["workspace_skill_ids"] == ["a", "helper"]
    (notice,) = told["notices"]
    assert "skills/broken" in notice
    assert "- a: About a.\n- helper: About helper." in package.system_prompt
    sections = told["prompt_section_ids"]
    assert sections.index("skills") < sections.index("session_policy")
    assert "skills" in told["prompt_cache_profile"]["cacheable_section_ids"]

    (core.folder / "workspace.yaml").write_text("agents: {id: a}\nskills: [gone, helper]\n")
    package, told = await started(core)
    assert package.workspace_skill_dirs == [str(embedded / "helper")]
    assert "About a." not in package.system_prompt
    assert any("'gone'" in notice for notice in told["notices"])

    (core.folder / "workspace.yaml").write_text("agents: {id: a}\nskills: []\n")
    package, told = await started(core)
    assert (package.workspace_skill_dirs, package.mounts) == ([], [])
    assert "skill" not in package.tools
    assert "skill" not in told["workspace_tool_ids"]
    assert "skills" not in told["prompt_section_ids"]


async def test_what_a_snapshot_says_of_skills(embedded: Path, core: Core) -> None:
    package, _ = await started(core)
    snapshot = core.records.snapshots.get(package.input_id)
    assert snapshot is not None
    assert snapshot.payload["runtime_config"]["workspace_skill_ids"] == ["helper"]


async def test_nothing_is_said_of_tools_that_are_not_there(embedded: Path, core: Core) -> None:
    _keep_plan(core, "pending")
    package, told = await started(core)
    ids = {"skills", "response_delivery_policy", "todo_resume"}
    assert not ids & set(told["prompt_section_ids"])
    core.harness.tool_names = TOOLS
    package, told = await started(core)
    assert ids <= set(told["prompt_section_ids"])
    assert "`write_report`" in package.system_prompt


async def test_an_unfinished_plan_is_told_and_decides_nothing(core: Core) -> None:
    core.harness.tool_names = TOOLS
    package, _ = await started(core)
    assert package.context_messages == []
    _keep_plan(core, "completed", "pending")
    package, _ = await started(core)
    (note,) = package.context_messages
    assert "newest message decides" in note
    assert "[>] task-2: t2" in note
    assert note not in package.system_prompt
    _keep_plan(core, "completed", "abandoned")
    package, _ = await started(core)
    assert package.context_messages == []


def _keep_plan(core: Core, *statuses: str) -> None:
    tasks = tuple(NewTask(content=f"t{n}", status=status) for n, status in enumerate(statuses, 1))  # pyright: ignore[reportArgumentType]
    todos.save_todo(core.folder, todos.replaced(Todo(session_id="s1"), [NewPhase(name="P", tasks=tasks)]))


def test_the_index_has_a_bound_and_loses_no_name() -> None:
    many = [(f"skill-{number}", "word " * 300) for number in range(64)]
    index = texts.skills_index(many)
    assert len(index) < texts.MAX_SKILLS_CHARS + 500
    lines = index.splitlines()[-64:]
    assert [line.partition(":")[0] for line in lines] == [f"- {skill_id}" for skill_id, _ in many]
    assert lines[0].endswith("…")
    assert lines[-1] == "- skill-63"
    assert texts.skills_index([]) == ""


def test_a_note_about_a_plan_is_short() -> None:
    assert len(texts.unfinished_plan("x" * 50_000)) < 2_000


def test_the_usage_of_a_turn_names_what_skills_opened() -> None:
    fold = TurnFold()
    assert "skill_invocations" not in fold.tool_usage_summary()
    invocation = {"phase": "completed", "skill_id": "deploy", "error": False, "widening_scope": "run"}
    grants = {"granted_tools": ["bash"], "granted_commands": []}
    fold.add(RunEvent.SKILL_INVOCATION, invocation | {"phase": "started"})
    fold.add(RunEvent.SKILL_INVOCATION, invocation | grants)
    fold.add(RunEvent.SKILL_INVOCATION, invocation | {"skill_id": None, "error": True})
    summary = fold.tool_usage_summary()
    assert summary["skill_invocations"] == [
        {"skill_id": "deploy", "error": False},
        {"skill_id": None, "error": True},
    ]
    assert summary["skill_policy_widening"] == [
        {"skill_id": "deploy", "widening_scope": "run", "granted_tools": ["bash"], "granted_commands": []}
    ]
