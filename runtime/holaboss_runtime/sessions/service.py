"""The session core, put together: its parts, its worker, and the order in which they start and stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from holaboss_client.base import utc_now
from holaboss_client.events import ChangeEvent
from holaboss_runtime.agents.definition import Heartbeat
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.harness.toolbox import Toolbox
from holaboss_runtime.runs.agent_profile import AgentProfile
from holaboss_runtime.runs.mcp import Consents, SecretValues
from holaboss_runtime.runs.ports import Models, Workspaces
from holaboss_runtime.runs.prepare import WorkspaceProfile
from holaboss_runtime.sessions.agent_directory import AgentDirectory
from holaboss_runtime.sessions.agent_effects import AgentEffects
from holaboss_runtime.sessions.agent_files import AgentFiles
from holaboss_runtime.sessions.approvals import EXPIRY_S, Approvals
from holaboss_runtime.sessions.claims import Claimer
from holaboss_runtime.sessions.continuity import Continuity
from holaboss_runtime.sessions.control import SessionControl
from holaboss_runtime.sessions.delayed import DelayedWakes
from holaboss_runtime.sessions.directory import SessionDirectory
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.sessions.inspection import Inspection
from holaboss_runtime.sessions.opening import Opening
from holaboss_runtime.sessions.orchestrator import Orchestrator
from holaboss_runtime.sessions.owners import SERVER, Owners
from holaboss_runtime.sessions.permissions import Permissions
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.recovery import Recovery
from holaboss_runtime.sessions.settle import Settler
from holaboss_runtime.sessions.subagent_reports import SubagentReports
from holaboss_runtime.sessions.subagent_tools import SubagentTools
from holaboss_runtime.sessions.subagents import Subagents
from holaboss_runtime.sessions.subscription import (
    OutputQuery,
    Ping,
    Shutdown,
    follow_changes,
    follow_outputs,
)
from holaboss_runtime.sessions.transcript import Transcript
from holaboss_runtime.sessions.views import Views
from holaboss_runtime.sessions.wake import Waker
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.output_events import StoredEvent
from holaboss_runtime.store.records import Records


class Sessions:
    """Lives on the event loop that called `start`. Whatever cannot be done raises `DomainError`.

    `directory` and `agent_directory` know which sessions there are, `opening` is the door to both, `control` takes
    messages and stops runs, `subagents` work for other sessions, `inbound` edits what waits, `delayed` wakes later,
    `transcript`, `views` and `inspection` read, and `waker` runs one session.
    """

    def __init__(
        self,
        database: Database,
        changes: ChangeLog,
        workspaces: Workspaces,
        config: Models,
        harness: Harness,
        agents: Agents,
        *,
        toolbox: Toolbox | None = None,
        secrets: SecretValues | None = None,
        consents: Consents | None = None,
        concurrency: int = 5,
        owner_kind: str = SERVER,
        orders_s: float | None = None,
        look_s: float | None = None,
        approval_s: float = EXPIRY_S,
    ) -> None:
        toolbox = toolbox or Toolbox()
        self.records, self.agents, self._changes = Records(database), agents, changes
        records, private, publisher = self.records, (database.path.parent,), Publisher(self.records, changes)
        self.owners = Owners.of_database(database.path)
        self._owner = self.owners.register(owner_kind)
        self.inbound = Inbound(records, publisher, self._queued)
        self.reports = SubagentReports(records, self.inbound)
        self.delayed = DelayedWakes(records, publisher, self.inbound)
        self.approvals = Approvals(records, self.inbound)
        effects = AgentEffects(records, _heartbeat_of(agents))
        settler = Settler(records, publisher, effects, self.reports, approval_s=approval_s)
        continuity = Continuity(records, agents.remember)
        self._recovery = Recovery(records, publisher, settler, continuity, self.owners, self._owner)
        timed = (self.delayed, self.approvals, self.reports)
        self.waker = Waker(
            records,
            publisher,
            settler,
            self._recovery,
            continuity,
            Claimer(records, publisher, self.owners, self._owner),
            *timed,
            WorkspaceProfile(records, workspaces, config, secrets, consents),
            AgentProfile(records, agents, config),
            models=config,
            harness=harness,
            toolbox=toolbox,
            owner=self._owner,
            orders_s=orders_s,
        )
        self.orchestrator = Orchestrator(records, self.waker, *timed, concurrency=concurrency, look_s=look_s)
        self.directory = SessionDirectory(records, publisher, workspaces)
        self.agent_directory = AgentDirectory(records, publisher, agents, private=private)
        self.files = AgentFiles(records, publisher, agents, self._queued, private=private)
        self.transcript = Transcript(records, harness.name)
        self.opening = Opening(self.directory, self.agent_directory, agents)
        self.views = Views(records)
        self.permissions = Permissions(records, publisher, workspaces, harness)
        self.inspection = Inspection(records)
        self.control = self._control(publisher, workspaces, config)
        self.subagents = self._subagents(publisher, config)
        toolbox.register(*SubagentTools(records, self.subagents).all())

    def _control(self, publisher: Publisher, workspaces: Workspaces, config: Models) -> SessionControl:
        return SessionControl(
            self.records,
            publisher,
            workspaces,
            config,
            self.directory,
            self.inbound,
            self.waker,
            self.orchestrator,
        )

    def _subagents(self, publisher: Publisher, config: Models) -> Subagents:
        """What a session hands over ends with the session."""
        subagents = Subagents(
            self.records,
            publisher,
            self.inbound,
            self.reports,
            self.directory,
            self.agent_directory,
            config,
            self.control.terminate,
        )
        self.control.on_terminated = subagents.session_terminated
        return subagents

    def recover(self) -> int:
        """End or requeue what dead processes left, and decline what was not decided in time; how many wakes ended."""
        recovered = self._recovery.recover_all()
        self.approvals.expire(utc_now())
        return recovered

    async def start(self) -> None:
        """End or requeue what dead processes left, take in sessions that are only there as files, then begin to
        work."""
        self.recover()
        await self.files.start()
        self.orchestrator.start()

    async def close(self) -> None:
        """Stop runs within two seconds. What they produced is kept; what did not stop is recovered at the next
        start."""
        await self.orchestrator.close()
        await self.files.close()
        self.owners.release(self._owner)

    def poke(self) -> None:
        """Configuration or secrets changed: inputs that waited for them are tried again."""
        self.orchestrator.poke()

    def written_elsewhere(self) -> None:
        """Another process wrote into the database: whoever follows it looks again, and so does the worker."""
        self._changes.signal.notify()
        self.records.outputs.notify_all()
        self.orchestrator.heed_orders()

    def follow_outputs(
        self, query: OutputQuery, lifetime: asyncio.Event
    ) -> AsyncGenerator[list[StoredEvent] | Ping | Shutdown]:
        return follow_outputs(self.records.outputs, query, lifetime)

    def follow_changes(
        self, after_seq: int | None, lifetime: asyncio.Event
    ) -> AsyncGenerator[list[ChangeEvent] | Ping | Shutdown]:
        return follow_changes(self._changes, after_seq, lifetime)

    def _queued(self) -> None:
        self.orchestrator.notify()


def _heartbeat_of(agents: Agents) -> Callable[[str], Heartbeat]:
    def heartbeat(agent_id: str) -> Heartbeat:
        try:
            return agents.config(agent_id).heartbeat
        except DomainError:
            return Heartbeat()  # a turn is over, whatever its agent's file says by now

    return heartbeat
