"""Terminals over a real database, a real workspace folder and whatever this machine has to hold commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.terminals import StartTerminal, Terminal, TerminalEvent
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.permissions.model import PermissionPolicy
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.terminals import TerminalRecords
from holaboss_runtime.terminals.service import IDLE_S, Terminals
from holaboss_runtime.workspace.registry import WorkspaceRegistry
from tests.support.processes import PATIENCE_S


@dataclass
class Rig:
    database: Database
    changes: ChangeLog
    workspaces: WorkspaceRegistry
    terminals: Terminals
    workspace_id: str
    policy: list[PermissionPolicy] = field(default_factory=lambda: [PermissionPolicy()])

    @property
    def folder(self) -> Path:
        return self.workspaces.folder(self.workspace_id)

    @property
    def records(self) -> TerminalRecords:
        return TerminalRecords(self.database)

    async def start(self, command: str = "bash --norc", **about: Any) -> Terminal:
        return await self.terminals.start(
            StartTerminal(workspace_id=self.workspace_id, command=command, **about)
        )

    async def until(self, terminal_id: str, text: str, after_sequence: int = 0) -> str:
        """What was printed until `text` is there, or the terminal is over."""
        printed = ""
        async with asyncio.timeout(PATIENCE_S):
            async with aclosing(self.terminals.follow(terminal_id, after_sequence)) as pages:
                async for page in pages:
                    printed += joined(page)
                    if text in printed:
                        return printed
        raise AssertionError(f"{text!r} was never printed: {printed!r}")

    async def over(self, terminal_id: str) -> list[TerminalEvent]:
        """Every event, once it is over."""
        async with asyncio.timeout(PATIENCE_S):
            return [event async for page in self.terminals.follow(terminal_id) for event in page]

    async def said(self, terminal_id: str) -> str:
        """Everything it printed, once it is over."""
        return joined(await self.over(terminal_id))


def joined(events: list[TerminalEvent]) -> str:
    return "".join(event.payload["data"] for event in events if event.event_type == "output")


Build = Callable[..., Any]


@pytest.fixture
async def containment(request: pytest.FixtureRequest) -> Containment:
    """What this machine can do; with the parameter `not held` nothing holds a command."""
    if getattr(request, "param", "held") == "not held":
        return Containment()
    found = await probe()
    if not found.active:
        pytest.skip("nothing can hold a command here")
    return found


@pytest.fixture
def idle_s() -> float:
    return IDLE_S


@pytest.fixture
async def rig(tmp_path: Path, containment: Containment, idle_s: float) -> AsyncIterator[Rig]:
    database = Database.open(tmp_path / "runtime.db")
    changes = ChangeLog(database)
    workspaces = WorkspaceRegistry(database, changes, tmp_path / "root")
    workspace = await workspaces.create(CreateWorkspace(name="Terminals"))
    policy = [PermissionPolicy()]
    terminals = Terminals(
        database, changes, workspaces, lambda _: policy[0], containment=containment, idle_s=idle_s
    )
    yield Rig(database, changes, workspaces, terminals, workspace.id, policy)
    await terminals.close()
    database.close()
