"""The developer interface: every script runs, explains itself, and does no set-up work twice."""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

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
        # Another test may just be writing what Python compiles.
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
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


def test_an_interrupted_set_up_is_noticed(checkout: Path) -> None:
    stamp(checkout, "dev")
    (checkout / ".venv" / ".unfinished").touch()
    run(checkout / "scripts" / "setup", "dev")
    assert "environment.py dev" in (checkout / "calls").read_text(encoding="utf-8")


def test_a_program_the_caller_needs_is_asked_for(checkout: Path) -> None:
    stamp(checkout, "dev")
    run(checkout / "scripts" / "setup", "dev", "sh", "no-such-program")
    assert (checkout / "calls").read_text(encoding="utf-8") == "scripts/support/system.py no-such-program\n"


def test_everything_that_is_missing_is_asked_for_at_once(checkout: Path) -> None:
    run(checkout / "scripts" / "setup", "dev", "sh", "no-such-program")
    words = (checkout / "calls").read_text(encoding="utf-8").splitlines()[-1].split()
    assert words[:2] == ["scripts/support/environment.py", "dev"]
    assert words[-1] == "no-such-program"


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
    checked, opened = (checkout / "calls").read_text(encoding="utf-8").splitlines()
    assert checked.endswith("scripts/support/display.py")
    assert opened == "-m holaboss_app --demo --profile-dir a b"


def test_a_display_that_does_not_answer_is_said(checkout: Path) -> None:
    stamp(checkout, "app")
    body = 'echo "$@" >> "$(dirname "$0")/../../calls"; case $* in *display.py) exit 1 ;; esac'
    program(checkout / ".venv" / "bin", "python", body)
    result = run(checkout / "scripts" / "run", DISPLAY=":7")
    assert "The display :7 does not answer: running the self-test" in result.stderr
    assert (checkout / "calls").read_text(encoding="utf-8").endswith("-m holaboss_app --self-test\n")


@pytest.mark.skipif(sys.platform != "linux", reason="displays of Linux")
class TestDisplay:
    """Displays are sockets that answer, sockets that refuse, and names behind which there is nothing."""

    ACCEPTED = struct.pack("<BxHHH20xB51x", 1, 11, 0, 18, 1)  # with one screen
    REFUSED = struct.pack("<BBHHH4s", 0, 2, 11, 0, 1, b"no")

    def answers(self, **environment: str) -> bool:
        return run(sys.executable, ROOT / "scripts" / "support" / "display.py", **environment).returncode == 0

    @pytest.mark.parametrize(("reply", "expected"), [(ACCEPTED, True), (REFUSED, False)], ids=["yes", "no"])
    def test_x11(self, reply: bytes, expected: bool) -> None:
        with listening(socket.create_server(("127.0.0.1", 0)), reply) as (host, port):
            assert self.answers(DISPLAY=f"{host}:{port - 6000}") is expected

    def test_wayland(self, tmp_path: Path) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(tmp_path / "wayland-9"))
        server.listen()
        with listening(server, b""):
            assert self.answers(WAYLAND_DISPLAY="wayland-9", XDG_RUNTIME_DIR=str(tmp_path))
            assert self.answers(WAYLAND_DISPLAY=str(tmp_path / "wayland-9"))

    def test_nothing_there(self, tmp_path: Path) -> None:
        assert not self.answers(DISPLAY="no display")
        assert not self.answers(WAYLAND_DISPLAY="wayland-9", XDG_RUNTIME_DIR=str(tmp_path))
        assert not self.answers()


@contextmanager
def listening(server: socket.socket, reply: bytes) -> Generator[Any]:
    """The address of a server that gives everyone the same reply, whatever they say."""

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                if reply and connection.recv(100):
                    connection.sendall(reply)
                    connection.recv(100)  # until the other side has read it and leaves

    with server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_command_of_the_runtime_needs_no_display(checkout: Path) -> None:
    stamp(checkout, "app")
    run(checkout / "scripts" / "run", "agent", "list")
    assert (checkout / "calls").read_text(encoding="utf-8") == "-m holaboss_app agent list\n"


