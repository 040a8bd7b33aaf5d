"""How long anything of ours is still there after its owner went: asked to go, or killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holaboss_client.permissions import SetPermissions
from holaboss_client.sessions import QueueRequest
from tests.bench.figures import Figure, middle
from tests.bench.rig import MODEL, warm_rig
from tests.bench.startup import display
from tests.support.processes import descendants, wait_for_commands, wait_until_gone
from tests.support.scripted_provider import call

PROMISE_S = 5.0
SLEEPER = "sleep 1000"


def desktop(samples: int) -> list[Figure]:
    """The window with its runtime and a warm host: quit, and killed."""
    with display() as environment:
        quits = [_end_desktop(environment, signal.SIGTERM) for _ in range(samples)]
        kills = [_end_desktop(environment, signal.SIGKILL) for _ in range(samples)]
    return [
        Figure("desktop: quit → nothing of ours runs", middle(quits), "s", limit=PROMISE_S),
        Figure("desktop: kill -9 → nothing of ours runs", middle(kills), "s", limit=PROMISE_S),
    ]


async def server(samples: int) -> list[Figure]:
    """A runtime whose agent runs a command with a child in the background, killed."""
    kills = [await _kill_server() for _ in range(samples)]
    name = "runtime: kill -9 while a command runs → nothing of ours runs"
    return [Figure(name, middle(kills), "s", limit=PROMISE_S)]


def _end_desktop(environment: dict[str, str], how: signal.Signals) -> float:
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder:
        profile = str(Path(folder) / "profile")
        command = [sys.executable, "-m", "holaboss_app", "--demo", "--profile-dir", profile]
        with subprocess.Popen(command, env=environment) as process:
            wait_for_commands(process.pid, "harness-host")
            time.sleep(2)  # until the window has nothing left to load
            return _end(process, how)


async def _kill_server() -> float:
    async with warm_rig() as rig:
        rig.provider.respond_with(lambda _: call("bash", command=f"{SLEEPER} & {SLEEPER}"))
        await rig.client.set_permissions(rig.workspace_id, SetPermissions(profile="trusted"))
        session = await rig.new_session()
        await rig.client.queue(
            QueueRequest(workspace_id=rig.workspace_id, session_id=session, text="wait", model=MODEL)
        )
        wait_for_commands(rig.runtime.pid, SLEEPER, count=2)
        began = time.perf_counter()
        rig.runtime.kill()  # fails when something stays
        return time.perf_counter() - began


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> float:
    """Seconds until the process and all that was below it are gone. Raises when something stays."""
    family = [process.pid, *(child.pid for child in descendants(process.pid))]
    began = time.perf_counter()
    process.send_signal(how)
    process.wait()
    left = wait_until_gone(family)
    if left:
        raise RuntimeError(f"{len(left)} of {len(family)} processes stayed")
    return time.perf_counter() - began
