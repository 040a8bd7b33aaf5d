"""File tools that are led astray: by names, by what stands at a path, and by somebody who swaps it meanwhile."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.harness.contract import Mount
from tests.runtime.escape.conftest import Attempt, Canary, attempt_with
from tests.runtime.harness.conftest import local_sandbox

pytestmark = pytest.mark.anyio

ARGUMENTS: dict[str, dict[str, Any]] = {
    "read": {},
    "write": {"content": "overwritten\n"},
    "edit": {"old_text": "untouched", "new_text": "overwritten"},
    "ls": {},
    "find": {"pattern": "*"},
    "grep": {"pattern": "."},
}
PATHS = [
    "%(secret)s", "%(target)s", "%(new)s", "../outside/secret", "../outside/target", "a/../../outside/target",
    "./../outside/new", "/workspace/../outside/secret", "//%(secret)s", "/proc/self/root%(secret)s",
    "/proc/self/cwd/../outside/secret", "/proc/%(pid)s/cwd/secret", "/proc/%(pid)s/environ", "/dev/stdin", "/dev/shm",
    "~/.ssh/id_test", "$HOME/.ssh/id_test", "file://%(secret)s", "%(secret)s\0.txt", "a.txt\0/../../outside/secret",
    "..\\outside\\secret", "C:\\outside", "\\\\host\\share", "link", "link/secret", "link/target", "link/new",
    "file-link", "target-link", "dangling", "dangling/x", "loop", "chain", "up/secret",
    "proc-link%(secret)s", "deep/link/secret", "/mnt/data/link/secret", "/mnt/data/../outside/secret",
    "/mnt/link/secret", "pipe", "unix-socket", "device",
]  # fmt: skip
HARMLESS = {
    "$HOME/.ssh/id_test",
    "~/.ssh/id_test",
    "file://%(secret)s",
    "..\\outside\\secret",
    "pipe",
    "unix-socket",
}
"""Names like any other in the workspace, or things there that a search passes over."""

PRIVATE = [
    ".holaboss/workspace_id", ".HOLABOSS/workspace_id", ".HolaBoss/workspace_id", "./.holaboss/workspace_id",
    ".holaboss./workspace_id", ".holaboss /workspace_id", ".holaboss::$INDEX_ALLOCATION/workspace_id",
    ".hola\u200bboss/workspace_id", ".hola\u00adboss/workspace_id", "\uff0eholaboss/workspace_id",
    ".\uff28olaboss/workspace_id", "HOLABO~1/workspace_id", "private-link/workspace_id", "/workspace/.holaboss/x",
    ".openboa/state/runtime.db", ".OpenBoa/state/runtime.db",
]  # fmt: skip
GIT = [
    ".git/hooks/pre-commit", ".GIT/hooks/pre-commit", ".git/config", "sub/.git/config", ".git./config",
    ".g\u200cit/config",
    "GIT~1/config", ".git::$INDEX_ALLOCATION/config", "git-link/config", "\uff0egit/config",
]  # fmt: skip


@pytest.fixture
def astray(workspace: Path, canary: Canary) -> Iterator[Attempt]:
    links = {
        "link": canary.outside, "file-link": canary.secret, "target-link": canary.target,
        "dangling": canary.outside / "new", "loop": workspace / "loop", "chain": workspace / "link",
        "up": Path("../outside"), "private-link": workspace / ".holaboss", "git-link": workspace / ".git",
        "proc-link": Path("/proc/self/root"), "device": Path("/dev/zero"), "deep/link": Path("../../outside"),
        "data/link": canary.outside, "data/absolute": canary.secret,
    }  # fmt: skip
    for name, target in links.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).symlink_to(target)
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "config").write_text("[core]\n")
    os.mkfifo(workspace / "pipe")
    mounts = (
        Mount(mount_path="/mnt/data", source=str(workspace / "data"), access="read_write"),
        Mount(mount_path="/mnt/link", source=str(workspace / "link"), access="read_write"),
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(workspace / "unix-socket"))
        yield attempt_with(local_sandbox(workspace, *mounts, containment=Containment()))


@pytest.mark.parametrize("tool", ARGUMENTS)
@pytest.mark.parametrize("path", PATHS, ids=ascii)
async def test_no_path_leads_a_tool_out(canary: Canary, astray: Attempt, tool: str, path: str) -> None:
    filled = path % canary.places if "%(" in path else path
    outcome = await astray(tool, path=filled, **ARGUMENTS[tool])
    assert outcome.error or path in HARMLESS, outcome.text
    canary.check(outcome.text, str(outcome.details))


@pytest.mark.parametrize("tool", ARGUMENTS)
@pytest.mark.parametrize("path", PRIVATE, ids=ascii)
async def test_no_spelling_opens_what_is_ours(
    canary: Canary, astray: Attempt, workspace: Path, tool: str, path: str
) -> None:
    outcome = await astray(tool, path=path, **ARGUMENTS[tool])
    assert outcome.error
    assert "private" not in outcome.text
    assert (workspace / ".holaboss" / "workspace_id").read_text() == "private"
    assert not any("boa" in name.lower() for name in names(workspace))
    canary.check(outcome.text)


@pytest.mark.parametrize("tool", ["write", "edit"])
@pytest.mark.parametrize("path", GIT, ids=ascii)
async def test_no_spelling_writes_what_git_runs(
    canary: Canary, astray: Attempt, workspace: Path, tool: str, path: str
) -> None:
    assert (
        await astray(
            tool, path=path, **(ARGUMENTS[tool] | {"old_text": "core"} if tool == "edit" else ARGUMENTS[tool])
        )
    ).error
    assert (workspace / ".git" / "config").read_text() == "[core]\n"
    assert list((workspace / ".git" / "hooks").iterdir()) == []


@pytest.mark.parametrize("tool", ["write", "edit"])
async def test_a_hard_link_to_outside_is_cut_not_followed(
    canary: Canary, astray: Attempt, workspace: Path, tool: str
) -> None:
    os.link(canary.target, workspace / "hard")
    await astray("read", path="hard")
    outcome = await astray(tool, path="hard", **ARGUMENTS[tool])
    assert not outcome.error, outcome.text
    assert (workspace / "hard").read_text() == "overwritten\n"
    canary.check()


async def test_names_that_only_look_alike_are_names(astray: Attempt, workspace: Path, canary: Canary) -> None:
    composed, apart = unicodedata.normalize("NFC", "é.txt"), unicodedata.normalize("NFD", "é.txt")
    for name in (
        composed,
        apart,
        "\u202etxt.exe",
        "．．",
        "a\u2215b",
        "..．/x",
        "…",
        "-rf",
        "a b",
        "$(touch x)",
    ):
        assert not (await astray("write", path=name, content=name)).error, name
        assert (workspace / name).read_text() == name
    canary.check()


EXCHANGE = 2


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@contextmanager
def swapping(folder: Path, name: str, other: str) -> Iterator[None]:
    """What is at `name` and at `other` change places, over and over, each time in one step."""
    stop = threading.Event()
    swaps = 0
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    one, two = os.fsencode(folder / name), os.fsencode(folder / other)

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            swaps += exchange(-100, one, -100, two, EXCHANGE) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert swaps


ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs renameat2")
ROUNDS = {"read": 300, "write": 300, "edit": 300, "ls": 1500, "find": 8, "grep": 8}


@ON_LINUX
@pytest.mark.parametrize("tool", ARGUMENTS)
@pytest.mark.parametrize("where", ["folder", "file", "above"])
async def test_a_swap_meanwhile_leads_nowhere(canary: Canary, workspace: Path, tool: str, where: str) -> None:
    """A folder, a file or a folder above it becomes a link to the canary and back while the tools run."""
    real = workspace / "real"
    (real / "outside").mkdir(parents=True)
    for name in ("target", "secret"):
        (real / name).write_text("untouched\n")
        (real / "outside" / name).write_text("untouched\n")
    at, link, path = {
        "folder": ("real", canary.outside, "real/target"),
        "file": ("file", canary.target, "file"),
        "above": ("real", canary.outside.parent, "real/outside/target"),
    }[where]
    (workspace / "file").write_text("untouched\n")
    (workspace / "link").symlink_to(link)
    attempt = attempt_with(local_sandbox(workspace, containment=Containment()))
    path = path if tool in ("read", "write", "edit") or where == "file" else str(Path(path).parent)
    said: list[str] = []
    with swapping(workspace, at, "link"):
        for _ in range(ROUNDS[tool]):
            said.append((await attempt(tool, path=path, **ARGUMENTS[tool])).text)
    canary.check(*said)


@ON_LINUX
@pytest.mark.parametrize("what", ["repository", "hooks"])
async def test_a_swap_while_a_command_is_set_up_shows_nothing(
    canary: Canary, workspace: Path, hand: Callable[..., Attempt], what: str
) -> None:
    """Another command swaps what is about to be mounted for a link: to a folder with a `config` worth reading."""
    nested = workspace / "nested"
    (nested / ".git" / "hooks").mkdir(parents=True)
    (nested / ".git" / "config").write_text("[core]\n")
    if what == "repository":
        folder, name = nested, ".git"
        (nested / "link").symlink_to(canary.home / ".aws")
    else:
        folder, name = nested / ".git", "hooks"
        (nested / ".git" / "link").symlink_to(canary.outside)
    attempt = hand(network="off")
    said: list[str] = []
    with swapping(folder, name, "link"):
        for _ in range(40):
            command = (
                "cat nested/.git/config nested/.git/hooks/secret nested/link/config nested/.git/link/secret"
            )
            said.append((await attempt("bash", command=command)).text)
    canary.check(*said)
