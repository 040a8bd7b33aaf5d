"""What the routes refuse: a poke that says too much, decisions that say nothing, and sessions that are over."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from holaboss_client.handshake import Poke
from tests.runtime.api.conftest import Reply

Send = Callable[..., Reply]


def post(send: Send, path: str, body: object) -> Reply:
    return send("POST", f"/api/v1{path}", body=json.dumps(body).encode())


@pytest.mark.parametrize("reason", ["", "x" * 201])
def test_a_poke_writes_no_more_than_a_wake_may(send: Send, reason: str) -> None:
    """Its reason goes into the journal, and its token is for nothing else."""
    reply = post(send, "/lifecycle/poke", {"reason": reason})

    assert (reply.status, reply.body["code"]) == (422, "invalid_request")
    assert Poke().reason == "manual"


def test_refusals_are_sentences(send: Send) -> None:
    reply = post(send, "/agent-sessions/nobody/pending-actions/nothing", {})

    assert reply.status == 422
    assert reply.body["detail"] == "body: say either `allowed` or `output`."


def test_a_session_that_ended_is_not_resumed(send: Send) -> None:
    session_id = post(send, "/agent-sessions", {"agent_id": "over"}).body["session"]["session_id"]
    workspace_id = send("GET", f"/api/v1/agent-sessions/{session_id}/status").body["workspace_id"]
    assert post(send, f"/agent-sessions/{session_id}/terminate", None).status == 200

    reply = post(send, f"/agent-sessions/{session_id}/resume", {"workspace_id": workspace_id})

    assert (reply.status, reply.body["code"]) == (409, "session_terminated")


@pytest.mark.parametrize("source", ["/proc", "/proc/self", "/sys", "/dev"])
def test_processes_and_devices_are_no_files(send: Send, source: str) -> None:
    session_id = post(send, "/agent-sessions", {"agent_id": "curious"}).body["session"]["session_id"]

    reply = post(send, f"/agent-sessions/{session_id}/resources", {"source_ref": source})

    assert (reply.status, reply.body["code"]) == (403, "resource_source_forbidden")
