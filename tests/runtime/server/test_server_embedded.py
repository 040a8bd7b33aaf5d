"""The life of an embedded server: the handshake, one per root, and coming down whoever says so."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.store.database import APPLICATION_ID
from tests.support.exposure import carries
from tests.support.processes import PATIENCE_S, is_running, wait_until_gone
from tests.support.scripted_provider import ScriptedProvider, pause_after, say
from tests.support.server import RuntimeProcess, RuntimeStartError

KEY = "sk-marker-0123456789abcdef"


async def until_it_is_loaded(runtime: RuntimeProcess) -> None:
    async with runtime.client() as client:
        await client.version()


def failure_of(root: Path, **environment: str) -> tuple[str, str]:
    with pytest.raises(RuntimeStartError) as raised:
        RuntimeProcess(root, environment=environment).start()
    assert raised.value.failure is not None
    return raised.value.failure.code, raised.value.failure.message


def test_the_root_is_private_and_the_note_says_who_is_there(tmp_path: Path) -> None:
    with RuntimeProcess(tmp_path / "root") as runtime:
        anyio.run(until_it_is_loaded, runtime)  # it writes until then
        state = runtime.root / "state"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (state, *state.iterdir())}
        assert modes["state"] == 0o700
        assert modes["server.json"] == modes["server.lock"] == modes["runtime.db"] == 0o600
        assert "runtime-token" not in modes
        note = json.loads((state / "server.json").read_text())
        assert (note["pid"], note["url"]) == (runtime.pid, runtime.url)
        assert runtime.token not in json.dumps(note)
    assert not (state / "server.json").exists()


def test_a_second_server_on_the_root_refuses_and_names_the_first(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with RuntimeProcess(root) as first:
        code, message = failure_of(root)
        assert code == "root_locked"
        assert str(first.pid) in message
        assert first.url in message
        assert is_running(first.pid)


def test_a_killed_server_leaves_the_root_free(tmp_path: Path) -> None:
    first = RuntimeProcess(tmp_path / "root")
    first.start()
    first.kill()
    with RuntimeProcess(tmp_path / "root") as second:
        assert second.ready.instance_id != first.ready.instance_id


async def ask_for_an_answer(client: RuntimeClient, provider: ScriptedProvider) -> None:
    await client.put_provider("mine", PutProvider(base_url=provider.url, models=["scripted"]))
    workspace = await client.create_workspace(CreateWorkspace(name="w"))
    await client.queue(QueueRequest(workspace_id=workspace.id, text="hello", model="mine/scripted"))


@pytest.mark.parametrize("order", [signal.SIGTERM, None])
def test_it_comes_down_in_order_while_everything_is_busy(
    tmp_path: Path, order: signal.Signals | None
) -> None:
    """With a stream open, the demo model running and a run in the middle of its answer."""
    runtime = RuntimeProcess(tmp_path / "root", keys={"mine": KEY})
    held = pause_after(2, say("one two three four five six"))

    async def busy() -> None:
        async with runtime.client() as client:
            await client.put_provider("demo", PutProvider())
            assert (await client.test_provider("demo")).outcome == "ok"
            changes = client.changes()
            assert await anext(changes) is None
            await ask_for_an_answer(client, provider)
            assert held.gate is not None
            await held.gate.wait_async()
            family = [child.pid for child in runtime.descendants()]
            assert len(family) >= 2
            no_secret_in_the_open(runtime)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.to_thread.run_sync, stop)
                kinds = [change.kind async for change in changes if change is not None]
            assert kinds[-1] == "shutdown"
            assert not wait_until_gone([runtime.pid, *family])

    def stop() -> None:
        if order is None:
            assert runtime.stop() == 0
        else:
            assert runtime._end(lambda: os.kill(runtime.pid, order), PATIENCE_S) == 0

    with ScriptedProvider(key=KEY) as provider:
        provider.enqueue(held)
        runtime.start()
        anyio.run(busy)
    assert KEY not in runtime.log
    assert runtime.token not in runtime.log


def no_secret_in_the_open(runtime: RuntimeProcess) -> None:
    for pid in (runtime.pid, *(child.pid for child in runtime.descendants())):
        assert carries(pid, KEY) == []
        assert carries(pid, runtime.token) == []


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{}\n", b"nonsense\n", b'{"token": ""}\n', b'{"token": "a b"}\n', b'{"token": 1}\n']
)
def test_a_handshake_that_is_none(tmp_path: Path, line: bytes) -> None:
    environment = dict(os.environ) | {
        "HOLABOSS_EMBEDDED_RUNTIME": "1",
        "HB_SANDBOX_ROOT": str(tmp_path / "root"),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "holaboss_runtime", "serve"],
        input=line,
        capture_output=True,
        env=environment,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 2
    (said,) = ended.stdout.splitlines()
    assert json.loads(said)["code"] == "handshake_invalid"
    assert not (tmp_path / "root" / "state" / "runtime.db").exists()


def database(path: Path, *statements: str) -> bytes:
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        (
            (f"PRAGMA application_id = {APPLICATION_ID}", "PRAGMA user_version = 9999", "CREATE TABLE t (x)"),
            "database_newer",
        ),
        (("CREATE TABLE somebody_elses (x)",), "database_foreign"),
        (("PRAGMA journal_mode = WAL", "CREATE TABLE somebody_elses (x)"), "database_foreign"),
    ],
)
def test_a_database_that_is_not_ours_to_use_is_not_touched(
    tmp_path: Path, statements: tuple[str, ...], code: str
) -> None:
    path = tmp_path / "root" / "state" / "runtime.db"
    before = database(path, *statements)
    mode = path.stat().st_mode
    assert failure_of(tmp_path / "root")[0] == code
    assert path.read_bytes() == before
    assert path.stat().st_mode == mode
    assert {entry.name for entry in path.parent.iterdir()} == {"runtime.db", "server.lock"}


def test_a_newer_database_with_a_log_is_not_touched(tmp_path: Path) -> None:
    """As a newer program leaves it that was killed: the log is neither lost nor moved into the file."""
    path = tmp_path / "root" / "state" / "runtime.db"
    path.parent.mkdir(parents=True)
    newer = sqlite3.connect(path)
    for statement in (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE t (x)",
    ):
        newer.execute(statement)
    newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    newer.execute("PRAGMA user_version = 9999")
    newer.execute("INSERT INTO t VALUES (1)")
    newer.commit()
    parts = [path, path.with_name("runtime.db-wal")]
    before = [part.read_bytes() for part in parts]
    newer.close()
    for part, content in zip(parts, before, strict=True):
        part.write_bytes(content)
    assert failure_of(tmp_path / "root")[0] == "database_newer"
    assert [part.read_bytes() for part in parts] == before


def test_a_damaged_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "root" / "state" / "runtime.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database " * 100)
    code, message = failure_of(tmp_path / "root")
    assert code == "database_damaged"
    assert str(path) in message
    assert path.read_bytes() == b"this is not a database " * 100


def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "root" / "state" / "runtime.db").mkdir(parents=True)
    assert failure_of(tmp_path / "root")[0] == "root_not_writable"


def test_the_path_to_health_imports_nothing_it_does_not_need() -> None:
    code = (
        "import sys, holaboss_runtime.server, holaboss_runtime.api.app, holaboss_runtime.harness.native\n"
        "heavy = {'openai', 'anthropic', 'pydantic_ai', 'mcp', 'httpx', 'httpx2', 'yaml', 'keyring', 'truststore'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert ended.stdout.strip() == "[]"


def test_a_host_that_was_stopped_does_not_outlive_a_killed_server(tmp_path: Path) -> None:
    runtime = RuntimeProcess(tmp_path / "root", keys={"mine": KEY})
    held = pause_after(2, say("one two three four five six"))

    async def until_it_answers() -> None:
        async with runtime.client() as client:
            await ask_for_an_answer(client, provider)
            assert held.gate is not None
            await held.gate.wait_async()

    with ScriptedProvider(key=KEY) as provider:
        provider.enqueue(held)
        runtime.start()
        anyio.run(until_it_answers)
        (host,) = runtime.descendants()
        os.kill(host.pid, signal.SIGSTOP)
        runtime.kill()
