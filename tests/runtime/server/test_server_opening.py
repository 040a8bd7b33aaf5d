"""Between listening and being loaded: health answers, everything else waits, and a failure ends the server.

The servers here are real ones whose loading step is held open, broken, or looked at.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest

from holaboss_client.workspaces import CreateWorkspace
from tests.support.processes import PATIENCE_S
from tests.support.server import RuntimeProcess

HELD = """
import sys
from holaboss_runtime import server
load = server._load
def held():
    open(sys.argv[1]).read()
    return load()
server._load = held
sys.exit(server.serve())
"""

PATIENT = f"server.BACKSTOP_S = {PATIENCE_S}  # loading counts, and takes a busy machine its time\n"
STOPPED_EARLY = HELD.replace(
    "sys.exit(", f"server._compose = None  # to call it would be an error\n{PATIENT}sys.exit("
)

BROKEN = """
import sys
from holaboss_runtime import server
def broken():
    raise OSError("the disk has gone")
server._load = broken
sys.exit(server.serve())
"""

LOOKED_AT = """
import sys
from pathlib import Path
from holaboss_runtime import server
load = server._load
def looked_at():
    Path(sys.argv[1]).write_text("\\n".join(sys.modules))
    return load()
server._load = looked_at
sys.exit(server.serve())
"""

pytestmark = pytest.mark.anyio

ROOMS_TO_LISTEN = {
    "api", "config", "errors", "file_locks", "harness", "launch", "logs", "processes", "redaction", "root_lock",
    "server", "store",
}  # fmt: skip
MODULES_TO_LISTEN = 40
"""Of ours. All of them together are more than six times as many."""


def program(code: str, *arguments: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *map(str, arguments))


def test_little_of_the_program_is_imported_when_it_listens(tmp_path: Path) -> None:
    listing = tmp_path / "modules"
    with RuntimeProcess(tmp_path / "root", command=program(LOOKED_AT, listing)):
        pass
    imported = listing.read_text().splitlines()
    ours = [name for name in imported if name.startswith("holaboss_runtime.")]
    assert {name.split(".")[1] for name in ours} <= ROOMS_TO_LISTEN
    assert [name for name in ours if name.startswith("holaboss_runtime.harness.")] == [
        "holaboss_runtime.harness.registry"
    ]
    assert len(ours) <= MODULES_TO_LISTEN, ours


async def test_health_answers_and_everything_else_waits_until_it_is_loaded(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    finished: list[str] = []

    async with RuntimeProcess(tmp_path / "root", command=program(HELD, gate)) as runtime:

        async def create_a_workspace() -> None:
            async with runtime.client() as client:
                made = await client.create_workspace(CreateWorkspace(name="early"))
            finished.append(made.name)

        async with (
            anyio.create_task_group() as group,
            httpx.AsyncClient(base_url=runtime.url, timeout=PATIENCE_S) as stranger,
        ):
            group.start_soon(create_a_workspace)
            for _ in range(3):
                assert (await stranger.get("/healthz")).json() == {"ok": True}
            assert (await stranger.get("/api/v1/workspaces")).status_code == 401
            assert finished == []
            await anyio.Path(gate).write_text("go on")
        assert finished == ["early"]


async def test_a_server_that_is_told_to_stop_before_it_is_loaded_comes_down_in_order(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    runtime = RuntimeProcess(tmp_path / "root", command=program(STOPPED_EARLY, gate))
    async with runtime, httpx.AsyncClient(base_url=runtime.url, timeout=PATIENCE_S) as stranger:
        os.kill(runtime.pid, signal.SIGTERM)
        assert (await stranger.get("/healthz")).status_code == 200, "it waits for what it is loading"
        await anyio.Path(gate).write_text("go on")
        assert await anyio.to_thread.run_sync(runtime.stop) == 0
    assert not (runtime.root / "state" / "server.json").exists()
    assert "error" not in runtime.log


def test_what_cannot_be_loaded_ends_the_server_and_frees_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    server = subprocess.run(
        program(BROKEN),
        input='{"token": "a-token-for-this-test"}\n',
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=os.environ | {"HB_SANDBOX_ROOT": str(root), "HOLABOSS_EMBEDDED_RUNTIME": "1"},
    )
    assert server.returncode == 2
    assert len(server.stdout.splitlines()) == 1, "nothing but the handshake goes to stdout"
    assert "the disk has gone" in server.stderr
    with RuntimeProcess(root) as next_one:
        assert next_one.ready.pid
