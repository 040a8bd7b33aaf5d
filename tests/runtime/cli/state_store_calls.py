"""Asking `holaboss-state-store`, in this process or in one of its own, and what has to be there first."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.cli.state_store import main

ROOT = Path(__file__).parents[3]
W = {"workspace_id": "w"}
S = {"workspace_id": "w", "session_id": "s"}


def encoded(request: object) -> str:
    return base64.b64encode(json.dumps(request).encode()).decode()


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holaboss_runtime.cli.state_store", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "runtime"), **(env or {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


class Store:
    """A store on disk, asked in this process, or with `spawn` in one of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.options = {
            "dbPath": str(folder / "runtime.db"),
            "workspaceRoot": str(folder / "workspaces"),
            "sandboxRoot": str(folder),
        }
        self._capsys = capsys

    def __call__(self, operation: str, **fields: Any) -> Any:
        status = main([operation, "--request-base64", encoded({"options": self.options, **fields})])
        out, err = self._capsys.readouterr()
        assert (status, err) == (0, "")
        return json.loads(out)

    def spawn(self, operation: str, **fields: Any) -> Any:
        done = run(operation, "--request-base64", encoded({"options": self.options, **fields}))
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    def refused(self, operation: str, **fields: Any) -> tuple[str, str]:
        status = main([operation, f"--request-base64={encoded({'options': self.options, **fields})}"])
        out, err = self._capsys.readouterr()
        assert (status, out) == (1, "")
        said = json.loads(err)
        assert set(said) == {"error", "code"}
        return said["code"], said["error"]


def with_workspace(folder: Path, capsys: pytest.CaptureFixture[str]) -> Store:
    made = Store(folder, capsys)
    made("create-workspace", workspace_id="w", name="W", harness="native")
    return made


def session_ready(store: Store) -> None:
    store("ensure-runtime-state", workspace_id="w", session_id="s")


def input_ready(store: Store) -> None:
    store("enqueue-input", workspace_id="w", session_id="s", payload={"text": "a"}, input_id="i")


def claimed_ready(store: Store) -> None:
    input_ready(store)
    store("claim-inputs", claimed_by="me", limit=1, lease_seconds=60)


def lost_ready(store: Store) -> None:
    input_ready(store)
    store("claim-inputs", claimed_by="me", limit=1, lease_seconds=0)


def binding_ready(store: Store) -> None:
    session_ready(store)
    store("upsert-binding", workspace_id="w", session_id="s", harness="native", harness_session_id="h")


def said_ready(store: Store) -> None:
    session_ready(store)
    store(
        "insert-session-message", workspace_id="w", session_id="s", role="user", text="t", message_id="user-i"
    )


def told_ready(store: Store) -> None:
    session_ready(store)
    for kind in ("run_claimed", "output_delta"):
        store(
            "append-output-event", workspace_id="w", session_id="s", input_id="i", sequence=1, event_type=kind
        )


def output_ready(store: Store) -> None:
    store(
        "create-output", workspace_id="w", output_type="file", output_id="o", metadata={"origin_type": "app"}
    )


def artifact_ready(store: Store) -> None:
    session_ready(store)
    store(
        "create-session-artifact",
        workspace_id="w",
        session_id="s",
        artifact_type="image",
        external_id="x",
        artifact_id="a",
    )


def cronjob_ready(store: Store) -> None:
    store(
        "create-cronjob",
        workspace_id="w",
        job_id="c",
        initiated_by="user",
        cron="0 9 * * *",
        description="d",
        delivery={"channel": "session_run"},
    )


def notice_ready(store: Store) -> None:
    store(
        "create-notification",
        workspace_id="w",
        notification_id="n",
        source_type="cronjob",
        title="t",
        message="m",
        priority="urgent",
    )


def proposal_ready(store: Store) -> None:
    store(
        "create-task-proposal",
        workspace_id="w",
        proposal_id="p",
        task_name="t",
        task_prompt="p",
        task_generation_rationale="r",
        source_event_ids=["e"],
    )


def job_ready(store: Store) -> None:
    session_ready(store)
    store("enqueue-post-run-job", session_id="s", input_id="i", job_type="evolve", idempotency_key="k")


def build_ready(store: Store) -> None:
    store("upsert-app-build", workspace_id="w", app_id="a", status="building")


def nothing(_store: Store) -> None:
    return None
