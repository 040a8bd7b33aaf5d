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
}
# A file lock of another process has no signal. Both wait where there is no loop: before there is one, or in a thread.
WAITS_OFF_THE_LOOP = {
    "runtime/holaboss_runtime/processes.py",
    "runtime/holaboss_runtime/root_lock.py",
    "runtime/holaboss_runtime/sessions/projections/tree_lock.py",
}
STARTS_PROCESSES = re.compile(
    r"(subprocess|multiprocessing|os\.(system|popen|fork\w*|(posix_)?spawn\w*|exec[lv]\w*)"
    r"|asyncio\.create_subprocess_\w+|PySide6\.QtCore\.QProcess)(\..*)?"
)
STARTS_TASKS = ("create_task", "ensure_future")


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
            names = {*imports_of(path), *calls_of(path)}
            assert [name for name in names if STARTS_PROCESSES.fullmatch(name)] == [], relative(path)


def test_nothing_stops_the_loop() -> None:
    """No nested event loop and no sleep that blocks."""
    for path in SOURCES:
        for call in calls_of(path):
            assert not call.endswith((".exec", ".exec_")), f"{relative(path)}: {call} nests an event loop"
            if relative(path) not in WAITS_OFF_THE_LOOP:
                assert call != "time.sleep", f"{relative(path)}: {call} blocks the loop"
        assert "time.sleep" not in imports_of(path), f"{relative(path)}: say time.sleep, so that it is seen"


def test_panes_and_shell_start_work_through_its_owner() -> None:
    """Elsewhere ruff refuses a task that nobody holds (RUF006)."""
    for path in python_files(APP / "panes", APP / "shell", APP / "theme"):
        started = [call for call in calls_of(path) if call.rpartition(".")[2] in STARTS_TASKS]
        assert started == [], relative(path)


def test_exceptions_to_a_rule_are_still_needed() -> None:
    for name in PROCESS_OWNERS:
        names = {*imports_of(ROOT / name), *calls_of(ROOT / name)}
        assert any(STARTS_PROCESSES.fullmatch(found) for found in names), name
    for name in WAITS_OFF_THE_LOOP:
        assert "time.sleep" in calls_of(ROOT / name), name


def test_names_say_something() -> None:
    vague = {"utils", "util", "helper", "helpers", "manager", "managers", "misc", "common"}
    assert [relative(path) for path in SOURCES if path.stem in vague or path.parent.name in vague] == []
