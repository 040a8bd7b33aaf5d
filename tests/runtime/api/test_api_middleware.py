"""The gate around an application that fails, which no route of ours does on purpose."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from holaboss_runtime.api.app import Application, build_routes
from holaboss_runtime.api.middleware import Access, Gate, allowed_hosts

pytestmark = pytest.mark.anyio

ACCESS = Access("token", "poke", frozenset({"127.0.0.1:1"}))
HEADERS = {"authorization": "Bearer token"}


async def fails(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a secret detail")


async def fails_half_way(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError("a secret detail")


def client(app: Gate) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:1", headers=HEADERS
    )


@pytest.mark.allow_log("holaboss_runtime.api.middleware", "GET /x failed")
async def test_an_unexpected_error_is_a_problem_that_hides_its_message() -> None:
    async with client(Gate(fails, ACCESS)) as http:
        reply = await http.get("/x")
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "secret" not in reply.text


@pytest.mark.allow_log("holaboss_runtime.api.middleware", "GET /x failed")
async def test_half_an_answer_is_cut_off() -> None:
    async with client(Gate(fails_half_way, ACCESS)) as http:
        with pytest.raises(RuntimeError):
            await http.get("/x")


async def test_other_protocols_are_not_answered() -> None:
    async def nothing(*_: object) -> None:
        raise AssertionError("nobody may get here")

    await Gate(nothing, ACCESS)({"type": "lifespan"}, nothing, nothing)  # type: ignore[arg-type]


def test_which_hosts_are_answered() -> None:
    assert allowed_hosts("127.0.0.1", 8080, []) == {"127.0.0.1:8080"}
    assert allowed_hosts("0.0.0.0", 81, ["a.example", " B.example:1 ", ""]) == {
        "127.0.0.1:81", "a.example", "a.example:81", "b.example:1",
    }  # fmt: skip
    assert allowed_hosts("::1", 9, ["[::2]"]) == {"127.0.0.1:9", "[::1]:9", "[::2]", "[::2]:9"}
    assert allowed_hosts("::", 9, []) == {"127.0.0.1:9", "[::1]:9"}
    assert allowed_hosts("LocalHost", 9, []) == {"127.0.0.1:9", "localhost:9"}


def test_clients_leave_the_port_of_http_out() -> None:
    assert allowed_hosts("localhost", 80, []) == {"127.0.0.1:80", "127.0.0.1", "localhost:80", "localhost"}


@pytest.mark.allow_log("holaboss_runtime.api.middleware", "GET /api/v1/workspaces failed")
async def test_an_unexpected_error_of_a_route_is_a_problem_too() -> None:
    async with client(Gate(build_routes(), ACCESS)) as http:  # without the services every route needs
        reply = await http.get("/api/v1/workspaces")
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert reply.headers["content-type"] == "application/problem+json"


async def test_a_request_that_waits_is_told_when_nothing_comes() -> None:
    application = Application()
    async with client(Gate(application, ACCESS)) as http:
        waiting = asyncio.create_task(http.get("/api/v1/version"))
        assert (await http.get("/healthz")).json() == {"ok": True}
        assert not waiting.done()
        application.close()
        reply = await waiting
    assert (reply.status_code, reply.json()["code"]) == (503, "stopping")
