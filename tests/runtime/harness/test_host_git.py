"""Looking at a repository starts nothing that its own settings name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.runtime.harness.conftest import local_sandbox

pytestmark = pytest.mark.anyio


async def git(folder: Path, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "git", *arguments, cwd=folder, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0


async def test_status_starts_no_monitor_of_the_repository(workspace: Path, tmp_path: Path) -> None:
    marker = workspace / "started"
    monitor = workspace / "monitor.sh"
    monitor.write_text(f"#!/bin/sh\ntouch {marker}\n")
    monitor.chmod(0o755)
    await git(workspace, "init", "-q")
    await git(workspace, "config", "core.fsmonitor", str(monitor))
    outcome = await local_sandbox(workspace).execute("bash", {"command": "git status --short"})
    assert not outcome.error
    assert not marker.exists()


async def test_a_folder_that_looks_like_a_bare_repository_is_none(workspace: Path) -> None:
    bare = workspace / "bare"
    bare.mkdir()
    await git(bare, "init", "-q", "--bare")
    outcome = await local_sandbox(workspace).execute("bash", {"command": "cd bare && git log"})
    assert outcome.error
    assert "bare" in outcome.text
