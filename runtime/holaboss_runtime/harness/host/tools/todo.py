"""`todo`: the plan of a session. Its rules and its file are those of `workspace/todos.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import Field

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace import todos
from holaboss_runtime.workspace.todos import NewPhase, NewTask, Status, Todo, TodoError

Value = TypeVar("Value")
OPERATIONS = ("read", "replace", "add_phase", "add_task", "update", "remove_task")
_GUIDE = (
    "Use op read; replace with phases; add_phase with name and tasks; add_task with phase and content; update with id"
    " and what changes; remove_task with id."
)


class TaskInput(ToolInput):
    content: str = Field(min_length=1, max_length=1000)
    status: Status = "pending"
    notes: str | None = Field(default=None, max_length=2000)
    details: str | None = Field(default=None, max_length=2000)


class PhaseInput(ToolInput):
    name: str = Field(min_length=1, max_length=200)
    tasks: list[TaskInput] = Field(default_factory=list[TaskInput], max_length=todos.MAX_TASKS)


class TodoInput(ToolInput):
    op: str = Field(description=_GUIDE, json_schema_extra={"enum": list(OPERATIONS)})
    phases: list[PhaseInput] | None = Field(
        default=None, max_length=todos.MAX_TASKS, description="replace: the whole plan, in order"
    )
    name: str | None = Field(default=None, max_length=200, description="add_phase: its name")
    tasks: list[TaskInput] | None = Field(
        default=None, max_length=todos.MAX_TASKS, description="add_phase: its first tasks"
    )
    phase: str | None = Field(default=None, description="add_task: id or name of the phase")
    id: str | None = Field(default=None, description="update, remove_task: the task, like task-3")
    content: str | None = Field(default=None, min_length=1, max_length=1000)
    status: Status | None = Field(default=None, description="blocked: it waits for what details say")
    notes: str | None = Field(default=None, max_length=2000)
    details: str | None = Field(default=None, max_length=2000)


async def todo(workspace: Workspace, request: TodoInput) -> ToolOutcome:
    return await asyncio.to_thread(_todo, workspace, request)


def _todo(workspace: Workspace, request: TodoInput) -> ToolOutcome:
    change = _CHANGES.get(request.op)
    if change is None:
        raise ToolError(f"There is no op {request.op[:80]!r}. {_GUIDE}")
    plan = todos.read_todo(workspace.root, workspace.package.session_id)
    try:
        if request.op != "read":
            plan = change(plan, request)
            todos.save_todo(workspace.root, plan)
    except TodoError as error:
        raise ToolError(str(error)) from error
    return ToolOutcome(todos.render(plan), details={"todo": plan.model_dump(mode="json", exclude_none=True)})


def _replace(plan: Todo, request: TodoInput) -> Todo:
    phases = _given(request.phases, "replace", "phases")
    return todos.replaced(plan, [_phase(one.name, one.tasks) for one in phases])


def _add_phase(plan: Todo, request: TodoInput) -> Todo:
    name = _given(request.name, "add_phase", "name")
    return todos.with_phase(plan, _phase(name, request.tasks or []))


def _add_task(plan: Todo, request: TodoInput) -> Todo:
    task = NewTask(
        content=_given(request.content, "add_task", "content"),
        status=request.status or "pending",
        notes=request.notes,
        details=request.details,
    )
    return todos.with_task(plan, _given(request.phase, "add_task", "phase"), task)


def _update(plan: Todo, request: TodoInput) -> Todo:
    changes = request.model_dump(include={"content", "status", "notes", "details"}, exclude_none=True)
    if not changes:
        raise ToolError("update needs what changes: status, content, notes or details.")
    return todos.updated(plan, _given(request.id, "update", "id"), changes)


def _remove_task(plan: Todo, request: TodoInput) -> Todo:
    return todos.without(plan, _given(request.id, "remove_task", "id"))


_CHANGES: dict[str, Callable[[Todo, TodoInput], Todo]] = {
    "read": lambda plan, _: plan,
    "replace": _replace,
    "add_phase": _add_phase,
    "add_task": _add_task,
    "update": _update,
    "remove_task": _remove_task,
}


def _phase(name: str, tasks: list[TaskInput]) -> NewPhase:
    return NewPhase(name=name, tasks=tuple(NewTask(**task.model_dump()) for task in tasks))


def _given(value: Value | None, op: str, field: str) -> Value:
    if value is None:
        raise ToolError(f"{op} needs {field}. {_GUIDE}")
    return value


def _about(_: dict[str, Any]) -> CallFacts:
    """The plan is the session's own: nothing a person has in the workspace changes."""
    return CallFacts("todo", read_only=True)


TODO = HostTool(
    "todo",
    "Keep a plan for work of several steps: phases with tasks, of which exactly one is in progress. Update it as soon"
    " as a task is finished. Not for work of one or two steps.",
    TodoInput,
    todo,
    alone=True,
    about=_about,
)
