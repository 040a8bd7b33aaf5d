"""How long a person waits: from the start of a process to its first answer, or to its window."""

from __future__ import annotations

import compileall
import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from tests.bench.figures import Figure, middle
from tests.support.server import RuntimeProcess

SOURCES = ("app", "runtime")
FIRST_QUESTION = "/api/v1/workspaces"


def compile_sources() -> None:
    """As an installed program has them. Where Python may not write bytecode, every start would compile what was edited
    since, in time and in memory that no person ever pays."""
    for folder in SOURCES:
        compileall.compile_dir(folder, quiet=1)


def runtime(samples: int) -> list[Figure]:
    """Spawn → first 200 of `/healthz`, and → first answer that needs every service, over a root that exists already."""
    floors, health, answers = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder:
        root = Path(folder) / "root"
        _spawn_runtime(root, "/healthz")
        for _ in range(samples):
            floors.append(_spawn_floor())
            health.append(_spawn_runtime(root, "/healthz"))
            answers.append(_spawn_runtime(root, FIRST_QUESTION))
    floor, name = middle(floors), "bare FastAPI, 110 routes"
    return [
        Figure("runtime: spawn → /healthz", middle(health), "ms", floor, name, times_floor=1.4),
        Figure("runtime: spawn → first workspaces listed", middle(answers), "ms", floor, name),
    ]


def _spawn_runtime(root: Path, question: str) -> float:
    process = RuntimeProcess(root)
    started = time.perf_counter()
    with process:
        _first_answer(process.url.removeprefix("http://"), question, process.token)
        return (time.perf_counter() - started) * 1000


def _spawn_floor() -> float:
    started = time.perf_counter()
    command = [sys.executable, "-m", "tests.bench.floors", "server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            _first_answer(f"127.0.0.1:{port}")
            return (time.perf_counter() - started) * 1000
        finally:
            process.terminate()


def _first_answer(address: str, question: str = "/healthz", token: str = "") -> None:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("GET", question, headers={"authorization": f"Bearer {token}"})
    if connection.getresponse().status != 200:
        raise RuntimeError(f"{address} does not answer {question}")
    connection.close()


def window(samples: int) -> list[Figure]:
    """Process start → first paint, and → workspace loaded and composer usable, on a real X server."""
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder, display() as environment:
        profile = Path(folder) / "profile"
        _start_desktop(profile, environment)
        floors, ours = list[float](), list[dict[str, float]]()
        for _ in range(samples):
            floors.append(_start_window(environment))
            ours.append(_start_desktop(profile, environment))
    floor = middle(floors)
    return [
        Figure(
            "desktop: start → first paint",
            middle([one["first_paint_ms"] for one in ours]),
            "ms",
            floor,
            "bare qasync + httpx window",
            times_floor=1.5,
        ),
        Figure(
            "desktop: start → composer usable",
            middle([one["interactive_ms"] for one in ours]),
            "ms",
            floor,
            "bare qasync + httpx window",
            limit=1_200,
        ),
    ]


def _start_window(environment: dict[str, str]) -> float:
    command = [sys.executable, "-m", "tests.bench.floors", "window"]
    return float(
        subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout.split()[0]
    )


def _start_desktop(profile: Path, environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "holaboss_app", "--profile-dir", str(profile), "--measure-start"]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(finished.stdout.splitlines()[-1])


@contextlib.contextmanager
def display() -> Generator[dict[str, str]]:
    """An X server of its own and the environment that leads to it."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        with os.fdopen(reading) as numbers:
            number = numbers.readline().strip()
        paths = os.pathsep.join(["app", "runtime", os.environ.get("PYTHONPATH", "")])
        try:
            yield dict(os.environ) | {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb", "PYTHONPATH": paths}
        finally:
            server.terminate()
