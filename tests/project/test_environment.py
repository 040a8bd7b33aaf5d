"""What set-up does to `.venv`: builds it once, anew when it was interrupted, and never says more than is there.

The pip of these tests is a stand-in that notes what it was asked; the scripts are tried in `test_scripts.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.project.repository import ROOT, load

SUPPORT = ROOT / "scripts" / "support"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, at work in a checkout of its own on a machine that lacks nothing."""
    monkeypatch.syspath_prepend(str(SUPPORT))
    module = load(SUPPORT / "environment.py")
    venv = tmp_path / ".venv"
    (tmp_path / "requirements").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(module, "UNFINISHED", venv / ".unfinished")
    monkeypatch.setattr(module.system, "missing_libraries", dict)
    return module


@pytest.fixture
def asked(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pip was asked to install."""
    calls: list[str] = []
    monkeypatch.setattr(environment, "_pip", lambda *words: calls.append(" ".join(words)))
    return calls


@pytest.fixture
def built(environment: ModuleType) -> Path:
    """An environment that can install."""
    write_python(environment.PYTHON, "exit 0")
    return environment.VENV


def write_python(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def test_it_installs_and_leaves_a_stamp(environment: ModuleType, built: Path, asked: list[str]) -> None:
    assert environment.main("app", "1 2", []) == 0
    assert [call.split()[:2] for call in asked] == [["install", "--require-hashes"], ["install", "--no-deps"]]
    assert (built / ".setup-app").read_text(encoding="utf-8") == "1 2\n"
    assert not (built / ".unfinished").exists()


def test_what_somebody_else_finished_meanwhile_is_not_done_again(
    environment: ModuleType, built: Path, asked: list[str]
) -> None:
    (built / ".setup-app").write_text("1 2\n", encoding="utf-8")
    assert environment.main("app", "1 2", []) == 0
    assert asked == []


def test_parts_of_other_pins_are_no_longer_there(
    environment: ModuleType, built: Path, asked: list[str]
) -> None:
    (built / ".setup-dev").write_text("0 0\n", encoding="utf-8")
    (built / ".setup-runtime").write_text("1 2\n", encoding="utf-8")
    environment.main("app", "1 2", [])
    assert sorted(path.name for path in built.glob(".setup-*")) == [".setup-app", ".setup-runtime"]


def test_a_failure_is_a_sentence_and_leaves_no_stamp(
    environment: ModuleType, built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: str) -> None:
        raise subprocess.CalledProcessError(1, ["python", "-m", "pip", "install"])

    monkeypatch.setattr(environment, "_pip", fails)
    assert environment.main("app", "1 2", []) == 1
    message = capsys.readouterr().err
    assert "`python -m pip install` failed with code 1" in message
    assert "start the same command again" in message
    assert [path.name for path in built.iterdir() if path.name.startswith(".")] == [".unfinished"]


def test_an_interruption_is_a_sentence(
    environment: ModuleType, built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "_pip", interrupted)
    assert environment.main("app", "1 2", []) == 130
    assert "was interrupted" in capsys.readouterr().err


def test_what_was_interrupted_is_built_anew(environment: ModuleType, built: Path, asked: list[str]) -> None:
    (built / "left-over").touch()
    (built / ".unfinished").touch()
    assert environment.main("app", "1 2", []) == 0
    assert not (built / "left-over").exists()
    assert not (built / ".unfinished").exists()
    found = subprocess.run([environment.PYTHON, "-c", "import pip"], check=False, capture_output=True)
    assert found.returncode == 0
    assert environment.PYTHON.resolve() == Path(sys.executable).resolve()


@pytest.mark.parametrize("trouble", ["no pip", "no interpreter"])
def test_what_cannot_install_is_built_anew(
    trouble: str, environment: ModuleType, built: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[str] = []
    monkeypatch.setattr(environment, "_create", lambda: created.append(trouble))
    if trouble == "no pip":
        write_python(environment.PYTHON, "exit 1")
    else:
        environment.PYTHON.unlink()
        environment.PYTHON.symlink_to("python-of-another-day")
    assert environment.main("app", "1 2", []) == 0
    assert created == [trouble]


def test_everything_that_is_missing_is_asked_for_at_once(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    wanted: list[dict[str, str]] = []
    monkeypatch.setattr(environment.system, "ensure", lambda missing: wanted.append(missing) or False)
    monkeypatch.setattr(environment.system, "missing_libraries", lambda: {"libGL.so.1": "libgl1"})
    monkeypatch.setattr(environment.system, "missing_programs", lambda names: dict.fromkeys(names, "some"))
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: None)
    assert environment.main("app", "1 2", ["Xvfb"]) == 1
    (missing,) = wanted
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert sorted(missing.values()) == ["libgl1", f"python{version}-venv", "some"]
    assert asked == []
    assert not environment.VENV.exists()


def test_a_server_needs_no_libraries_of_the_system(
    environment: ModuleType, built: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.setattr(
        environment.system, "missing_libraries", lambda: pytest.fail("looked for Qt's libraries")
    )
    assert environment.main("runtime", "1 2", []) == 0
