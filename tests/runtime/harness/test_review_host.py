"""A mount leads where it led when it was attached: what an agent puts in its place since then leads nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from tests.runtime.harness.conftest import local_sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "runtime-token").write_text("secret")
    return folder


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder another agent works in, attached to this session."""
    folder = tmp_path / "other" / "docs"
    folder.mkdir(parents=True)
    (folder / "runtime-token").write_text("fine")
    return folder


def provision(workspace: Path, shared: Path) -> LocalSandbox:
    return local_sandbox(workspace, Mount(mount_path="/files/docs", source=str(shared), access="read_write"))


def swap(shared: Path, secret: Path) -> None:
    shared.rename(shared.with_name("moved"))
    shared.symlink_to(secret)


async def use_all(sandbox: LocalSandbox) -> list[ToolOutcome]:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read", {"path": "/files/docs/runtime-token"}),
        ("ls", {"path": "/files/docs"}),
        ("find", {"path": "/files/docs", "pattern": "*"}),
        ("grep", {"path": "/files/docs", "pattern": "secret"}),
        ("write", {"path": "/files/docs/runtime-token", "content": "mine"}),
    ]
    return [await sandbox.execute(name, arguments) for name, arguments in calls]


@pytest.mark.parametrize("during", [False, True])
async def test_a_mount_that_became_a_link_leads_nowhere(
    tmp_path: Path, workspace: Path, shared: Path, secret: Path, during: bool
) -> None:
    if during:
        sandbox = provision(workspace, shared)
        swap(shared, secret)
    else:
        swap(shared, secret)
        sandbox = provision(workspace, shared)

    outcomes = await use_all(sandbox)

    assert all(outcome.error for outcome in outcomes), outcomes
    assert not any("secret" in outcome.text for outcome in outcomes)
    assert (secret / "runtime-token").read_text() == "secret"


async def test_a_mount_that_stayed_is_there(workspace: Path, shared: Path) -> None:
    outcomes = await use_all(provision(workspace, shared))

    assert not any(outcome.error for outcome in outcomes), outcomes
    assert (shared / "runtime-token").read_text() == "mine"
