"""The rules of the suite, each broken once by a test of its own: in one process, and in those that run side by side."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

CASES = {
    "logs": ('logging.getLogger("a.b").warning("careful")', "unexpected log records"),
    "silence": ("logging.disable(logging.CRITICAL)", "logging was switched off"),
    "threads": ("threading.Thread(target=lambda: HOLD.wait(10), daemon=True).start()", "leaked threads"),
    "children": ('HELD.append(subprocess.Popen(["sleep", "60"]))', "leaked processes"),
    "network": ('socket.create_connection(("192.0.2.1", 80), 1)', "tests use loopback only"),
    "names": ('socket.getaddrinfo("example.com", 80)', "tests use loopback only"),
    "sockets": ("ring = [socket.socket()]; ring.append(ring)", "unclosed <socket"),
    "tasks": ("asyncio.run(forget())", "nobody looked"),
    "warnings": ('warnings.warn("old", stacklevel=1)', "UserWarning: old"),
    "hanging": ("HOLD.wait(60)", "Timeout (>3.0s)"),
}
HEADER = """
import asyncio, logging, os, pathlib, socket, subprocess, threading, warnings
import pytest
from tests.support import strictness

strictness.GRACE_S = 2.0
HOLD, HELD = threading.Event(), []

async def forget():
    async def fail():
        raise ValueError("nobody looked")
    asyncio.get_running_loop().create_task(fail())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
"""
ALLOWED = """
@pytest.mark.allow_log("a", "careful")
def test_marker():
    logging.getLogger("a.b").warning("be careful")

def test_fixture(allow_log):
    allow_log("a.b")
    logging.getLogger("a.b").error("anything")

def test_home(home):
    assert pathlib.Path.home() == home
    assert "OPENAI_API_KEY" not in os.environ
    home.joinpath("left").touch()

def test_home_is_new(home):
    assert not home.joinpath("left").exists()

def test_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        socket.getaddrinfo("localhost", 80)
"""


PARALLEL = ("-p", "xdist.plugin", "-n", "2", "--dist", "worksteal")
CRASH = """
import os

def test_before():
    pass

def test_crash():
    os._exit(3)

def test_after():
    pass
"""


def run(file: Path, *options: str) -> str:
    """What pytest says about a file, under the rules of this repository."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        "pyproject.toml",
        "--rootdir",
        ".",
        "-p",
        "tests.conftest",
        "-v",
    ]
    environment = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "x", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = ["-p", "anyio", "-p", "pytest_timeout", "-p", "no:cacheprovider"]
    finished = subprocess.run(
        [*command, *plugins, *options, str(file)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.stdout


@pytest.fixture(scope="module", params=[(), PARALLEL], ids=["alone", "side by side"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One run over a file that breaks every rule once."""
    broken = "".join(f"\ndef test_{name}():\n    {code}\n" for name, (code, _) in CASES.items())
    file = tmp_path_factory.mktemp("inner") / "test_inner.py"
    file.write_text(
        HEADER + broken.replace("def test_hanging", "@pytest.mark.timeout(3)\ndef test_hanging") + ALLOWED
    )
    return run(file, *request.param)


def passed(report: str, name: str) -> bool:
    return any("PASSED" in line and f"::test_{name} " in f"{line} " for line in report.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_breaking_a_rule_fails(report: str, name: str) -> None:
    summary = [line for line in report.splitlines() if line.startswith(("FAILED", "ERROR"))]
    assert any(f"::test_{name} " in f"{line} " for line in summary), report
    assert CASES[name][1] in report


def test_keeping_the_rules_passes(report: str) -> None:
    for name in ("marker", "fixture", "home", "home_is_new", "loopback"):
        assert passed(report, name), report
        assert f"teardown of test_{name} " not in report


def test_a_worker_that_ends_fails_its_test_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "test_inner.py"
    file.write_text(CRASH)
    report = run(file, *PARALLEL)
    assert "FAILED" in report, report
    assert "crashed while running" in report
    assert "test_crash" in report.partition("crashed while running")[2].splitlines()[0]
    assert passed(report, "before"), report
    assert passed(report, "after"), report
