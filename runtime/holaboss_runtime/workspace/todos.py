"""`.holaboss/state/todos/<session>.json`: the plan an agent keeps while it works, in phases of tasks, and its rules.

Exactly one open task is in progress. While a task is blocked nothing is begun on its own: whoever plans decides what
can be done meanwhile. Ids are never used again, so that an old one cannot mean another task.
A blocked task says something to people and to the agent; it does not make a run wait. Only a question does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holaboss_client.base import utc_now
from holaboss_runtime.workspace.session_state import read_file, replace_file, session_file

VERSION = 2
MAX_BYTES = 64 * 1024
MAX_TASKS = 200

Status = Literal["pending", "in_progress", "blocked", "completed", "abandoned"]
_MARKS: dict[Status, str] = {
    "completed": "[x]",
    "in_progress": "[>]",
    "blocked": "[!]",
    "abandoned": "[-]",
    "pending": "[ ]",
}


class TodoError(Exception):
    """A change that cannot be made; the message says what to do instead."""


class TodoModel(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Task(TodoModel):
    """`details` of a blocked task say what it waits for."""

    id: str
    content: str
    status: Status = "pending"
    notes: str | None = None
    details: str | None = None

    @property
    def open(self) -> bool:
        return self.status not in ("completed", "abandoned")


class Phase(TodoModel):
    id: str
    name: str
    tasks: tuple[Task, ...] = ()


class Todo(TodoModel):
    """The whole plan, as it stands in the file."""

    version: Literal[2] = VERSION
    session_id: str
    updated_at: str = Field(default_factory=utc_now)
    phases: tuple[Phase, ...] = ()
    next_task_id: int = Field(default=1, ge=1)
    next_phase_id: int = Field(default=1, ge=1)

    @property
    def tasks(self) -> list[Task]:
        return [task for phase in self.phases for task in phase.tasks]

    @property
    def unfinished(self) -> list[Task]:
        return [task for task in self.tasks if task.open]

    def task(self, task_id: str) -> Task | None:
        return next((task for task in self.tasks if task.id == task_id), None)


class NewTask(TodoModel):
    """A task before it has an id."""

    content: str
    status: Status = "pending"
    notes: str | None = None
    details: str | None = None


class NewPhase(TodoModel):
    name: str
    tasks: tuple[NewTask, ...] = ()


def read_todo(folder: Path, session_id: str) -> Todo:
    """The plan of a session; an empty one when there is none or the file is not one of ours. Raises `OSError`."""
    raw = read_file(session_file(folder, "todos", session_id, ".json"), MAX_BYTES)
    if raw is None or len(raw) > MAX_BYTES:
        return Todo(session_id=session_id)
    try:
        return Todo.model_validate_json(raw)
    except ValidationError:
        return Todo(session_id=session_id)


def save_todo(folder: Path, todo: Todo) -> None:
    """Raises `TodoError` for one that is too large, and `OSError`."""
    raw = todo.model_dump_json(indent=1, exclude_none=True).encode("utf-8", "replace")
    if len(raw) > MAX_BYTES or len(todo.tasks) > MAX_TASKS:
        limit = f"{MAX_TASKS} tasks or {MAX_BYTES // 1024} KiB"
        raise TodoError(f"The plan would be larger than {limit}. Remove finished tasks, or say less in each.")
    replace_file(session_file(folder, "todos", todo.session_id, ".json"), raw)


def replaced(todo: Todo, phases: Sequence[NewPhase]) -> Todo:
    """A new plan in the place of the old one."""
    emptied = todo.model_copy(update={"phases": ()})
    for phase in phases:
        emptied = _with_phase(emptied, phase)
    return _settled(emptied)


def with_phase(todo: Todo, phase: NewPhase) -> Todo:
    return _settled(_with_phase(todo, phase))


def with_task(todo: Todo, phase: str, task: NewTask) -> Todo:
    """`phase` is the id or name of one that is there. Raises `TodoError`."""
    wanted = phase.strip().casefold()
    found = next((one for one in todo.phases if wanted in (one.id, one.name.strip().casefold())), None)
    if found is None:
        known = ", ".join(f"{one.id} ({one.name})" for one in todo.phases) or "none yet; use add_phase"
        raise TodoError(f"There is no phase {phase!r}. The phases are: {known}.")
    number = todo.next_task_id
    added = Task(id=f"task-{number}", **task.model_dump())
    grown = found.model_copy(update={"tasks": (*found.tasks, added)})
    changed = _with_phases(todo, (grown if one is found else one for one in todo.phases))
    return _settled(changed.model_copy(update={"next_task_id": number + 1}), active=added.id)


def updated(todo: Todo, task_id: str, changes: dict[str, Any]) -> Todo:
    """`changes` are fields of a task. What a task waited for is forgotten when it waits no longer."""
    task = _known(todo, task_id)
    if task.status == "blocked" and changes.get("status", "blocked") != "blocked":
        changes = {"details": None} | changes
    changed = task.model_copy(update=changes)
    return _settled(_each(todo, lambda one: changed if one.id == task_id else one), active=task_id)


def without(todo: Todo, task_id: str) -> Todo:
    _known(todo, task_id)
    return _settled(_each(todo, lambda one: None if one.id == task_id else one))


def block_active(todo: Todo, details: str) -> Todo | None:
    """The task in progress waits for something; None when there is no such task."""
    active = next((task for task in todo.tasks if task.status == "in_progress"), None)
    return None if active is None else updated(todo, active.id, {"status": "blocked", "details": details})


def take_up(todo: Todo, details: str) -> Todo | None:
    """What waited for exactly this goes on; None when nothing did."""
    waiting = next((t for t in todo.tasks if t.status == "blocked" and t.details == details), None)
    return None if waiting is None else updated(todo, waiting.id, {"status": "in_progress"})


def render(todo: Todo) -> str:
    """The plan as text, one line per task."""
    if not todo.phases:
        return "There is no plan yet."
    tasks = todo.tasks
    done = sum(task.status == "completed" for task in tasks)
    lines = [f"{done} of {len(tasks)} tasks completed"]
    for phase in todo.phases:
        lines += ["", f"{phase.id}: {_line(phase.name)}"]
        for task in phase.tasks:
            lines.append(f"{_MARKS[task.status]} {task.id}: {_line(task.content)}")
            lines += [f"    {label}: {_line(text)}" for label, text in _remarks(task)]
    return "\n".join(lines)


def _remarks(task: Task) -> list[tuple[str, str]]:
    said = (("notes", task.notes), ("details", task.details))
    return [(label, text) for label, text in said if text]


def _line(text: str) -> str:
    return " ".join(text.split())


def _known(todo: Todo, task_id: str) -> Task:
    task = todo.task(task_id)
    if task is None:
        known = ", ".join(one.id for one in todo.tasks) or "none yet"
        raise TodoError(f"There is no task {task_id!r}. The tasks are: {known}.")
    return task


def _with_phase(todo: Todo, phase: NewPhase) -> Todo:
    first = todo.next_task_id
    tasks = tuple(Task(id=f"task-{n}", **one.model_dump()) for n, one in enumerate(phase.tasks, first))
    added = Phase(id=f"phase-{todo.next_phase_id}", name=phase.name, tasks=tasks)
    update = {"next_phase_id": todo.next_phase_id + 1, "next_task_id": first + len(tasks)}
    return _with_phases(todo, (*todo.phases, added)).model_copy(update=update)


def _with_phases(todo: Todo, phases: Iterable[Phase]) -> Todo:
    return todo.model_copy(update={"phases": tuple(phases)})


def _each(todo: Todo, change: Callable[[Task], Task | None]) -> Todo:
    """Every task changed; those that become None are gone."""
    phases: list[Phase] = []
    for phase in todo.phases:
        kept = tuple(task for one in phase.tasks if (task := change(one)) is not None)
        phases.append(phase.model_copy(update={"tasks": kept}))
    return _with_phases(todo, phases)


def _settled(todo: Todo, *, active: str | None = None) -> Todo:
    """With exactly one task in progress, `active` rather than any other, and a new date."""
    running = [task.id for task in todo.tasks if task.status == "in_progress"]
    waits = any(task.status == "blocked" for task in todo.tasks)
    pending = [task.id for task in todo.tasks if task.status == "pending"]
    chosen = active if active in running else next(iter(running or ([] if waits else pending)), None)

    def normalised(task: Task) -> Task:
        if task.id == chosen:
            return task.model_copy(update={"status": "in_progress"})
        return task.model_copy(update={"status": "pending"}) if task.id in running else task

    return _each(todo, normalised).model_copy(update={"updated_at": utc_now()})