PARALLEL = "-n logical --maxprocesses 4 --dist worksteal"


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        (("runtime", "-k", "one"), f"{PARALLEL} tests/client tests/runtime -k one"),
        (("tests/app/core", "-x"), "tests/app/core -x"),
        (("app", "-n0"), f"{PARALLEL} tests/app tests/project -n0"),
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
    """What set-up does about what is missing; apt and sudo are stand-ins that note their arguments."""

    MISSING: ClassVar = {"libone.so": "one", "two": "package-two"}

    @pytest.fixture
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        tools = tmp_path / "tools"
        program(tools, "apt-get", f'echo "apt-get $@" >> {tmp_path}/asked')
        program(tools, "env", 'while case $1 in *=*) true ;; *) false ;; esac; do shift; done; exec "$@"')
        monkeypatch.setenv("PATH", f"{tools}:/bin")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(shutil, "which", lambda name: found(tools, name))
        return tmp_path

    def test_nothing_missing_asks_for_nothing(self, machine: Path) -> None:
        assert system.ensure({})
        assert not (machine / "asked").exists()

    def test_root_installs(self, machine: Path) -> None:
        assert system.ensure(self.MISSING)
        asked = (machine / "asked").read_text(encoding="utf-8").splitlines()
        assert asked[0].startswith("apt-get update")
        assert asked[1].startswith("apt-get install --yes --no-install-recommends one package-two --quiet=2")

    def test_a_person_who_may_installs_without_a_question(
        self, machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        program(machine / "tools", "sudo", '[ "$1" = -n ] && shift && exec "$@"')
        assert system.ensure(self.MISSING)
        assert "install" in (machine / "asked").read_text(encoding="utf-8")

    @pytest.mark.parametrize("sudo", [True, False])
    def test_a_person_gets_the_command(
        self, machine: Path, sudo: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        if sudo:
            program(machine / "tools", "sudo", "exit 1")
        assert not system.ensure(self.MISSING)
        assert not (machine / "asked").exists()
        message = capfd.readouterr().err
        install = "apt-get install --yes --no-install-recommends one package-two"
        expected = (
            f"  sudo apt-get update && sudo {install}\n"
            if sudo
            else f"  su -c 'apt-get update && {install}'\n"
        )
        assert expected in message
        assert "libone.so, two" in message

    def test_a_machine_without_apt_is_told_what_it_needs(
        self, machine: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (machine / "tools" / "apt-get").unlink()
        assert not system.ensure(self.MISSING)
        assert "your package manager" in capfd.readouterr().err

    def test_a_list_that_cannot_be_renewed_may_be_good_enough(self, machine: Path) -> None:
        program(machine / "tools", "apt-get", '[ "$1" = install ]')
        assert system.ensure(self.MISSING)

    def test_a_failed_installation_is_said(self, machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
        program(machine / "tools", "apt-get", "echo no such package && exit 100")
        assert not system.ensure(self.MISSING)
        message = capfd.readouterr().err
        assert "no such package" in message
        assert "apt could not install" in message

    def test_an_installation_that_was_ended_in_the_middle_is_completed_first(self, machine: Path) -> None:
        says = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem."
        refuses = f'[ "$1" != install ] || [ -e {machine}/complete ] || {{ echo "{says}"; exit 100; }}'
        program(machine / "tools", "apt-get", refuses)
        program(machine / "tools", "dpkg", f'[ "$*" = "--configure -a" ] && : > {machine}/complete')
        assert system.ensure(self.MISSING)

    def test_what_is_on_the_machine_is_not_missing(
        self, machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program(machine / "tools", "Xvfb", "true")
        assert system.missing_programs(["Xvfb", "bwrap"]) == {"bwrap": "bubblewrap"}
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setitem(system.LIBRARIES, "libnobody-has-this.so.9", "some-package")
        assert system.missing_libraries()["libnobody-has-this.so.9"] == "some-package"

    def test_every_program_a_script_asks_for_is_known(self) -> None:
        asked: set[str] = set()
        for script in SCRIPTS:
            text = script.read_text(encoding="utf-8")
            for words in re.findall(
                r"^\s*scripts/setup [a-z-]+ (.+)$|(?:programs|display)=([\w\"$ -]+)", text, re.MULTILINE
            ):
                asked |= {word for word in " ".join(words).replace('"', " ").split() if word[0] != "$"}
        assert {"Xvfb", "bwrap", "npm", "objdump"} <= asked
        assert asked - {"true"} <= set(system.PROGRAMS)


def found(folder: Path, name: str) -> str | None:
    path = folder / name
    return str(path) if path.is_file() else None
