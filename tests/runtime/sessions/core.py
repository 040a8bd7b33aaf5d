"""A session core over a real database file, with workspaces and models that are simply there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.events import OutputEvent
from holaboss_client.sessions import QueueReply, QueueRequest, SessionState
from holaboss_client.workspaces import Workspace
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.config.catalogue import UNKNOWN, ModelEntry
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import Harness, WireProtocol
from holaboss_runtime.harness.mcp_consent import McpConsents
from holaboss_runtime.harness.toolbox import Toolbox
from holaboss_runtime.sessions.approvals import EXPIRY_S
from holaboss_runtime.sessions.service import Sessions
from holaboss_runtime.sessions.subscription import OutputQuery, Ping, Shutdown
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.mcp_consents import McpConsentRecords
from holaboss_runtime.store.records import Records
from tests.support.fake_harness import FakeHarness

WORKSPACE = "w1"
SECRET = "sk-live-4711-not-for-any-file"


@dataclass(frozen=True, slots=True)
class PlainModel:
    provider_id: str
    model_id: str
    protocol: WireProtocol = "openai_chat"
    base_url: str = "http://user:pw@127.0.0.1:9/v1?key=1"
    api_key: str = SECRET
    default_headers: dict[str, str] = field(default_factory=lambda: {"X-Api-Key": SECRET})
    provider_name: str = "A provider"
    facts: ModelEntry = UNKNOWN


class PlainModels:
    """`missing_keys` are providers without a key; `requested` records what was asked for, `gate` delays it."""

    def __init__(self) -> None:
        self.missing_keys: set[str] = set()
        self.blind: set[str | None] = set()
        self.configured = True
        self.of_subagents: str | None = None
        self.requested: list[str | None] = []
        self.gate: asyncio.Event | None = None

    async def resolve_model(self, requested: str | None, *, headers: dict[str, str]) -> PlainModel:
        self.requested.append(requested)
        if self.gate is not None:
            await self.gate.wait()
        provider, _, model = (requested or "openai/m-default").partition("/")
        if not self.configured:
            raise DomainError("unavailable", "model_not_configured", "Connect a model first.")
        if provider in self.missing_keys:
            raise DomainError(
                "unavailable", "provider_key_missing", "The key is missing.", provider_id=provider
            )
        return PlainModel(provider, model)

    def blind_model(self, requested: str | None) -> str | None:
        return requested if requested in self.blind else None

    def subagent_model(self) -> str | None:
        return self.of_subagents

    def live_secrets(self) -> frozenset[str]:
        return frozenset({SECRET})

    def web_search(self, protocol: str, base_url: str) -> None:
        """Nobody searches for a session of these tests, and nobody draws."""

    def image_generation(self) -> None: ...


class PlainWorkspaces:
    """The rows of the registry, without its rules."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, workspace_id: str) -> Workspace:
        row = self._database.row("SELECT * FROM workspaces WHERE id = ?", (workspace_id,))
        if row is None:
            raise not_found("workspace", workspace_id)
        return Workspace(
            id=row["id"],
            name=row["name"],
            status="active",
            harness="native",
            created_at=row["created_at"],
            updated_at=row["updated_at"],
            workspace_path=row["workspace_path"],
        )

    def folder(self, workspace_id: str) -> Path:
        folder = Path(self.get(workspace_id).workspace_path or "")
        if not folder.is_dir():
            raise DomainError("conflict", "workspace_folder_missing", "The folder is gone.")
        return folder

    def register_agent(self, agent_id: str, folder: Path, name: str) -> str:
        add_workspace(self._database, agent_id, folder, name=name, kind="agent")
        return agent_id

    def agent_workspace(self, workspace_id: str) -> bool:
        kind = self._database.scalar("SELECT kind FROM workspaces WHERE id = ?", (workspace_id,))
        return kind == "agent"


def add_workspace(
    database: Database, workspace_id: str, folder: Path, *, name: str, kind: str = "workspace"
) -> None:
    with database.transaction():
        database.execute(
            "INSERT INTO workspaces (id, workspace_path, kind, name, status, harness, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, 'active', 'native', ?, ?) ON CONFLICT DO NOTHING",
            (workspace_id, str(folder), kind, name, utc_now(), utc_now()),
        )


