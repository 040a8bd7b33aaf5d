"""A canary outside of the workspace: things to read, to overwrite, to connect to and to kill, and whether any of it
happened.

`canary` is for whatever can be used to get out, commands and tools and servers alike: let it try, then call `check`.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import ContainmentDemand, PermissionPolicy, PermissionRule
from holaboss_runtime.processes import become_subreaper
from tests.runtime.harness.conftest import local_sandbox

ESCAPED = "GOT-OUT"
"""What a case prints when it did something that leaves no other trace."""

_probed: list[Containment] = []


@dataclass
class Canary:
    """`token` is in every secret. `outside` must stay exactly as it is."""

    token: str
    outside: Path
    home: Path
    process: subprocess.Popen[bytes]
    listener: socket.socket
    named: socket.socket
    abstract: socket.socket
    shared: Path
    before: dict[str, tuple[bytes, int]] = field(default_factory=dict[str, tuple[bytes, int]])

    @property
    def secret(self) -> Path:
        return self.outside / "secret"

    @property
    def target(self) -> Path:
        return self.outside / "target"

    @property
    def places(self) -> dict[str, object]:
        """For a command: `%(secret)s` and the others."""
        return {
            "outside": self.outside,
            "secret": self.secret,
            "target": self.target,
            "new": self.outside / "new",
            "socket": self.outside / "socket",
            "abstract": self.abstract.getsockname()[1:].decode(),
            "home": self.home,
            "pid": self.process.pid,
            "parent": os.getpid(),
            "port": self.listener.getsockname()[1],
            "shared": self.shared,
            "shm": self.shared.name,
            "out": f"echo {ESCAPED[:3]}''{ESCAPED[3:]}",
        }

    def check(self, *said: str) -> None:
        """Nothing was read, written, connected to or ended. `said` is everything that came back from the attempt."""
        for text in said:
            assert self.token not in text
            assert ESCAPED not in text
        assert self.state() == self.before
        assert self.shared.read_text() == self.token
        assert self.process.poll() is None, "a process outside was ended"
        assert not self.was_connected(), "somebody connected to a listener outside"

    def state(self) -> dict[str, tuple[bytes, int]]:
        """Every file outside with its content, and its mode; folders are empty files."""
        found: dict[str, tuple[bytes, int]] = {}
        for place in (self.outside, self.home):
            for path in sorted(place.rglob("*")):
                content = _content(path) if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = (content, path.lstat().st_mode)
        return found

    def was_connected(self) -> bool:
        for listener in (self.listener, self.named, self.abstract):
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                continue
            return True
        return False


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError:  # somebody took away the right to read it, which is a change as well
        return b"cannot be read"


def _listening(family: socket.AddressFamily, address: Any) -> socket.socket:
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    listener.setblocking(False)
    return listener


@pytest.fixture
def canary(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    token = f"canary-{secrets.token_hex(12)}"
    outside = tmp_path / "outside"
    for folder in (outside / "hooks", home / ".ssh", home / ".aws"):
        folder.mkdir(parents=True)
    for path in (outside / "secret", outside / "config", home / ".ssh" / "id_test", home / ".aws" / "config"):
        path.write_text(f"{token}\n")
    (outside / "target").write_text("untouched\n")
    (outside / token).touch()  # a name can be a secret too
    monkeypatch.setenv("PROVIDER_API_KEY", token)
    monkeypatch.setenv("HOLABOSS_RUNTIME_TOKEN", token)
    shared = (
        Path("/dev/shm" if Path("/dev/shm").is_dir() else tmp_path) / f"holaboss-test-{secrets.token_hex(6)}"
    )
    shared.write_text(token)
    process = subprocess.Popen(["sleep", "1000"], env={"PROVIDER_API_KEY": token}, cwd=outside)
    with (
        _listening(socket.AF_INET, ("127.0.0.1", 0)) as listener,
        _listening(socket.AF_UNIX, str(outside / "socket")) as named,
        _listening(socket.AF_UNIX, f"\0holaboss-test-{secrets.token_hex(6)}".encode()) as abstract,
    ):
        made = Canary(token, outside, home, process, listener, named, abstract, shared)
        made.before = made.state()
        yield made
    process.kill()
    process.wait()
    shared.unlink()


@pytest.fixture
async def contained() -> Containment:
    """What holds commands on this machine; skips where nothing does."""
    become_subreaper()  # as a host is
    if not _probed:
        _probed.append(await probe())
    if not _probed[0].active:
        pytest.skip("this machine cannot contain commands")
    return _probed[0]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".holaboss").mkdir(parents=True)
    (folder / ".holaboss" / "workspace_id").write_text("private")
    (folder / "workspace.yaml").write_text("name: mine\n")
    (folder / "a.txt").write_text("one\n")
    return folder


Attempt = Callable[..., Any]


def attempt_with(sandbox: LocalSandbox) -> Attempt:
    async def attempt(tool: str, **arguments: Any) -> ToolOutcome:
        return await sandbox.execute(tool, arguments)

    return attempt


@pytest.fixture
def hand(workspace: Path, contained: Containment) -> Callable[..., Attempt]:
    """`hand(*mounts, network="off", hosts=[…], rules=["skills/**"])` makes the tools of a run whose commands are really
    held; `rules` are paths that are asked about before they are written."""

    def make(*mounts: Mount, rules: Iterable[str] = (), **demand: Any) -> Attempt:
        permissions = PermissionPolicy(
            rules=[PermissionRule(effect="always_ask", tool="write", path=path) for path in rules],
            containment=ContainmentDemand(required=True, **demand),
        )
        return attempt_with(local_sandbox(workspace, *mounts, containment=contained, permissions=permissions))

    return make
