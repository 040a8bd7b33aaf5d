"""Terminals over the wire: a real server, its WebSocket, who may use it, and what happens when the server goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from holaboss_client import terminals as t
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError
from holaboss_client.workspaces import CreateWorkspace
from tests.support.processes import PATIENCE_S, wait_until_gone
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def runtime(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RuntimeProcess]:
    async with RuntimeProcess(tmp_path_factory.mktemp("terminals") / "root") as running:
        yield running


@pytest.fixture
async def client(runtime: RuntimeProcess) -> AsyncIterator[RuntimeClient]:
    async with runtime.client() as client:
        yield client


async def runtime_is_warm(client: RuntimeClient) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not (await client.status()).harness_ready:  # noqa: ASYNC110 — it is another process that gets ready
            await asyncio.sleep(0.02)


async def begin(client: RuntimeClient, command: str) -> t.Terminal:
    workspace = await client.create_workspace(CreateWorkspace(name="Terminals"))
    return await client.start_terminal(t.StartTerminal(workspace_id=workspace.id, command=command))


def watching(client: RuntimeClient, token: str, terminal_id: str, after: int = 0) -> Any:
    url = client.terminal_stream_url(terminal_id, after_sequence=after)
    return connect(
        url, additional_headers={"authorization": f"Bearer {token}"}, proxy=None, open_timeout=PATIENCE_S
    )


async def messages(socket: ClientConnection, until: str | None = None) -> list[dict[str, Any]]:
    """What comes until something was printed, or until the end."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        async for message in socket:
            found.append(json.loads(message))
            if until is not None and until in printed(found):
                break
    return found


def printed(found: list[dict[str, Any]]) -> str:
    events = [message["event"] for message in found if message["type"] == "event"]
    return "".join(event["payload"].get("data", "") for event in events)


async def test_two_watchers_see_the_same_and_one_comes_later(
    runtime: RuntimeProcess, client: RuntimeClient
) -> None:
    terminal = await begin(client, "bash --norc")
    async with watching(client, runtime.token, terminal.terminal_id) as first:
        await client.send_to_terminal(terminal.terminal_id, "echo o''ne\n")
        early = await messages(first, "one")
        async with watching(client, runtime.token, terminal.terminal_id) as second:
            await client.resize_terminal(terminal.terminal_id, 100, 30)
            await client.send_to_terminal(terminal.terminal_id, "stty size; exit 3\n")
            whole, rest = await messages(second), await messages(first)
    assert whole[0]["type"] == "connected"
    assert whole[0]["terminal"]["terminal_id"] == terminal.terminal_id
    assert whole[1:] == early[1:] + rest
    assert "30 100" in printed(rest)
    assert [message["event"]["sequence"] for message in whole[1:]] == list(range(1, len(whole)))
    assert whole[-1]["event"]["payload"] == {"exit_code": 3, "status": "exited"}
    assert second.close_code == 1000

    async with watching(client, runtime.token, terminal.terminal_id, after=len(whole) - 2) as late:
        assert [message["type"] for message in await messages(late)] == ["connected", "event"]
    page = await client.terminal_events(terminal.terminal_id, limit=2)
    assert [event.sequence for event in page.events] == [1, 2]
    assert page.terminal.exit_code == 3


async def test_a_watcher_that_goes_disturbs_nobody(runtime: RuntimeProcess, client: RuntimeClient) -> None:
    terminal = await begin(client, "cat")
    async with watching(client, runtime.token, terminal.terminal_id) as gone:
        await gone.recv()
        gone.transport.abort()
    async with watching(client, runtime.token, terminal.terminal_id) as talking:
        await talking.send("ignored")
        await talking.send(b"\xff\x00")
        await client.send_to_terminal(terminal.terminal_id, "hello\n")
        await messages(talking, "hello\r\nhello")
        await talking.send("x" * 100_000)
        with pytest.raises(ConnectionClosed, match="1009"):
            await messages(talking)
    closed = await client.close_terminal(terminal.terminal_id)
    assert closed.status == "closed"


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "unauthorized"),
        ({"authorization": "Bearer wrong"}, 401, "unauthorized"),
        ({"authorization": "Bearer {token}", "origin": "http://127.0.0.1"}, 403, "origin_not_allowed"),
        ({"authorization": "Bearer {token}", "origin": "null"}, 403, "origin_not_allowed"),
        ({"authorization": "Bearer {token}", "host": "evil.example"}, 421, "host_not_allowed"),
    ],
)
async def test_the_gate_holds_for_the_socket_too(
    runtime: RuntimeProcess, client: RuntimeClient, headers: dict[str, str], status: int, code: str
) -> None:
    terminal = await begin(client, "sleep 331")
    given = {name: value.format(token=runtime.token) for name, value in headers.items()}
    url = client.terminal_stream_url(terminal.terminal_id)
    host = {"host": given.pop("host", url.split("/")[2])}
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as raw:
        answer = await raw.get(url.replace("ws://", "http://"), headers=host | upgrade | given)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    with pytest.raises(InvalidStatus):
        await connect(url + "&token=" + runtime.token, proxy=None, open_timeout=PATIENCE_S)
    await client.close_terminal(terminal.terminal_id)


