"""Servers at an address that answer wrongly, too much, to strangers only, or not at all."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest

from holaboss_runtime.harness.host.tools.base import ToolError
from tests.runtime.mcp.conftest import Kept, remote
from tests.support.http_server import HttpServer, Request, Wire

pytestmark = pytest.mark.anyio
TOOL = {"name": "work", "description": "Works.", "inputSchema": {"type": "object", "properties": {}}}
Call = Callable[[Request, Wire], Coroutine[Any, Any, None]]


def answer(request: Request, wire: Wire, result: dict[str, Any]) -> None:
    wire.send_json(200, {"jsonrpc": "2.0", "id": request.body["id"], "result": result})


def handler(call: Call) -> Call:
    """A server of the older revisions, whose answer to a call is `call`."""

    async def handle(request: Request, wire: Wire) -> None:
        method = (request.body or {}).get("method") if request.method == "POST" else None
        if method == "initialize":
            about = {"name": "far", "version": "1"}
            capabilities: dict[str, Any] = {"tools": {}}
            version = "2025-03-26"
            answer(
                request, wire, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
            )
        elif method == "tools/list":
            answer(request, wire, {"tools": [TOOL]})
        elif method == "tools/call":
            await call(request, wire)
        elif method == "server/discover":
            wire.send(400, b"what?")
        else:
            wire.send(202 if method else 405, b"")

    return handle


async def text(request: Request, wire: Wire) -> None:
    answer(request, wire, {"content": [{"type": "text", "text": "done"}]})


async def test_an_older_revision_is_spoken(kept: Kept, folder: Path) -> None:
    with HttpServer(handler(text)) as server:
        report = (await kept.ensure(folder, remote("far", server.url)))["far"]
        assert (report["state"], report["protocol_revision"]) == ("ready", "2025-03-26")
        assert (await kept.connection("far").call("work", {})).text == "done"
        await kept.servers.close()


async def test_an_answer_without_end_fails_only_its_call(kept: Kept, folder: Path) -> None:
    async def endless(request: Request, wire: Wire) -> None:
        wire.begin(200, "application/json")
        for _ in range(10):
            wire.chunk(b" " * 1024 * 1024)

    with HttpServer(handler(endless)) as server:
        await kept.ensure(folder, remote("far", server.url))
        with pytest.raises(ToolError, match="more than 8 MB"):
            await kept.connection("far").call("work", {})
        assert kept.connection("far").health.state == "ready"
        await kept.servers.close()


async def test_an_event_without_end_fails_only_its_call(kept: Kept, folder: Path) -> None:
    async def endless(request: Request, wire: Wire) -> None:
        wire.begin(200, "text/event-stream")
        wire.chunk(b"data: ")
        for _ in range(10):
            wire.chunk(b"x" * 1024 * 1024)

    with HttpServer(handler(endless)) as server:
        await kept.ensure(folder, remote("far", server.url))
        with pytest.raises(ToolError, match="SSE stream failed"):
            await kept.connection("far").call("work", {})
        assert kept.connection("far").health.state == "ready"
        await kept.servers.close()


async def test_a_call_that_hangs_at_an_address(kept: Kept, folder: Path) -> None:
    async def silent(request: Request, wire: Wire) -> None: ...

    with HttpServer(handler(silent)) as server:
        await kept.ensure(folder, remote("far", server.url, timeout_s=20))
        kept.grant("far", timeout_s=0.5)
        with pytest.raises(ToolError, match=r"did not answer work within 0\.5 s"):
            await kept.connection("far").call("work", {})
        await kept.servers.close()


async def test_a_stranger_is_told_to_sign_in_and_nothing_is_tried_again(kept: Kept, folder: Path) -> None:
    asked: list[str] = []

    async def refuse(request: Request, wire: Wire) -> None:
        asked.append(request.method)
        wire.send(401, b"", {"www-authenticate": "Bearer"})

    with HttpServer(refuse) as server:
        report = (await kept.ensure(folder, remote("far", server.url)))["far"]
        assert report["state"] == "needs_authorization"
        assert report["last_error"] == "It wants to know who asks: sign in to it."
        tried = len(asked)
        with pytest.raises(ToolError, match="sign in"):
            await kept.connection("far").call("work", {})
        assert len(asked) == tried


async def test_a_token_that_arrives_is_used_and_one_that_is_refused_is_noticed(
    kept: Kept, folder: Path
) -> None:
    tokens: dict[str, str] = {}
    good = {"Bearer good"}

    class Carry(httpx2.Auth):
        async def async_auth_flow(
            self, request: httpx2.Request
        ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            if "far" in tokens:
                request.headers["Authorization"] = f"Bearer {tokens['far']}"
            yield request

    kept.servers.auth = lambda workspace, server, needed: Carry()

    async def guarded(request: Request, wire: Wire) -> None:
        if request.headers.get("authorization") in good:
            await handler(text)(request, wire)
        else:
            wire.send(401, b"")

    with HttpServer(guarded) as server:
        report = (await kept.ensure(folder, remote("far", server.url)))["far"]
        assert report["state"] == "needs_authorization"
        tokens["far"] = "good"
        kept.servers.retry("workspace", "far")
        connection = await kept.until("far", "ready")
        assert (await connection.call("work", {})).text == "done"
        good.clear()
        with pytest.raises(ToolError, match="wants the person to sign in first"):
            await connection.call("work", {})
        await kept.until("far", "needs_authorization")
        await kept.servers.close()
    assert "good" not in json.dumps(kept.told)


async def test_secret_headers_are_taken_out_of_what_comes_back(kept: Kept, folder: Path) -> None:
    async def repeat(request: Request, wire: Wire) -> None:
        said = {"code": -32000, "message": f"{request.headers['x-key']} is not known here"}
        wire.send_json(200, {"jsonrpc": "2.0", "id": request.body["id"], "error": said})

    with HttpServer(handler(repeat)) as server:
        await kept.ensure(folder, remote("far", server.url, headers={"X-Key": "secret-of-somebody"}))
        with pytest.raises(ToolError, match=r"It said: \[redacted\] is not known here"):
            await kept.connection("far").call("work", {})
        await kept.servers.close()