class Core:
    """One server's session core, on a fake harness unless it is given another one."""

    def __init__(
        self,
        root: Path,
        *,
        concurrency: int = 5,
        owner_kind: str = "server",
        look_s: float | None = None,
        approval_s: float = EXPIRY_S,
        harness: Harness | None = None,
        models: PlainModels | None = None,
    ) -> None:
        self.root = root
        self.folder = root / "workspace"
        self.folder.mkdir(exist_ok=True)
        self.database = Database.open(root / "runtime.db")
        add_workspace(self.database, WORKSPACE, self.folder, name="Bench")
        self.records = Records(self.database)
        self.changes = ChangeLog(self.database)
        self.models = models or PlainModels()
        self.harness = FakeHarness()
        self.workspaces = PlainWorkspaces(self.database)
        self.agents = Agents(self.database, AgentTree(root), self.workspaces, self.changes)
        self.lifetime = asyncio.Event()
        self.toolbox = Toolbox()
        self.consents = McpConsents(McpConsentRecords(self.database))
        self.sessions = Sessions(
            self.database,
            self.changes,
            self.workspaces,
            self.models,
            harness or self.harness,
            self.agents,
            toolbox=self.toolbox,
            consents=self.consents,
            concurrency=concurrency,
            owner_kind=owner_kind,
            look_s=look_s,
            approval_s=approval_s,
        )

    async def close(self) -> None:
        await self.sessions.close()
        self.database.close()

    def send(self, text: str, session_id: str | None = "s1", **fields: Any) -> QueueReply:
        request = QueueRequest(workspace_id=WORKSPACE, session_id=session_id, text=text, **fields)
        return self.sessions.control.queue(request)

    def state(self, session_id: str = "s1") -> SessionState:
        return self.sessions.control.state(WORKSPACE, session_id)

    def events(self, session_id: str = "s1", input_id: str | None = None) -> list[OutputEvent]:
        return self.records.outputs.after(session_id, 0, input_id=input_id)

    def types(self, input_id: str) -> list[str]:
        return [event.event_type for event in self.records.outputs.of_inputs([input_id])[input_id]]

    async def terminal(self, reply: QueueReply) -> OutputEvent:
        """The terminal event of an input, as a subscriber sees it."""
        query = OutputQuery(session_id=reply.session_id, input_id=reply.input_id)
        events = [event async for event in self.follow(query)]
        assert events[-1].is_terminal
        return events[-1]

    async def ask(self, text: str, session_id: str | None = "s1", **fields: Any) -> OutputEvent:
        return await self.terminal(self.send(text, session_id, **fields))

    async def follow(self, query: OutputQuery) -> AsyncGenerator[OutputEvent]:
        async with aclosing(self.sessions.follow_outputs(query, self.lifetime)) as items:
            async for item in items:
                if isinstance(item, Ping | Shutdown):
                    continue
                for row in item:
                    yield row.event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition by following the change feed; the suite's time limit bounds it."""
        position = self.changes.last_seq()
        if condition():
            return
        async with aclosing(self.sessions.follow_changes(position, self.lifetime)) as changes:
            async for _ in changes:
                if condition():
                    return

    async def until_event(self, event_type: str, session_id: str = "s1") -> OutputEvent:
        """The first event of a type in a session."""
        async with aclosing(self.follow(OutputQuery(session_id, stop_on_terminal=False))) as events:
            async for event in events:
                if event.event_type == event_type:
                    return event
        raise AssertionError(f"the stream ended before {event_type}")


@asynccontextmanager
async def running_core(
    root: Path, *, concurrency: int = 5, look_s: float | None = None, **options: Any
) -> AsyncIterator[Core]:
    """`options` are those of `Core`."""
    core = Core(root, concurrency=concurrency, look_s=look_s, **options)
    await core.sessions.start()
    try:
        yield core
    finally:
        await core.close()