async def test_what_is_not_there_cannot_be_followed(runtime: RuntimeProcess, client: RuntimeClient) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await watching(client, runtime.token, "nothing")
    assert refused.value.response.status_code == 404
    assert json.loads(refused.value.response.body or b"")["code"] == "terminal_not_found"
    with pytest.raises(InvalidStatus) as refused:
        await watching(client, runtime.token, "nothing", after=-1)
    assert refused.value.response.status_code == 422
    for path in ("/healthz", "/api/v1/version", "/api/v1/nothing"):
        with pytest.raises(InvalidStatus) as refused:
            await connect(
                f"ws{runtime.url.removeprefix('http')}{path}",
                additional_headers={"authorization": f"Bearer {runtime.token}"},
                proxy=None,
                open_timeout=PATIENCE_S,
            )
        assert refused.value.response.status_code == 404
    assert await client.healthy()
    assert '"error"' not in runtime.log


async def test_a_plain_request_is_told_to_upgrade(runtime: RuntimeProcess, client: RuntimeClient) -> None:
    url = client.terminal_stream_url("any").replace("ws://", "http://")
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as raw:
        answer = await raw.get(url, headers={"authorization": f"Bearer {runtime.token}"})
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")
    assert answer.json()["code"] == "upgrade_required"


async def test_refusals_of_the_routes(client: RuntimeClient) -> None:
    workspace = await client.create_workspace(CreateWorkspace(name="Refusals"))

    async def refused(status: int, code: str, body: t.StartTerminal) -> None:
        with pytest.raises(ProblemError) as error:
            await client.start_terminal(body)
        assert (error.value.problem.status, error.value.problem.code) == (status, code)

    start = t.StartTerminal(workspace_id=workspace.id, command="sleep 332")
    for change in (
        {"cols": 19},
        {"cols": 401},
        {"rows": 4},
        {"rows": 201},
        {"command": ""},
        {"owner": "nobody"},
    ):
        await refused(422, "invalid_request", start.model_copy(update=change))
    await refused(404, "workspace_not_found", start.model_copy(update={"workspace_id": "nothing"}))
    await refused(400, "path_outside_workspace", start.model_copy(update={"cwd": "../.."}))
    terminals = [await client.start_terminal(start) for _ in range(8)]
    await refused(409, "too_many_terminals", start)
    listed = await client.terminals(workspace.id, status=["running"])
    assert listed.count == 8
    for terminal in terminals:
        await client.signal_terminal(terminal.terminal_id, "SIGKILL")
    with pytest.raises(ProblemError) as error:
        await client.signal_terminal(terminals[0].terminal_id, "SEGV")
    assert error.value.problem.code == "signal_unknown"
    with pytest.raises(ProblemError) as error:
        await client.terminal("nothing")
    assert error.value.problem.code == "terminal_not_found"


async def test_a_server_that_stops_tells_watchers_and_leaves_nothing(tmp_path: Path) -> None:
    runtime = RuntimeProcess(tmp_path / "root")
    await asyncio.to_thread(runtime.start)
    async with runtime.client() as client:
        terminal = await begin(client, "trap '' HUP TERM; echo ready; while :; do sleep 333; done")
        async with watching(client, runtime.token, terminal.terminal_id) as socket:
            await messages(socket, "ready")
            family = [process.pid for process in runtime.descendants()]
            stopped = asyncio.create_task(asyncio.to_thread(runtime.stop))
            with suppress(ConnectionClosed):
                await messages(socket)
            assert await stopped == 0
        assert socket.close_code in (1000, 1012)
    assert not wait_until_gone(family)
    assert '"error"' not in runtime.log
    async with RuntimeProcess(tmp_path / "root") as again, again.client() as client:
        assert (await client.terminal(terminal.terminal_id)).status == "interrupted"


@pytest.mark.parametrize("held", [True, False])
async def test_a_server_that_is_killed_leaves_nothing(tmp_path: Path, held: bool) -> None:
    (tmp_path / "empty").mkdir()  # without bwrap nothing can hold a command
    environment = {} if held else {"PATH": str(tmp_path / "empty")}
    runtime = RuntimeProcess(tmp_path / "root", environment=environment)
    await asyncio.to_thread(runtime.start)
    async with runtime.client() as client:
        await runtime_is_warm(client)
        terminal = await begin(
            client,
            "trap '' HUP; (/usr/bin/setsid /usr/bin/nohup /bin/sleep 334 >/dev/null 2>&1 &);"
            " echo ready; /bin/sleep 335",
        )
        async with watching(client, runtime.token, terminal.terminal_id) as socket:
            await messages(socket, "ready\r\n")
    await asyncio.to_thread(runtime.kill)  # fails when one of its descendants lives on
    async with RuntimeProcess(tmp_path / "root") as again, again.client() as client:
        left = await client.terminal(terminal.terminal_id)
        assert (left.status, left.exit_code) == ("interrupted", None)
        first, *printed = (await client.terminal_events(terminal.terminal_id)).events
        assert first.event_type == "started"
        assert {event.event_type for event in printed} == {"output"}
        assert "".join(event.payload["data"] for event in printed) == "ready\r\n"
