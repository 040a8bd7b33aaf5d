"""The routes over a real socket, in front of a session core of a test; without the gate."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import uvicorn

from holaboss_client.agents import AppendedEvent, AppendEvent
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import Problem, ProblemError
from holaboss_client.sessions import CreateSession
from holaboss_runtime.api.app import build_routes
from tests.runtime.sessions.core import Core
from tests.support.processes import PATIENCE_S


@asynccontextmanager
async def served(core: Core) -> AsyncIterator[str]:
    app = build_routes()
    app.state.runtime = SimpleNamespace(
        sessions=core.sessions,
        agents=core.agents,
        workspaces=core.workspaces,
        changes=core.changes,
        lifetime=core.lifetime,
    )
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        core.lifetime.set()
        server.should_exit = True
        await serving


@asynccontextmanager
async def client_of(core: Core) -> AsyncIterator[RuntimeClient]:
    async with served(core) as url, RuntimeClient(url, "unused") as client:
        yield client


async def new_agent_session(client: RuntimeClient, agent_id: str = "scout") -> str:
    return (await client.create_session(CreateSession(agent_id=agent_id))).session_id


async def say(client: RuntimeClient, session_id: str, text: str, **fields: Any) -> AppendedEvent:
    return await append(client, session_id, "user.message", {"text": text}, **fields)


async def append(
    client: RuntimeClient, session_id: str, event_type: str, payload: dict[str, Any], **fields: Any
) -> AppendedEvent:
    return await client.append_event(session_id, AppendEvent(type=event_type, payload=payload, **fields))


async def refused(url: str, method: str, path: str, body: Any = None) -> Problem:
    """The problem that a request is answered with."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        reply = await http.request(method, f"{url}/api/v1{path}", json=body)
    assert reply.headers["content-type"] == "application/problem+json", reply.text
    return Problem.model_validate_json(reply.content)


def problem_of(error: BaseException) -> tuple[int, str]:
    assert isinstance(error, ProblemError)
    return error.problem.status, error.problem.code
