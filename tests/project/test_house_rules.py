"""Rules that no linter knows: who may start processes, who may show widgets, how work is started."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.project.repository import APP, ROOT, RUNTIME, python_files

SOURCES = python_files(APP, RUNTIME, ROOT / "runtime" / "holaboss_client")

# Starting a process is a responsibility: each of these files owns, and ends, what it starts.
PROCESS_OWNERS = {
    "app/holaboss_app/__main__.py",  # becomes the command it starts, or waits for it
    "app/holaboss_app/services/runtime_process.py",
    "app/holaboss_app/services/runtime_supervisor.py",
}
# A file lock of another process has no signal. Both wait where there is no loop: before there is one, or in a thread.
WAITS_OFF_THE_LOOP = {
    "runtime/holaboss_runtime/root_lock.py",
    "runtime/holaboss_runtime/sessions/projections/tree_lock.py",
}
PROCESS_CALLS = re.compile(
    r"\b(subprocess\.(run|Popen|check_\w+)|create_subprocess_\w+|os\.(system|popen|spawn\w+)|QProcess)\b"
)


def imports_of(path: Path) -> Iterator[str]:
    """Every module or name a file imports, dotted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls_of(path: Path) -> Iterator[str]:
    """Every called name, dotted as written."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_services_know_no_widgets() -> None:
    for path in python_files(APP / "services"):
        widgets = [name for name in imports_of(path) if name.startswith("PySide6.QtWidgets")]
        assert widgets == [], relative(path)


def test_the_desktop_starts_processes_in_one_place() -> None:
    for path in python_files(APP):
        if relative(path) not in PROCESS_OWNERS:
            assert PROCESS_CALLS.search(path.read_text(encoding="utf-8")) is None, relative(path)


def test_nothing_stops_the_loop() -> None:
    """No nested event loop and no sleep that blocks."""
    for path in SOURCES:
        for call in calls_of(path):
            assert not call.endswith(".exec"), f"{relative(path)}: {call} nests an event loop"
            if relative(path) not in WAITS_OFF_THE_LOOP:
                assert call != "time.sleep", f"{relative(path)}: {call} blocks the loop"


def test_panes_and_shell_start_work_through_its_owner() -> None:
    """Elsewhere ruff refuses a task that nobody holds (RUF006)."""
    for path in python_files(APP / "panes", APP / "shell", APP / "theme"):
        assert not {"asyncio.create_task", "asyncio.ensure_future"} & set(calls_of(path)), relative(path)


def test_names_say_something() -> None:
    vague = {"utils", "util", "helper", "helpers", "manager", "managers", "misc", "common"}
    assert [relative(path) for path in SOURCES if path.stem in vague or path.parent.name in vague] == []
