"""The session core, put together: its parts, its worker, and the order in which they start and stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator

from holaboss_client.base import new_id
from holaboss_client.events import ChangeEvent, OutputEvent
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.runs.ports import Models, Workspaces
from holaboss_runtime.sessions.control import SessionControl
from holaboss_runtime.sessions.directory import SessionDirectory
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.sessions.orchestrator import Orchestrator
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.recovery import Recovery
from holaboss_runtime.sessions.settle import Settler
from holaboss_runtime.sessions.subscription import (
    OutputQuery,
    Ping,
    Shutdown,
    follow_changes,
    follow_outputs,
)
from holaboss_runtime.sessions.transcript import Transcript
from holaboss_runtime.sessions.wake import Waker
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.records import Records

SERVER_OWNER = "server:"
"""Only one server can run on a root (`server.lock`), so at start every other owner of this kind is dead."""


class Sessions:
    """Lives on the event loop that called `start`. Whatever cannot be done raises `DomainError`.

    `directory` knows which sessions there are, `control` takes messages and stops runs, `inbound` edits what waits,
    `transcript` reads what was said, and `waker` runs one input.
    """

    def __init__(
        self,
        database: Database,
        changes: ChangeLog,
        workspaces: Workspaces,
        config: Models,
        harness: Harness,
        *,
        concurrency: int = 5,
    ) -> None:
        owner = f"{SERVER_OWNER}{os.getpid()}:{new_id()}"
        records = Records(database)
        publisher = Publisher(records, changes)
        settler = Settler(records, publisher)
        self._recovery = Recovery(records, settler, owner)
        self.waker = Waker(
            records,
            publisher,
            settler,
            self._recovery,
            workspaces,
            models=config,
            harness=harness,
            owner=owner,
        )
        self._orchestrator = Orchestrator(records, self.waker, concurrency=concurrency)
        self._records = records
        self._changes = changes
        self.directory = SessionDirectory(records, publisher, workspaces)
        self.inbound = Inbound(records, publisher, self._orchestrator.notify)
        self.transcript = Transcript(records, harness.name)
        self.control = SessionControl(
            records,
            publisher,
            workspaces,
            self.directory,
            self.inbound,
            self.waker,
            settler,
            self._orchestrator,
        )

    async def start(self) -> None:
        """End or requeue what a dead server left, then begin to work."""
        self._recovery.recover_all(SERVER_OWNER)
        self._orchestrator.start()

    async def close(self) -> None:
        """Stop runs within two seconds. What they produced is kept; what did not stop is recovered at the next
        start."""
        await self._orchestrator.close()

    def poke(self) -> None:
        """Configuration or secrets changed: inputs that waited for them are tried again."""
        self._orchestrator.poke()

    def follow_outputs(
        self, query: OutputQuery, lifetime: asyncio.Event
    ) -> AsyncGenerator[list[OutputEvent] | Ping | Shutdown]:
        return follow_outputs(self._records.outputs, query, lifetime)

    def follow_changes(
        self, after_seq: int | None, lifetime: asyncio.Event
    ) -> AsyncGenerator[list[ChangeEvent] | Ping | Shutdown]:
        return follow_changes(self._changes, after_seq, lifetime)
