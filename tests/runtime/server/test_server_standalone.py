"""A server on its own: the environment contract of a deployment."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holaboss_client import PRODUCT_VERSION
from holaboss_client.client import RuntimeClient
from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.__main__ import main
from tests.runtime.server.conftest import LAUNCHER, Standalones
from tests.support.exposure import carries
from tests.support.ports import free_port
from tests.support.processes import PATIENCE_S, descendants, is_running
from tests.support.scripted_provider import ScriptedProvider, say

TOKEN = "token-of-this-deployment"


@pytest.mark.anyio
async def test_the_launch_command_of_the_deployment_guide(standalones: Standalones, tmp_path: Path) -> None:
    """Through a link of another name, with its environment verbatim, and its sample of a provider."""
    command = tmp_path / "bin" / "holaboss-runtime"
    command.parent.mkdir()
    command.symlink_to(LAUNCHER)
    port, database = str(free_port()), standalones.root / "state" / "elsewhere" / "runtime.db"
    (standalones.root / "state").mkdir(parents=True)
    with ScriptedProvider(key="sk-literal-key-0123") as provider:
        provider.enqueue(say("hello from the model"))
        document = {
            "runtime": {"mode": "oss", "default_provider": "fake", "default_model": "fake/m-1"},
            "providers": {
                "fake": {
                    "kind": "openai_compatible",
                    "base_url": f"{provider.url}/v1",
                    "api_key": "sk-literal-key-0123",
                }
            },
            "models": {"fake/m-1": {"provider_id": "fake", "model_id": "m-1"}},
        }
        (standalones.root / "state" / "runtime-config.json").write_text(json.dumps(document))
        server = standalones.start(
            [str(command)],
            SANDBOX_AGENT_BIND_HOST="127.0.0.1",
            SANDBOX_AGENT_BIND_PORT=port,
            SANDBOX_AGENT_HARNESS="pi",
            HOLABOSS_RUNTIME_DB_PATH=str(database),
            PROACTIVE_ENABLE_REMOTE_BRIDGE="1",
            PROACTIVE_BRIDGE_BASE_URL="https://bridge.invalid",
            HOLABOSS_RUNTIME_TOKEN=TOKEN,
            HOLABOSS_PYTHON=sys.executable,
        )
        assert server.ready.url == f"http://127.0.0.1:{port}"
        assert server.ask("GET", "/healthz") == (200, {"ok": True})
        async with RuntimeClient(server.ready.url, TOKEN) as client:
            workspace = await client.create_workspace(CreateWorkspace(name="bench", harness="pi"))
            queued = await client.queue(QueueRequest(workspace_id=workspace.id, text="hi"))
            stream = client.output_stream(
                workspace.id,
                queued.session_id,
                input_id=queued.input_id,
                after_event_id=0,
                stop_on_terminal=True,
            )
            events = [event async for event in stream if event is not None]
            history = await client.history(workspace.id, queued.session_id)
    assert events[-1].event_type == "run_completed"
    assert [message.text for message in history.messages] == ["hi", "hello from the model"]
    assert database.is_file()
    assert "bridge is not part of this version" in server.log
    for child in descendants(server.process.pid):
        assert carries(child.pid, TOKEN) == []
    assert server.stop() == 0
    assert "sk-literal-key-0123" not in server.log


def test_its_token_is_made_once_and_kept_private(standalones: Standalones) -> None:
    first = standalones.start()
    path = standalones.root / "state" / "runtime-token"
    token = path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) >= 43
    assert first.ask("GET", "/api/v1/version")[0] == 401
    assert first.ask("GET", "/api/v1/version", {"authorization": f"Bearer {token}"})[0] == 200
    assert str(path) in first.log
    assert token not in first.log
    assert first.stop() == 0
    second = standalones.start()
    assert path.read_text().strip() == token
    assert second.ask("GET", "/api/v1/version", {"authorization": f"Bearer {token}"})[0] == 200


def test_it_ignores_its_stdin_and_stops_on_a_signal(standalones: Standalones) -> None:
    server = standalones.start(HOLABOSS_RUNTIME_TOKEN=TOKEN)
    # It is loaded then, which is not what its stop is about; its stdin has been at its end since the start.
    assert server.ask("GET", "/api/v1/version", {"authorization": f"Bearer {TOKEN}"})[0] == 200
    assert is_running(server.process.pid)
    assert server.stop(signal.SIGINT) == 0


def test_a_second_server_refuses(standalones: Standalones) -> None:
    first = standalones.start()
    failure = standalones.start().failure
    assert failure.code == "root_locked"
    assert f"process {first.process.pid}, {first.ready.url}" in failure.message
    assert first.ask("GET", "/healthz")[0] == 200


def test_a_bind_to_every_address_answers_only_the_names_that_are_listed(standalones: Standalones) -> None:
    server = standalones.start(
        SANDBOX_AGENT_BIND_HOST="0.0.0.0", HOLABOSS_ALLOWED_HOSTS="runtime.example, Other.example:8443"
    )
    port = server.ready.url.rpartition(":")[2]
    answers = {
        host: server.ask("GET", "/healthz", {"Host": host})[0]
        for host in ("runtime.example", f"runtime.example:{port}", "other.example:8443", f"127.0.0.1:{port}",
                     "other.example", f"0.0.0.0:{port}", "evil.example")
    }  # fmt: skip
    assert list(answers.values()) == [200, 200, 200, 200, 421, 421, 421]
    assert server.ready.url == f"http://127.0.0.1:{port}"  # an address that can be called, and is answered
    note = json.loads((standalones.root / "state" / "server.json").read_text())
    assert note["url"] == server.ready.url
    poke = {"Authorization": f"Bearer {note['poke_token']}"}
    assert server.ask("POST", "/api/v1/lifecycle/poke", poke)[0] == 200
    assert "and all other addresses" in server.log


@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({"SANDBOX_AGENT_HARNESS": "other"}, "settings_invalid", "SANDBOX_AGENT_HARNESS"),
        ({"SANDBOX_AGENT_BIND_PORT": "eighty"}, "settings_invalid", "SANDBOX_AGENT_BIND_PORT"),
        ({"SANDBOX_AGENT_BIND_PORT": "65536"}, "settings_invalid", "65535"),
        ({"SANDBOX_AGENT_BIND_HOST": "not an address"}, "settings_invalid", "not an address"),
        ({"SANDBOX_AGENT_BIND_HOST": "192.0.2.1"}, "settings_invalid", "192.0.2.1"),
        ({"SANDBOX_AGENT_BIND_PORT": "9" * 5000}, "settings_invalid", "65535"),
        ({"SANDBOX_AGENT_BIND_PORT": "٨٠"}, "settings_invalid", "65535"),
        (
            {"HOLABOSS_RUNTIME_TOKEN": "two words of some length"},
            "settings_invalid",
            "HOLABOSS_RUNTIME_TOKEN",
        ),
        ({"HOLABOSS_RUNTIME_TOKEN": "short"}, "settings_invalid", "at least 16"),
        ({"HB_SANDBOX_ROOT": "~nobody-of-this-name/x"}, "settings_invalid", "HB_SANDBOX_ROOT"),
        (
            {"HOLABOSS_RUNTIME_DB_PATH": "~nobody-of-this-name/x"},
            "settings_invalid",
            "HOLABOSS_RUNTIME_DB_PATH",
        ),
        ({"HB_SANDBOX_ROOT": "/dev/null/holaboss"}, "root_not_writable", "HB_SANDBOX_ROOT"),
        ({"HOLABOSS_RUNTIME_DB_PATH": "/dev/null/runtime.db"}, "root_not_writable", "HB_SANDBOX_ROOT"),
    ],
)
def test_what_it_cannot_start_with_is_said_plainly(
    standalones: Standalones, environment: dict[str, str], code: str, words: str
) -> None:
    server = standalones.start(**environment)
    assert server.failure.code == code
    assert words in server.failure.message
    assert words in server.log


def test_a_port_that_is_taken(standalones: Standalones) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        failure = standalones.start(SANDBOX_AGENT_BIND_PORT=port).failure
    assert failure.code == "port_in_use"
    assert port in failure.message


@pytest.mark.parametrize(
    ("place", "words"),
    [("", "is not a folder"), ("state", "is not a folder"), ("workspace", "is not a folder")],
)
def test_a_root_with_files_where_folders_belong(standalones: Standalones, place: str, words: str) -> None:
    taken = standalones.root / place
    taken.parent.mkdir(parents=True, exist_ok=True)
    taken.write_text("somebody's file")
    failure = standalones.start().failure
    assert failure.code == "root_not_writable"
    assert f"{taken} {words}" in failure.message
    assert taken.read_text() == "somebody's file"


@pytest.mark.parametrize("name", ["server.json", "server.part", "server.lock", "runtime-token", "runtime.db"])
def test_a_folder_where_a_file_of_the_state_belongs(standalones: Standalones, name: str) -> None:
    taken = standalones.root / "state" / name
    taken.mkdir(parents=True)
    server = standalones.start()
    assert server.failure.code == "root_not_writable"
    assert "state" in server.failure.message
    assert '"error": "Traceback' not in server.log


def test_a_token_file_that_others_could_read_is_made_private(standalones: Standalones) -> None:
    path = standalones.root / "state" / "runtime-token"
    path.parent.mkdir(parents=True)
    path.write_text("token-of-the-administrator\n")
    path.chmod(0o644)
    server = standalones.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    bearer = {"authorization": "Bearer token-of-the-administrator"}
    assert server.ask("GET", "/api/v1/version", bearer)[0] == 200


def test_a_token_file_that_holds_none_is_not_replaced(standalones: Standalones) -> None:
    path = standalones.root / "state" / "runtime-token"
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert standalones.start().failure.code == "settings_invalid"
    assert path.read_text() == ""


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"holaboss-runtime {PRODUCT_VERSION}\n"
    assert main(["--help"]) == 0
    assert "serve" in capsys.readouterr().out
    assert main(["nonsense"]) == main(["serve", "extra"]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_launcher_that_finds_no_program_says_so(tmp_path: Path) -> None:
    lonely = tmp_path / "bin" / "sandbox-runtime"
    lonely.parent.mkdir()
    lonely.write_bytes(LAUNCHER.read_bytes())
    ended = subprocess.run(["sh", lonely], capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert "no .venv" in ended.stderr
    environment = {"HOLABOSS_PYTHON": sys.executable, "SANDBOX_AGENT_HARNESS": "x", "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(
        ["sh", LAUNCHER], capture_output=True, text=True, timeout=PATIENCE_S, env=environment
    )
    assert json.loads(ended.stdout)["code"] == "settings_invalid"
