"""The plan an agent works by, as its newest `todo` call told it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

_OVER = frozenset({"completed", "abandoned"})


@dataclass(frozen=True, slots=True)
class Task:
    """`status` is pending, in_progress, blocked, completed or abandoned."""

    content: str
    status: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    phases: tuple[Phase, ...]

    @property
    def tasks(self) -> list[Task]:
        return [task for phase in self.phases for task in phase.tasks]

    @property
    def done(self) -> int:
        return sum(task.status in _OVER for task in self.tasks)

    @property
    def finished(self) -> bool:
        return self.done == len(self.tasks)

    @property
    def current(self) -> Task | None:
        """What is worked on, or what holds everything up, or what comes next."""
        for status in ("in_progress", "blocked", "pending"):
            for task in self.tasks:
                if task.status == status:
                    return task
        return None


def read_plan(details: Mapping[str, Any]) -> Plan | None:
    """From the details of a `todo` call; None when there is nothing to do in it."""
    document = details.get("todo")
    listed = cast("dict[str, Any]", document).get("phases") if isinstance(document, dict) else None
    phases = tuple(map(_phase, cast("list[Any]", listed))) if isinstance(listed, list) else ()
    plan = Plan(tuple(phase for phase in phases if phase.tasks))
    return plan if plan.phases else None


def _phase(value: Any) -> Phase:  # noqa: ANN401 - what an event carried
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    tasks = given.get("tasks")
    listed = cast("list[Any]", tasks) if isinstance(tasks, list) else []
    return Phase(str(given.get("name") or ""), tuple(map(_task, listed)))


def _task(value: Any) -> Task:  # noqa: ANN401
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return Task(
        str(given.get("content") or ""),
        str(given.get("status") or "pending"),
        str(given.get("details") or ""),
    )
