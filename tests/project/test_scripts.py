"""The developer interface: every script runs, explains itself, and does no set-up work twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.repository import ROOT, load

SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file())
SHELL = [*SCRIPTS, ROOT / ".ci" / "run", ROOT / "packaging" / "try-frozen"]
system = load(ROOT / "scripts" / "support" / "system.py")


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files set-up reads, and an environment whose Python writes down how it was called."""
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("app", "runtime"):
        (tmp_path / name).mkdir()
        shutil.copy(ROOT / name / "pyproject.toml", tmp_path / name)
    program(tmp_path / ".venv" / "bin", "python", 'echo "$@" >> "$(dirname "$0")/../../calls"')
    return tmp_path


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def stamp(checkout: Path, part: str) -> None:
    """Leave the stamp that a finished set-up leaves: the second word set-up hands to Python."""
    run(checkout / "scripts" / "setup", part)
    calls = (checkout / "calls").read_text(encoding="utf-8").splitlines()
    word = calls[-1].removeprefix(f"scripts/support/environment.py {part} ")
    (checkout / ".venv" / f".setup-{part}").write_text(f"{word}\n", encoding="utf-8")
    (checkout / "calls").unlink()


@pytest.mark.parametrize("script", SHELL, ids=lambda path: path.name)
def test_a_script_is_executable_and_sound(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert text.startswith("#!/bin/sh\n# "), "starts with what it is for"
    assert "\nset -eu\n" in text
    assert run("sh", "-n", script).returncode == 0


def test_an_unknown_part_is_refused(checkout: Path) -> None:
    result = run(checkout / "scripts" / "setup", "everything")
    assert result.returncode == 2
    assert "unknown part 'everything'" in result.stderr


@pytest.mark.parametrize(
    ("done", "asked"),
    [
        ("dev", "dev"),
        ("dev", "app"),
        ("dev", "runtime-test"),
        ("package", "app"),
        ("runtime-test", "runtime"),
    ],
)
def test_a_second_start_does_no_work(checkout: Path, done: str, asked: str) -> None:
    stamp(checkout, done)
    assert run(checkout / "scripts" / "setup", asked).returncode == 0
    assert not (checkout / "calls").exists()


@pytest.mark.parametrize(
    "changed", ["requirements/dev.txt", "app/pyproject.toml", "scripts/support/system.py"]
)
def test_a_changed_pin_is_noticed(checkout: Path, changed: str) -> None:
    stamp(checkout, "dev")
    with (checkout / changed).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    run(checkout / "scripts" / "setup", "dev")
    assert (checkout / "calls").exists()


def test_a_smaller_part_does_not_stand_for_a_larger_one(checkout: Path) -> None:
    stamp(checkout, "runtime")
    run(checkout / "scripts" / "setup", "app")
    assert (checkout / "calls").exists()


def test_a_moved_checkout_is_noticed(checkout: Path) -> None:
    stamp(checkout, "dev")
    moved = checkout.rename(checkout.with_name("moved"))
    run(moved / "scripts" / "setup", "dev")
    assert (moved / "calls").exists()


def test_an_old_python_is_refused_in_words(checkout: Path, tmp_path: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    old = tmp_path / "old"
    program(old, "python3", "exit 1")
    result = run(checkout / "scripts" / "setup", PYTHON=str(old / "python3"))
    assert result.returncode == 1
    assert "needs Python 3.11" in result.stderr
    assert "PYTHON=" in result.stderr


def test_without_a_display_the_self_test_runs(checkout: Path) -> None:
    stamp(checkout, "app")
    result = run(checkout / "scripts" / "run", "--demo")
    assert "self-test" in result.stderr
    assert (checkout / "calls").read_text(encoding="utf-8") == "-m holaboss_app --self-test\n"


def test_with_a_display_the_app_opens(checkout: Path) -> None:
    stamp(checkout, "app")
    run(checkout / "scripts" / "run", "--demo", "--profile-dir", "a b", DISPLAY=":7")
    assert (checkout / "calls").read_text(encoding="utf-8") == "-m holaboss_app --demo --profile-dir a b\n"


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        (("runtime", "-k", "one"), "tests/client tests/runtime -k one"),
        (("tests/app/core", "-x"), "tests/app/core -x"),
        (("app",), "tests/app tests/project"),
    ],
)
def test_a_part_of_the_tests_is_chosen(checkout: Path, asked: tuple[str, ...], called: str) -> None:
    stamp(checkout, "dev")
    run(checkout / "scripts" / "test", *asked)
    assert (checkout / "calls").read_text(encoding="utf-8").splitlines()[-1] == f"-m pytest {called}"


def test_every_folder_of_tests_is_run() -> None:
    text = (ROOT / "scripts" / "test").read_text(encoding="utf-8")
    everything = text.split("all) folders=")[1].splitlines()[0]
    for folder in {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").rglob("test_*.py")}:
        assert f"tests/{folder}" in everything, folder


class TestSystemPackages:
    """What set-up does about a missing library; apt and sudo are stand-ins that note their arguments."""

    @pytest.fixture
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        tools = tmp_path / "tools"
        program(tools, "apt-get", f'echo "apt-get $@" >> {tmp_path}/asked')
        program(tools, "env", 'while case $1 in *=*) true ;; *) false ;; esac; do shift; done; exec "$@"')
        monkeypatch.setenv("PATH", f"{tools}:/bin")
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setitem(system.PROGRAMS, "no-such-program", "some-package")
        return tmp_path

    def test_nothing_missing_asks_for_nothing(self, machine: Path) -> None:
        assert system.ensure_programs([])
        assert not (machine / "asked").exists()

    def test_root_installs(self, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert system.ensure_programs(["no-such-program"])
        asked = (machine / "asked").read_text(encoding="utf-8").splitlines()
        assert asked[0].startswith("apt-get update")
        assert asked[1] == "apt-get install --yes --no-install-recommends some-package --quiet=2"

    def test_a_person_gets_the_command(
        self, machine: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        program(machine / "tools", "sudo", "exit 1")
        assert not system.ensure_programs(["no-such-program"])
        assert not (machine / "asked").exists()
        message = capfd.readouterr().err
        assert "sudo apt-get install --yes --no-install-recommends some-package" in message
        assert "no-such-program" in message

    def test_a_failed_installation_is_said(
        self, machine: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        program(machine / "tools", "apt-get", "exit 100")
        assert not system.ensure_programs(["no-such-program"])
        assert "apt could not install it" in capfd.readouterr().err
