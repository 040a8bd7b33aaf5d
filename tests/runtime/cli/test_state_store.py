"""Every operation of `holaboss-state-store` once, through the real process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.cli.state_store.program import OPERATIONS
from tests.runtime.cli.state_store_calls import (
    S,
    Store,
    W,
    artifact_ready,
    binding_ready,
    build_ready,
    claimed_ready,
    cronjob_ready,
    input_ready,
    job_ready,
    lost_ready,
    nothing,
    notice_ready,
    output_ready,
    proposal_ready,
    said_ready,
    session_ready,
    told_ready,
    with_workspace,
)


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Store:
    return with_workspace(tmp_path, capsys)


def has(**expected: Any) -> Callable[[Any], bool]:
    return lambda reply: all(reply[key] == value for key, value in expected.items())


def one(**expected: Any) -> Callable[[Any], bool]:
    return lambda reply: len(reply) == 1 and has(**expected)(reply[0])


def equals(value: Any) -> Callable[[Any], bool]:
    return lambda reply: reply == value and type(reply) is type(value)


RUNTIME_STATE = {
    "workspace_id",
    "session_id",
    "status",
    "current_input_id",
    "current_worker_id",
    "lease_until",
    "heartbeat_at",
    "last_error",
    "created_at",
    "updated_at",
}

EACH: dict[str, tuple[Callable[[Store], None], dict[str, Any], Callable[[Any], bool]]] = {
    "workspace-dir": (nothing, W, lambda reply: reply.endswith("/workspaces/w")),
    "create-workspace": (
        nothing,
        {"name": "N", "workspace_id": "n"},
        has(id="n", name="N", status="active"),
    ),
    "list-workspaces": (nothing, {}, one(id="w")),
    "get-workspace": (nothing, {"workspace_id": "none"}, equals(None)),
    "update-workspace": (
        nothing,
        {**W, "fields": {"status": "error", "error_message": "e", "onboarding_status": "pending"}},
        has(status="error", error_message="e", onboarding_status="pending"),
    ),
    "delete-workspace": (nothing, W, has(id="w", status="deleted")),
    "enqueue-input": (
        nothing,
        {**S, "payload": {"text": "x"}, "priority": 3, "idempotency_key": "k"},
        has(status="QUEUED", priority=3, payload={"text": "x"}, idempotency_key="k", claimed_by=None),
    ),
    "get-input": (input_ready, {"input_id": "i"}, has(input_id="i", session_id="s")),
    "get-input-by-idempotency-key": (input_ready, {"idempotency_key": "none"}, equals(None)),
    "update-input": (
        input_ready,
        {"input_id": "i", "fields": {"priority": 9, "payload": {"text": "b"}}},
        has(priority=9, payload={"text": "b"}, status="QUEUED"),
    ),
    "claim-inputs": (
        input_ready,
        {"claimed_by": "me", "limit": 2, "lease_seconds": 60, "distinct_sessions": True},
        one(input_id="i", claimed_by="me", status="CLAIMED"),
    ),
    "renew-input-claim": (
        claimed_ready,
        {"input_id": "i", "claimed_by": "me", "lease_seconds": 600},
        has(status="CLAIMED"),
    ),
    "complete-input": (
        claimed_ready,
        {"input_id": "i", "claimed_by": "me", "status": "FAILED"},
        has(status="FAILED"),
    ),
    "list-expired-claimed-inputs": (lost_ready, {}, one(input_id="i")),
    "recover-expired-claimed-inputs": (lost_ready, {}, one(input_id="i", status="QUEUED", attempt=1)),
    "has-available-inputs-for-session": (input_ready, S, equals(True)),
    "enqueue-post-run-job": (
        session_ready,
        {**S, "input_id": "i", "job_type": "evolve"},
        has(status="QUEUED", job_type="evolve", workspace_id="w"),
    ),
    "claim-post-run-jobs": (job_ready, {"claimed_by": "me", "lease_seconds": 1}, one(status="CLAIMED")),
    "complete-post-run-job": (job_ready, {"job_id": "none", "claimed_by": "me"}, equals(None)),
    "list-post-run-jobs": (job_ready, W, one(idempotency_key="k")),
    "upsert-binding": (
        session_ready,
        {**S, "harness": "native", "harness_session_id": "h"},
        has(harness="native"),
    ),
    "get-binding": (binding_ready, S, has(harness_session_id="h")),
    "ensure-runtime-state": (
        nothing,
        S,
        lambda reply: set(reply) == RUNTIME_STATE and has(status="IDLE")(reply),
    ),
    "update-runtime-state": (
        session_ready,
        {**S, "status": "ERROR", "last_error": "it broke"},
        has(status="ERROR", last_error={"message": "it broke"}),
    ),
    "list-runtime-states": (session_ready, W, one(session_id="s", status="IDLE")),
    "get-runtime-state": (input_ready, S, has(status="QUEUED", current_input_id="i")),
    "insert-session-message": (session_ready, {**S, "role": "user", "text": "t"}, has(ok=True)),
    "list-session-messages": (said_ready, S, one(id="user-i", role="user", text="t")),
    "append-output-event": (
        session_ready,
        {**S, "input_id": "i", "sequence": 7, "event_type": "output_delta", "payload": {"delta": "d"}},
        has(ok=True),
    ),
    "latest-output-event-id": (told_ready, {**S, "input_id": "i"}, equals(2)),
    "list-output-events": (
        told_ready,
        {**S, "after_event_id": 1},
        one(id=2, sequence=2, event_type="output_delta"),
    ),
    "create-session-artifact": (
        session_ready,
        {**S, "artifact_type": "draft", "external_id": "x", "title": "T"},
        has(artifact_type="draft", external_id="x", title="T", session_id="s"),
    ),
    "list-session-artifacts": (artifact_ready, S, one(id="a", artifact_type="image")),
    "list-sessions-with-artifacts": (
        artifact_ready,
        W,
        lambda reply: one(session_id="s", status="IDLE")(reply) and one(id="a")(reply[0]["artifacts"]),
    ),
    "create-output-folder": (nothing, {**W, "name": "F"}, has(name="F", position=0)),
    "list-output-folders": (nothing, W, equals([])),
    "get-output-folder": (nothing, {**W, "folder_id": "none"}, equals(None)),
    "update-output-folder": (nothing, {**W, "folder_id": "none", "name": "G"}, equals(None)),
    "delete-output-folder": (nothing, {**W, "folder_id": "none"}, equals(False)),
    "create-output": (nothing, {**W, "output_type": "html", "title": "T"}, has(status="draft", title="T")),
    "list-outputs": (output_ready, {**W, "output_type": "file"}, one(id="o")),
    "get-output": (output_ready, {**W, "output_id": "o"}, has(id="o", metadata={"origin_type": "app"})),
    "update-output": (
        output_ready,
        {**W, "output_id": "o", "title": "New", "metadata": {"a": 1}, "status": None},
        has(title="New", status="draft", metadata={"origin_type": "app", "a": 1}),
    ),
    "delete-output": (output_ready, {**W, "output_id": "o"}, equals(True)),
    "get-output-counts": (output_ready, W, has(total=1, by_status={"draft": 1})),
    "create-cronjob": (
        nothing,
        {**W, "initiated_by": "u", "cron": "* * * * *", "description": "d", "delivery": {}},
        has(instruction="d", enabled=True, run_count=0),
    ),
    "get-cronjob": (cronjob_ready, {**W, "job_id": "c"}, has(id="c", delivery={"channel": "session_run"})),
    "list-cronjobs": (cronjob_ready, {"enabled_only": True}, one(id="c")),
    "update-cronjob": (
        cronjob_ready,
        {**W, "job_id": "c", "description": "new", "enabled": False, "next_run_at": None},
        has(description="new", instruction="new", enabled=False, next_run_at=None),
    ),
    "delete-cronjob": (cronjob_ready, {**W, "job_id": "c"}, equals(True)),
    "create-notification": (
        nothing,
        {**W, "source_type": "app", "title": "t", "message": "m"},
        has(state="unread", priority="normal", level="info"),
    ),
    "list-notifications": (notice_ready, W, one(id="n", priority="normal")),
    "update-notification": (notice_ready, {"notification_id": "n", "state": "read"}, has(state="read")),
    "create-task-proposal": (
        nothing,
        {**W, "task_name": "t", "task_prompt": "p", "task_generation_rationale": "r"},
        has(state="not_reviewed", proposal_source="proactive"),
    ),
    "get-task-proposal": (proposal_ready, {"proposal_id": "p"}, has(proposal_id="p", source_event_ids=["e"])),
    "list-task-proposals": (proposal_ready, W, one(proposal_id="p")),
    "list-unreviewed-task-proposals": (proposal_ready, W, one(proposal_id="p")),
    "update-task-proposal-state": (
        proposal_ready,
        {"proposal_id": "p", "state": "dismissed"},
        has(state="dismissed"),
    ),
    "upsert-app-build": (build_ready, {**W, "app_id": "a", "status": "running"}, has(status="running")),
    "get-app-build": (build_ready, {**W, "app_id": "a"}, has(status="building", restart_attempts=0)),
    "delete-app-build": (build_ready, {**W, "app_id": "a"}, equals(True)),
}


@pytest.mark.parametrize("operation", EACH)
def test_each_operation_through_the_real_process(store: Store, operation: str) -> None:
    prepare, fields, expected = EACH[operation]
    prepare(store)
    reply = store.spawn(operation, **fields)
    assert expected(reply), reply


def test_there_is_no_operation_without_a_test() -> None:
    assert set(EACH) == set(OPERATIONS)
