"""What a run may do at most, kept by the tools together: read-only, no network, mounts beside the workspace, bounds."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.output import MAX_OUTPUT_BYTES
from holaboss_runtime.permissions.model import ContainmentDemand, PermissionPolicy
from tests.runtime.escape import cases, conftest, test_escape_protected, test_escape_tools
from tests.runtime.escape.conftest import Attempt, Canary, attempt_with
from tests.runtime.harness.conftest import local_sandbox
from tests.support.processes import descendants

pytestmark = pytest.mark.anyio

WRITES = [
    "echo x > a.txt", "echo x >> a.txt", "touch new", "mkdir new", "rm a.txt", "mv a.txt b.txt", "ln -s / l",
    "ln a.txt hard", "truncate -s 0 a.txt", "chmod 777 a.txt", "git init -q", "sed -i s/one/two/ a.txt",
    "dd if=/dev/zero of=a.txt count=1 status=none", "python3 -c \"open('a.txt','w')\"", "echo x > /proc/self/cwd/a.txt",
    "cd /tmp && echo x > $OLDPWD/a.txt", "exec 3<>a.txt; echo x >&3", "mount -o remount,rw . ; echo x > a.txt",
    "echo x > .holaboss/new", "tar cf a.txt /etc/hosts", "find . -delete", "sort -o a.txt /etc/hosts",
]  # fmt: skip


def state_of(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {
        path: (path.read_bytes() if path.is_file() else b"", path.stat().st_mode)
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("command", WRITES)
async def test_a_workspace_that_can_only_be_read_stays_as_it_is(
    canary: Canary, hand: Callable[..., Attempt], workspace: Path, command: str
) -> None:
    attempt = hand(Mount(mount_path="/workspace", source=str(workspace)), network="off")
    before = state_of(workspace)
    outcome = await attempt("bash", command=command)
    assert outcome.error
    after = state_of(workspace)
    assert after == before
    for tool in ("write", "edit"):
        assert (await attempt(tool, path="a.txt", **test_escape_tools.ARGUMENTS[tool])).error
    assert (await attempt("bash", command="cat a.txt")).text == "one"
    canary.check(outcome.text)


@pytest.mark.parametrize("access", ["read_only", "read_write"])
async def test_a_command_sees_nothing_that_is_mounted_beside_the_workspace(
    canary: Canary, hand: Callable[..., Attempt], access: str
) -> None:
    """A vault, a folder of another agent: the file tools may be given it, the shell is not."""
    mount = Mount.model_validate(
        {"mount_path": "/vaults/one", "source": str(canary.outside), "access": access}
    )
    attempt = hand(mount, network="off")
    assert canary.token in (await attempt("read", path="/vaults/one/secret")).text
    said: list[str] = []
    for command in ("cat /vaults/one/secret", f"cat {canary.secret}", "ls /vaults", f"echo x > {canary.target}",
                    "echo x > /vaults/one/new"):  # fmt: skip
        outcome = await attempt("bash", command=command)
        assert outcome.error
        said.append(outcome.text)
    canary.check(*said)


@pytest.mark.parametrize(
    ("demand", "runs"),
    [
        ({}, True),
        ({"required": True}, False),
        ({"network": "off"}, False),
        ({"network": "listed", "hosts": ["example.org"]}, False),
        ({"required": True, "network": "off"}, False),
    ],
)
async def test_what_is_demanded_and_cannot_be_had_runs_nothing(
    canary: Canary, workspace: Path, demand: dict[str, object], runs: bool
) -> None:
    permissions = PermissionPolicy(containment=ContainmentDemand.model_validate(demand))
    attempt = attempt_with(local_sandbox(workspace, containment=Containment(), permissions=permissions))
    for background in (False, True):
        outcome = await attempt("bash", command="touch ran", background=background and not runs)
        assert (workspace / "ran").exists() == runs
        assert outcome.error != runs
        assert outcome.containment == ("none" if runs else None)
        assert ("this machine can" in outcome.text) != runs
    canary.check(outcome.text)


async def test_a_flood_is_bounded_and_ended(canary: Canary, hand: Callable[..., Attempt]) -> None:
    attempt = hand(network="off")
    for command in ("yes", "cat /dev/zero", "yes >&2", "while :; do printf '\\033[31mx'; done"):
        outcome = await attempt("bash", command=command, timeout=0.5)
        assert outcome.error
        assert "stopped after 0.5 seconds" in outcome.text
        assert len(outcome.text.encode()) < MAX_OUTPUT_BYTES + 500
    assert not [process for process in descendants(os.getpid()) if "sleep" not in process.command]
    canary.check(outcome.text)


async def test_a_scratch_folder_cannot_fill_the_memory(hand: Callable[..., Attempt]) -> None:
    said = (
        await hand(network="off")("bash", command="df --output=size -B1G /tmp ~ | tail -n +2 | tr -d ' \\n'")
    ).text
    assert said == "22"


async def test_a_lock_of_a_command_that_was_killed_is_free(hand: Callable[..., Attempt]) -> None:
    attempt = hand(network="off")
    held = await attempt("bash", command="exec 9>lock; flock 9; (sleep 1000 &); sleep 1000", timeout=0.5)
    assert held.error
    assert not (await attempt("bash", command="flock -n lock true")).error


async def test_what_is_in_tmp_ends_with_its_command(hand: Callable[..., Attempt], canary: Canary) -> None:
    attempt = hand(network="off")
    await attempt("bash", command=f"echo {canary.token} > /tmp/left; echo {canary.token} > ~/left")
    outcome = await attempt("bash", command="cat /tmp/left ~/left")
    assert outcome.error
    canary.check(outcome.text)


LOOK = """
import ctypes
kernel = ctypes.CDLL(None)
text = ctypes.create_string_buffer(99)
kernel.syscall(250, 11, kernel.syscall(249, b"user", b"holaboss-test", None, 0), text, 99)
print("found", text.value.decode(), flush=True)
"""
INHERITING = """
import asyncio, ctypes, os, sys
from pathlib import Path
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.containment.view import Network, View

