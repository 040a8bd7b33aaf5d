"""The plan of a session: its rules, and its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_runtime.workspace import todos
from holaboss_runtime.workspace.todos import NewPhase, NewTask, Todo, TodoError

STATUSES = ("pending", "in_progress", "blocked", "completed", "abandoned")


def plan(*statuses: str) -> Todo:
    tasks = tuple(NewTask(content=f"t{n}", status=status) for n, status in enumerate(statuses, 1))  # pyright: ignore[reportArgumentType]
    return todos.replaced(Todo(session_id="s"), [NewPhase(name="One", tasks=tasks)])


def statuses(todo: Todo) -> list[str]:
    return [task.status for task in todo.tasks]


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        (("pending", "pending"), ["in_progress", "pending"]),
        (("completed", "pending"), ["completed", "in_progress"]),
        (("in_progress", "in_progress"), ["in_progress", "pending"]),
        (("blocked", "pending"), ["blocked", "pending"]),
        (("blocked", "in_progress"), ["blocked", "in_progress"]),
        (("completed", "abandoned"), ["completed", "abandoned"]),
        ((), []),
    ],
)
def test_exactly_one_task_is_in_progress_and_none_is_begun_beside_a_blocked_one(
    given: tuple[str, ...], settled: list[str]
) -> None:
    assert statuses(plan(*given)) == settled


def test_the_task_that_is_begun_takes_the_place_of_the_one_in_progress() -> None:
    assert statuses(todos.updated(plan("in_progress", "pending"), "task-2", {"status": "in_progress"})) == [
        "pending",
        "in_progress",
    ]
    done = todos.updated(plan("in_progress", "pending"), "task-1", {"status": "completed"})
    assert statuses(done) == ["completed", "in_progress"]


def test_ids_are_never_used_again() -> None:
    todo = todos.without(plan("pending", "pending"), "task-2")
    todo = todos.with_task(todo, "phase-1", NewTask(content="new"))
    assert [task.id for task in todo.tasks] == ["task-1", "task-3"]
    todo = todos.replaced(todo, [NewPhase(name="Two", tasks=(NewTask(content="x"),))])
    assert [(phase.id, phase.tasks[0].id) for phase in todo.phases] == [("phase-2", "task-4")]
    todo = todos.with_phase(todo, NewPhase(name="Three"))
    assert [phase.id for phase in todo.phases] == ["phase-2", "phase-3"]


def test_a_phase_is_found_by_id_and_by_name() -> None:
    todo = todos.with_task(plan("pending"), " one ", NewTask(content="more"))
    assert [task.content for task in todo.phases[0].tasks] == ["t1", "more"]
    with pytest.raises(TodoError, match=r"phase-1 \(One\)"):
        todos.with_task(todo, "two", NewTask(content="lost"))
    with pytest.raises(TodoError, match="task-1, task-2"):
        todos.updated(todo, "task-9", {"status": "completed"})
    with pytest.raises(TodoError, match="none yet"):
        todos.without(Todo(session_id="s"), "task-1")


def test_a_question_blocks_the_active_task_and_its_answer_takes_it_up() -> None:
    blocked = todos.block_active(plan("in_progress", "pending"), "Which one?")
    assert blocked is not None
    assert statuses(blocked) == ["blocked", "pending"]
    assert blocked.tasks[0].details == "Which one?"
    assert todos.block_active(blocked, "And?") is None
    assert todos.take_up(blocked, "Something else") is None
    taken = todos.take_up(blocked, "Which one?")
    assert taken is not None
    assert (statuses(taken), taken.tasks[0].details) == (["in_progress", "pending"], None)


def test_what_a_person_reads() -> None:
    todo = plan("completed", "blocked", "abandoned", "in_progress", "pending")
    todo = todos.updated(todo, "task-2", {"details": "Which\none?", "notes": "by mail"})
    assert todos.render(todo).splitlines() == [
        "1 of 5 tasks completed",
        "",
        "phase-1: One",
        "[x] task-1: t1",
        "[!] task-2: t2",
        "    notes: by mail",
        "    details: Which one?",
        "[-] task-3: t3",
        "[>] task-4: t4",
        "[ ] task-5: t5",
    ]
    assert todos.render(Todo(session_id="s")) == "There is no plan yet."


def test_the_file_is_the_documented_one(tmp_path: Path) -> None:
    assert todos.read_todo(tmp_path, "s-1").phases == ()
    todos.save_todo(tmp_path, plan("pending").model_copy(update={"session_id": "s-1"}))
    path = tmp_path / ".holaboss/state/todos/s-1.json"
    document = json.loads(path.read_text())
    assert {key: document[key] for key in ("version", "session_id", "next_task_id", "next_phase_id")} == {
        "version": 2,
        "session_id": "s-1",
        "next_task_id": 2,
        "next_phase_id": 2,
    }
    task = {"id": "task-1", "content": "t1", "status": "in_progress"}
    assert document["phases"] == [{"id": "phase-1", "name": "One", "tasks": [task]}]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["s-1.json"]
    assert todos.read_todo(tmp_path, "s-1").tasks[0].status == "in_progress"


@pytest.mark.parametrize("session_id", ["../../escape", "a/b", "", ".", "x" * 300, "ü\0"])
def test_a_session_id_is_no_path(tmp_path: Path, session_id: str) -> None:
    todos.save_todo(tmp_path, Todo(session_id=session_id))
    (found,) = (tmp_path / ".holaboss/state/todos").iterdir()
    assert found.suffix == ".json"
    assert todos.read_todo(tmp_path, session_id).session_id == session_id
    assert [entry.name for entry in tmp_path.iterdir()] == [".holaboss"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"version": 1}', b"\xff" * 100, b"0" * 70_000])
def test_a_file_that_is_not_ours_is_an_empty_plan(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / ".holaboss/state/todos/s.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw)
    assert todos.read_todo(tmp_path, "s").phases == ()


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    elsewhere, workspace = tmp_path / "elsewhere", tmp_path / "w"
    elsewhere.mkdir()
    (workspace / ".holaboss").mkdir(parents=True)
    (workspace / ".holaboss/state").symlink_to(elsewhere)
    with pytest.raises(OSError, match="leads elsewhere"):
        todos.save_todo(workspace, Todo(session_id="s"))
    assert list(elsewhere.iterdir()) == []


def test_a_plan_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(TodoError, match="larger than"):
        todos.save_todo(tmp_path, plan(*["pending"] * (todos.MAX_TASKS + 1)))
    long = todos.updated(plan("pending"), "task-1", {"notes": "x" * todos.MAX_BYTES})
    with pytest.raises(TodoError, match="larger than"):
        todos.save_todo(tmp_path, long)


CHANGE = st.tuples(st.integers(1, 8), st.sampled_from(STATUSES))


@given(first=st.lists(st.sampled_from(STATUSES), max_size=6), changes=st.lists(CHANGE, max_size=12))
def test_whatever_is_changed_the_rule_holds(first: list[str], changes: list[tuple[int, str]]) -> None:
    todo = plan(*first)
    for number, status in changes:
        if todo.task(f"task-{number}") is None:
            todo = todos.with_phase(todo, NewPhase(name="More", tasks=(NewTask(content="x"),)))
        else:
            todo = todos.updated(todo, f"task-{number}", {"status": status})
        found = statuses(todo)
        waits = "blocked" in found
        assert found.count("in_progress") <= 1
        assert "in_progress" in found or waits or "pending" not in found
