"""`todo` and `scratchpad`: what a session keeps for itself, through the sandbox and through a real host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.todo import OPERATIONS
from holaboss_runtime.workspace.scratchpads import MAX_BYTES
from tests.runtime.harness.asking import calls, ending, told
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.scripted_provider import ScriptedProvider, ToolCall, say

pytestmark = pytest.mark.anyio

PLAN = [
    {"name": "Find out", "tasks": [{"content": "Read the brief"}, {"content": "Ask around"}]},
    {"name": "Write", "tasks": [{"content": "Draft"}]},
]


@pytest.fixture
def hand(workspace: Path) -> LocalSandbox:
    return local_sandbox(workspace, session_id="session-1")


@pytest.fixture
def todo(hand: LocalSandbox) -> Callable[..., Any]:
    async def use(op: str, **arguments: Any) -> ToolOutcome:
        return await hand.execute("todo", {"op": op, **arguments})

    return use


@pytest.fixture
def pad(hand: LocalSandbox) -> Callable[..., Any]:
    async def use(op: str, **arguments: Any) -> ToolOutcome:
        return await hand.execute("scratchpad", {"op": op, **arguments})

    return use


async def test_a_plan_from_its_first_task_to_its_last(todo: Callable[..., Any], workspace: Path) -> None:
    assert (await todo("read")).text == "There is no plan yet."
    made = await todo("replace", phases=PLAN)
    assert made.text.splitlines() == [
        "0 of 3 tasks completed",
        "",
        "phase-1: Find out",
        "[>] task-1: Read the brief",
        "[ ] task-2: Ask around",
        "",
        "phase-2: Write",
        "[ ] task-3: Draft",
    ]
    await todo("update", id="task-1", status="completed", notes="twice")
    await todo("add_task", phase="Write", content="Send")
    await todo("add_phase", name="Afterwards", tasks=[{"content": "Rest"}])
    done = await todo("remove_task", id="task-2")
    document = done.details["todo"]
    assert document == json.loads((workspace / ".holaboss/state/todos/session-1.json").read_text())
    assert (document["version"], document["session_id"]) == (2, "session-1")
    assert [
        (phase["name"], [(task["id"], task["status"]) for task in phase["tasks"]])
        for phase in document["phases"]
    ] == [
        ("Find out", [("task-1", "completed")]),
        ("Write", [("task-3", "in_progress"), ("task-4", "pending")]),
        ("Afterwards", [("task-5", "pending")]),
    ]
    assert (await todo("read")).text == done.text
    assert done.changed_paths == ()


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"op": "todowrite"}, "There is no op 'todowrite'. Use op read; replace with phases"),
    ({"op": "replace"}, "replace needs phases"),
    ({"op": "add_phase"}, "add_phase needs name"),
    ({"op": "add_task", "content": "x"}, "add_task needs phase"),
    ({"op": "add_task", "phase": "phase-1"}, "add_task needs content"),
    ({"op": "add_task", "phase": "phase-9", "content": "x"}, "The phases are: phase-1 (Find out)"),
    ({"op": "update", "status": "completed"}, "update needs id"),
    ({"op": "update", "id": "task-1"}, "update needs what changes"),
    ({"op": "update", "id": "task-77", "status": "completed"}, "The tasks are: task-1, task-2, task-3"),
    ({"op": "update", "id": "task-1", "status": "done"}, "status"),
    ({"op": "remove_task"}, "remove_task needs id"),
    ({"op": "replace", "phases": [{"name": "", "tasks": []}]}, "phases.0.name"),
    ({"op": "replace", "phases": [{"name": "x", "tasks": [{"content": "y", "who": "z"}]}]}, "who"),
    ({"op": "replace", "phases": [{"name": "x", "tasks": [{"content": "y" * 1001}]}]}, "content"),
    ({}, "op"),
]


@pytest.mark.parametrize(("arguments", "guidance"), MISTAKES)
async def test_a_mistake_says_what_would_be_right(
    hand: LocalSandbox, todo: Callable[..., Any], arguments: dict[str, Any], guidance: str
) -> None:
    before = await todo("replace", phases=PLAN)
    outcome = await hand.execute("todo", arguments)
    assert outcome.error
    assert guidance in outcome.text
    assert (await todo("read")).details == before.details


async def test_a_plan_that_is_too_large_changes_nothing(todo: Callable[..., Any]) -> None:
    await todo("replace", phases=PLAN)
    big = [{"name": "x", "tasks": [{"content": "y" * 1000, "notes": "z" * 2000}] * 30}]
    outcome = await todo("replace", phases=big)
    assert outcome.error
    assert "64 KiB" in outcome.text
    assert "Read the brief" in (await todo("read")).text


async def test_each_session_has_its_own(workspace: Path, todo: Callable[..., Any]) -> None:
    await todo("replace", phases=PLAN)
    other = local_sandbox(workspace, session_id="session-2")
    assert (await other.execute("todo", {"op": "read"})).text == "There is no plan yet."


async def test_notes_stay(pad: Callable[..., Any], workspace: Path) -> None:
    assert (await pad("read")).text == "The scratchpad is empty."
    kept = await pad("append", content="First.\n")
    assert kept.text == "Kept: 7 bytes in the scratchpad. It begins: First."
    await pad("append", content="Zweitens: Größe.")
    read = await pad("read")
    assert read.text == "First.\n\nZweitens: Größe."
    shown = read.details["scratchpad"]
    path = workspace / ".holaboss/state/scratchpads/session-1.md"
    assert shown.pop("updated_at").endswith("Z")
    assert shown == {
        "exists": True,
        "file_path": ".holaboss/state/scratchpads/session-1.md",
        "size_bytes": path.stat().st_size,
        "preview": "First. Zweitens: Größe.",
    }
    assert path.stat().st_mode & 0o777 == 0o600
    await pad("replace", content="x" * 400)
    assert len((await pad("read")).details["scratchpad"]["preview"]) == 280
    cleared = await pad("clear")
    assert not cleared.details["scratchpad"]["exists"]
    assert not path.exists()
    assert not (await pad("clear")).error


async def test_notes_have_bounds(pad: Callable[..., Any], hand: LocalSandbox) -> None:
    await pad("replace", content="x" * MAX_BYTES)
    full = await pad("append", content="y")
    assert full.error
    assert "128 KiB" in full.text
    assert (await pad("read")).details["scratchpad"]["size_bytes"] == MAX_BYTES
    assert "needs content" in (await pad("append")).text
    assert (await hand.execute("scratchpad", {"op": "burn"})).error
    lone = await pad("replace", content="a\ud800b")
    assert not lone.error


async def test_no_tool_for_files_reaches_them(todo: Callable[..., Any], hand: LocalSandbox) -> None:
    await todo("replace", phases=PLAN)
    outcome = await hand.execute("read", {"path": ".holaboss/state/todos/session-1.json"})
    assert outcome.error
    assert "Read the brief" not in outcome.text


async def test_a_run_keeps_a_plan_and_a_screen_gets_all_of_it(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    several = calls(
        ToolCall("todo", {"op": "replace", "phases": PLAN}),
        ToolCall("todo", {"op": "update", "id": "task-1", "status": "completed"}),
        ToolCall("scratchpad", {"op": "append", "content": "Ask Ada."}),
    )
    provider.enqueue(several, say("Planned."))
    events = await listener.run(package())
    assert ending(events)[0] == "success"
    first, second, third = told(events, "completed")
    assert first["result"]["details"]["todo"]["phases"][0]["tasks"][0]["status"] == "in_progress"
    statuses = [
        task["status"] for phase in second["result"]["details"]["todo"]["phases"] for task in phase["tasks"]
    ]
    assert statuses == ["completed", "in_progress", "pending"]
    assert third["result"]["details"]["scratchpad"]["preview"] == "Ask Ada."
    names = {tool["function"]["name"]: tool["function"] for tool in provider.requests[0].body["tools"]}
    assert names["todo"]["parameters"]["properties"]["op"]["enum"] == list(OPERATIONS)
    assert not {"todowrite", "todoread"} & set(names)
    provider.enqueue(calls(ToolCall("todo", {"op": "read"})), say("Still there."))
    again = await listener.run(package(input_id="input-2"))
    assert "[>] task-2: Ask around" in told(again, "completed")[0]["result"]["content"][0]["text"]
    assert not (workspace / ".holaboss/undo").exists()  # the workspace was not looked through for changes
