"""Requests that are well formed and still cannot be carried out: each is a problem, none a failure of the server."""

# ruff: noqa: ASYNC240 — a test may block its own loop

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import EditInput, QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.api.problems import problem
from holaboss_runtime.errors import DomainError
from tests.runtime.api.conftest import Reply
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.support.processes import PATIENCE_S
from tests.support.server import RuntimeProcess

SOURCES = Path(__file__).parents[3] / "runtime" / "holaboss_runtime"


@pytest.mark.anyio
async def test_a_message_that_was_taken_up_can_neither_be_changed_nor_taken_back(
    client: RuntimeClient, core: Core
) -> None:
    queued = await client.queue(QueueRequest(workspace_id=WORKSPACE, text="hello"))
    await client.pause(WORKSPACE, queued.session_id)
    for call in (
        client.edit_input(
            queued.session_id, queued.input_id, EditInput(workspace_id=WORKSPACE, text="changed")
        ),
        client.cancel_input(WORKSPACE, queued.session_id, queued.input_id),
    ):
        with pytest.raises(ProblemError) as raised:
            await call
        refusal = raised.value.problem
        assert (refusal.status, refusal.code) == (409, "input_not_queued")
        assert (refusal.model_extra or {})["input_status"] == "PAUSED"


def test_no_context_takes_the_place_of_what_every_problem_has() -> None:
    extra = {"status": "PAUSED", "code": "other", "type": "x", "title": "t", "detail": "d", "more": 1}
    body = json.loads(bytes(problem(409, "a_code", "A sentence.", extra=extra).body))
    assert body == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "A sentence.",
        "code": "a_code",
        "more": 1,
    }


def _contexts() -> Iterator[tuple[str, str]]:
    """Every keyword that an error is raised with in the sources, and where."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == DomainError.__name__:
                for keyword in node.keywords:
                    yield f"{path.name}:{node.lineno}", keyword.arg or "**"


def test_no_error_is_raised_with_a_context_that_would_get_lost() -> None:
    taken = {"type", "title", "status", "detail", "code", "errors", *inspect.signature(problem).parameters}
    found = list(_contexts())
    assert found
    assert [place for place, name in found if name in taken] == []


@pytest.mark.anyio
async def test_two_workspaces_cannot_be_made_with_one_id(runtime: RuntimeProcess, tmp_path: Path) -> None:
    """Also when they are to lie in different folders, so that neither stands in the other's way."""
    bodies = [
        CreateWorkspace(name="twin", workspace_id="twin", workspace_path=str(tmp_path / str(number)))
        for number in range(6)
    ]
    async with runtime.client() as client:
        results = await asyncio.gather(
            *(client.create_workspace(body) for body in bodies), return_exceptions=True
        )
    refused = [result for result in results if isinstance(result, ProblemError)]
    assert len(refused) == len(bodies) - 1
    assert {(error.problem.status, error.problem.code) for error in refused} == {(409, "workspace_exists")}
    assert len([entry for entry in tmp_path.iterdir() if (entry / "AGENTS.md").exists()]) == 1


@pytest.mark.parametrize("name", ["two\nlines", "a\x00b", "bell\x07", "a\u2028b"])
def test_a_name_is_one_line_of_text(send: Callable[..., Reply], name: str) -> None:
    reply = send("POST", "/api/v1/workspaces", None, json.dumps({"name": name}).encode())
    assert (reply.status, reply.body["code"]) == (422, "name_invalid")


def test_a_name_may_be_in_any_writing(send: Callable[..., Reply]) -> None:
    for name in ("Größe", "研究", "مشروع", "👩‍👩‍👧 family", "a\u00a0b"):
        reply = send("POST", "/api/v1/workspaces", None, json.dumps({"name": name}).encode())
        assert (reply.status, reply.body["workspace"]["name"]) == (200, name)


@pytest.mark.anyio
async def test_a_path_too_deep_for_folders_is_refused(runtime: RuntimeProcess) -> None:
    async with runtime.client() as client:
        made = await client.create_workspace(CreateWorkspace(name="w"))
        assert (await client.put_file(made.id, "d/" * 200 + "file", b"x")).status == "written"
        for depth in (300, 2000):
            with pytest.raises(ProblemError) as raised:
                await client.put_file(made.id, "d/" * depth + "file", b"x")
            assert (raised.value.problem.status, raised.value.problem.code) == (400, "path_too_deep")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "workspaces", {"name": "x", "onboarding_status": "s" * 65}),
        ("POST", "workspaces", {"name": "x", "error_message": "e" * 4001}),
        ("POST", "agent-sessions", {"workspace_id": "w", "title": "t" * 1001}),
        ("POST", "agent-sessions", {"workspace_id": "w", "created_by": "c" * 201}),
        ("POST", "agent-sessions/queue", {"workspace_id": "w", "text": "x", "model": "m" * 501}),
        ("POST", "agent-sessions/queue", {"workspace_id": "w", "text": "x", "attachments": [{}] * 101}),
        ("PUT", "runtime/profile", {"name": "n" * 201}),
        ("PUT", "runtime/config", {"user_id": "u" * 2001}),
        ("PUT", "runtime/providers/mine", {"base_url": "http://h/v1", "models": ["m"] * 2001}),
    ],
)
def test_what_is_kept_has_a_bound(
    send: Callable[..., Reply], method: str, path: str, body: dict[str, object]
) -> None:
    reply = send(method, f"/api/v1/{path}", None, json.dumps(body).encode())
    assert (reply.status, reply.body["code"]) == (422, "invalid_request")


def test_an_answer_does_not_repeat_an_endless_id(send: Callable[..., Reply]) -> None:
    reply = send("GET", "/api/v1/workspaces/" + "a" * 60_000)
    assert (reply.status, reply.body["code"]) == (404, "workspace_not_found")
    assert len(reply.content) < 1_000


@pytest.mark.anyio
async def test_a_place_that_a_stream_has_not_got_to_counts_as_none(core: Core, url: str) -> None:
    """It is of another database. Whoever waited for what comes after it would wait for ever."""
    async with RuntimeClient(url, "unused") as client:
        queued = await client.queue(QueueRequest(workspace_id=WORKSPACE, text="hello"))
        await client.pause(WORKSPACE, queued.session_id)  # ends it, with a terminal event
    address = f"{url}/api/v1/agent-sessions/{queued.session_id}/outputs"
    params = {"workspace_id": WORKSPACE}
    async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
        whole = await http.get(f"{address}/stream", params=params)
        again = await http.get(f"{address}/stream", params=params, headers={"last-event-id": "999999"})
        page = await http.get(f"{address}/events", params=params | {"after_event_id": 999_999})
    assert "event: run_completed" in whole.text
    assert again.text == whole.text
    assert page.json()["count"] > 0
