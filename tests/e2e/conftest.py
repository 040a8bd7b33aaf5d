"""A screen, a session bus and an unlocked keychain of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.desktop import Desktop, environment_for
from tests.e2e.processes import eventually
from tests.support.processes import PATIENCE_S

KEYRING_PASSWORD = "a password only this test knows"


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is not installed; scripts/test e2e installs it")
    return path


@pytest.fixture(scope="package")
def display() -> Iterator[str]:
    reader, writer = os.pipe()
    server = subprocess.Popen(
        # Without -noreset it starts anew when its last client leaves, and turns away whoever is just coming.
        [
            *(_tool("Xvfb"), "-displayfd", str(writer), "-noreset"),
            *("-screen", "0", "1600x1000x24", "-nolisten", "tcp"),
        ],
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    with os.fdopen(reader) as pipe:
        number = pipe.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(timeout=PATIENCE_S)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "run").mkdir(parents=True)
    (folder / "run").chmod(0o700)
    return folder


@pytest.fixture
def bus(home: Path) -> Iterator[str]:
    """A session bus with a real Secret Service on it, its keyring unlocked."""
    daemon = subprocess.Popen(
        [_tool("dbus-daemon"), "--session", "--nofork", "--print-address"],
        env=environment_for(home, "", ""),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert daemon.stdout is not None
    address = daemon.stdout.readline().strip()
    keyring = subprocess.Popen(
        [_tool("gnome-keyring-daemon"), "--foreground", "--unlock", "--components=secrets"],
        env=environment_for(home, "", address),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert keyring.stdin is not None
    keyring.stdin.write(KEYRING_PASSWORD)
    keyring.stdin.close()
    eventually(lambda: _secret_service_answers(address), what="the Secret Service is on the bus")
    yield address
    for process in (keyring, daemon):
        process.terminate()
        process.wait(timeout=PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()


def _secret_service_answers(address: str) -> bool:
    """Asked of the bus itself: a call to the service would make the bus start a second, locked one."""
    question = ["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]
    command = [
        _tool("dbus-send"),
        f"--bus={address}",
        "--print-reply",
        "--dest=org.freedesktop.DBus",
        "/",
        *question,
    ]
    return "true" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.fixture
def environment(home: Path, display: str, bus: str) -> dict[str, str]:
    return environment_for(home, display, bus)


@pytest.fixture
def desktops(environment: dict[str, str], home: Path) -> Iterator[list[Desktop]]:
    """Those started by `launch`, to be ended whatever happens."""
    running: list[Desktop] = []
    yield running
    for desktop in running:
        desktop.stop()


@pytest.fixture
def launch(environment: dict[str, str], desktops: list[Desktop]):  # noqa: ANN201
    def start(*arguments: str) -> Desktop:
        desktop = Desktop(environment, *arguments)
        desktops.append(desktop)
        return desktop

    return start
