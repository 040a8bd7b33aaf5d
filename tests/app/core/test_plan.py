"""The plan that a `todo` call told, whatever shape it has."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_app.core.plan import read_plan


def details(*statuses: str) -> dict[str, Any]:
    tasks = [{"id": f"t{n}", "content": f"Task {n}", "status": status} for n, status in enumerate(statuses)]
    return {"todo": {"phases": [{"id": "p", "name": "Work", "tasks": tasks}]}}


def test_what_is_done_and_what_comes() -> None:
    plan = read_plan(details("completed", "abandoned", "in_progress", "pending"))
    assert plan is not None
    assert (plan.done, len(plan.tasks), plan.finished) == (2, 4, False)
    assert plan.current is not None
    assert plan.current.content == "Task 2"


@pytest.mark.parametrize(
    ("statuses", "current"),
    [(("pending", "blocked"), "Task 1"), (("completed", "pending"), "Task 1"), (("completed",), None)],
)
def test_what_is_current(statuses: tuple[str, ...], current: str | None) -> None:
    plan = read_plan(details(*statuses))
    assert plan is not None
    assert (plan.current.content if plan.current else None) == current
    assert plan.finished is (current is None)


@pytest.mark.parametrize("junk", [{}, {"todo": None}, {"todo": {"phases": 3}}, {"todo": {"phases": [1, {}]}}])
def test_nothing_to_do_is_no_plan(junk: dict[str, Any]) -> None:
    assert read_plan(junk) is None