kernel = ctypes.CDLL(None, use_errno=True)
folder, secret, look = sys.argv[1:]
if kernel.syscall(248, b"user", b"holaboss-test", secret.encode(), len(secret), -3) < 0:
    sys.exit(77)

async def main():
    async with (await probe()).hold(View(Path(folder)), ["python3", "-c", look], os.environ, Network()) as held:
        process = await asyncio.create_subprocess_exec(
            *held.arguments, env=held.environment, cwd=held.cwd, pass_fds=held.inherited
        )
        held.started()
        await process.wait()

asyncio.run(main())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the calls are those of x86-64")
async def test_a_command_does_not_inherit_keys_of_the_kernel(
    canary: Canary, contained: Containment, workspace: Path
) -> None:
    """In a process of its own: the keyring it puts a key into must not be that of these tests."""
    arguments = [sys.executable, "-c", INHERITING, str(workspace), canary.token, LOOK]
    process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    if process.returncode == 77:
        pytest.skip("the kernel keeps no keys here")
    assert said.decode().strip() == "found"
    canary.check(said.decode())


def test_there_are_enough_of_them() -> None:
    commands = len(cases.COMMANDS)
    paths = len(test_escape_tools.PATHS) + len(test_escape_tools.PRIVATE) + len(test_escape_tools.GIT)
    protected = len(test_escape_protected.PROTECTED) * len(test_escape_protected.TRICKS)
    assert commands >= 110
    assert commands + paths + len(WRITES) >= 190
    assert protected >= 150
    assert {case.group for case in cases.COMMANDS} >= {
        "path", "symlink", "hard link", "option", "shell", "environment", "proc", "namespace", "process", "socket",
        "shared", "device", "privilege",
    }  # fmt: skip
    assert conftest.ESCAPED
