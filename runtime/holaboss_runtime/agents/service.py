"""Which agents there are, and what they are: the tree, the files and the rows, kept in step.

An agent is either defined by its `agent.json`, or it is a workspace of the desktop, whose `workspace.yaml` and
`AGENTS.md` say everything about it; nothing is ever written into the folder of such a workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from holaboss_client.agents import AgentDefinition, AgentList
from holaboss_client.events import Change
from holaboss_client.workspaces import Workspace
from holaboss_runtime.agents import definition, providers
from holaboss_runtime.agents.definition import AgentConfig
from holaboss_runtime.agents.documents import Document
from holaboss_runtime.agents.environments import Environments
from holaboss_runtime.agents.files import Stamp, stamp_of, write_new
from holaboss_runtime.agents.ids import check_agent_id
from holaboss_runtime.agents.substrate import (
    MEMORY,
    Learning,
    has_markers,
    read_substrate,
    seed_substrate,
    update_learnings_section,
)
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.agents import FROM_FILE, FROM_WORKSPACE, AgentIdentity, AgentRecord, AgentRecords
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.workspace.plan import load_plan


class AgentWorkspaces(Protocol):
    """What the agent layer needs of the workspace registry."""

    def get(self, workspace_id: str) -> Workspace:
        """Raises `DomainError` `workspace_not_found`, also for a deleted one."""
        ...

    def folder(self, workspace_id: str) -> Path:
        """Raises `DomainError` `workspace_folder_missing`."""
        ...

    def register_agent(self, agent_id: str, folder: Path, name: str) -> str:
        """The id of the workspace that stands for an agent, made when there is none."""
        ...

    def agent_workspace(self, workspace_id: str) -> bool:
        """Whether a workspace stands for an agent; False also for an id nobody knows."""
        ...


class Agents:
    """Lives on the thread of its database. `environments` are the ones of the same tree."""

    def __init__(
        self,
        database: Database,
        tree: AgentTree,
        workspaces: AgentWorkspaces,
        changes: ChangeLog | None = None,
    ) -> None:
        self._database = database
        self._changes = changes or ChangeLog(database)
        self._records = AgentRecords(database)
        self._workspaces = workspaces
        self._read: dict[str, tuple[Stamp, AgentConfig, str]] = {}
        self.tree = tree
        self.environments = Environments(database, tree, self._changes)

    def list(self) -> AgentList:
        """By id. A definition that cannot be read is shown as it was last understood."""
        items = [self._fresh(record) for record in self._records.all()]
        return AgentList(items=items, count=len(items))

    def get(self, agent_id: str) -> AgentDefinition:
        """Raises `DomainError` `agent_not_found`."""
        return self._fresh(self.record(agent_id))

    def record(self, agent_id: str) -> AgentRecord:
        """The row as it is, without a look at any file. Raises `DomainError` `agent_not_found`."""
        found = self._records.get(check_agent_id(agent_id))
        if found is None:
            raise not_found("agent", agent_id)
        return found

    def ensure(self, agent_id: str, provider: str | None = None, model: str | None = None) -> AgentDefinition:
        """The agent, made if it does not exist yet; the id of a workspace is that workspace.

        Raises `DomainError`: `agent_id_invalid`, `agent_config_invalid`, conflict `agent_exists` when it is there
        with another provider or model than asked for, conflict `agent_is_workspace`, and those of the tree.
        """
        record = self.prepare(agent_id, provider, model)
        return record.wire(self._records.session_count(agent_id))

    def prepare(self, agent_id: str, provider: str | None = None, model: str | None = None) -> AgentRecord:
        """`ensure` without counting sessions: folders and seeds are there afterwards, and so is the row."""
        check_agent_id(agent_id)
        found = self._records.get(agent_id)
        source = found.source if found is not None else self._source(agent_id)
        if found is None:
            self._check_letters(agent_id)
        if source == FROM_WORKSPACE:
            return self._prepare_workspace(agent_id, found, provider, model)
        return self._prepare_file(agent_id, found, provider, model)

    def config(self, agent_id: str) -> AgentConfig:
        """What the agent is allowed and how it runs, read again when its file was saved since.

        Raises `DomainError`: `agent_not_found`, `agent_config_invalid` (nothing may run then), and for a workspace
        those of `load_plan`.
        """
        record = self.record(agent_id)
        if record.source == FROM_WORKSPACE:
            config, document = self._workspace_config(record.workspace_id)
            return self._noted(record, config, document, config.fingerprint)
        path = self._config_file(record)
        stamp = stamp_of(path)
        known = self._read.get(agent_id)
        if known is not None and (known[0], known[2]) == (stamp, record.config_fingerprint):
            return known[1]
        config, document = definition.load_config(path)
        fingerprint = config.fingerprint
        if stamp is not None:
            self._read[agent_id] = stamp, config, fingerprint
        return self._noted(record, config, document, fingerprint)

    def substrate_folder(self, agent_id: str) -> Path:
        """Where the markdown of the agent lies; of a workspace, its folder."""
        record = self.record(agent_id)
        if record.source == FROM_WORKSPACE:
            return self._workspaces.folder(record.workspace_id)
        return self.tree.agent_workspace(agent_id)

    def substrate(self, agent_id: str) -> list[tuple[str, str]]:
        """`(name, text)` in reading order. Raises `DomainError` `substrate_unreadable`."""
        return read_substrate(self.substrate_folder(agent_id))

    def remember(self, agent_id: str, learnings: Sequence[Learning]) -> None:
        """Show what the agent learned in its MEMORY.md. A workspace of the desktop has a memory of its own, which this
        never touches."""
        if self.record(agent_id).source == FROM_FILE:
            shown = [found for found in learnings if not has_markers(f"{found.title} {found.detail}")]
            update_learnings_section(self.tree.agent_workspace(agent_id) / MEMORY, shown)

    def _noted(
        self, record: AgentRecord, config: AgentConfig, document: Document, fingerprint: str
    ) -> AgentConfig:
        if fingerprint != record.config_fingerprint:
            with self._database.transaction():
                self._records.update(record.agent_id, _identity(config, document))
                self._tell(record.agent_id, record.workspace_id)
        return config

    def _tell(self, agent_id: str, workspace_id: str) -> None:
        self._changes.append(Change.AGENT, workspace_id=workspace_id, payload={"agent_id": agent_id})

    def _source(self, agent_id: str) -> str:
        """Of an agent without a row: a file decides, also for an id that a workspace has, too."""
        has_file = stamp_of(self.tree.agent_config(agent_id)) is not None
        if has_file or self._workspaces.agent_workspace(agent_id):
            return FROM_FILE
        try:
            self._workspaces.get(agent_id)
        except DomainError as error:
            if error.code != "workspace_not_found":
                raise
            return FROM_FILE
        return FROM_WORKSPACE

    def _prepare_file(
        self, agent_id: str, found: AgentRecord | None, provider: str | None, model: str | None
    ) -> AgentRecord:
        path = self.tree.agent_config(agent_id)
        first = None if stamp_of(path) is not None else self._first_config(agent_id, found, provider, model)
        self.tree.make_agent(agent_id)
        if first is not None:
            write_new(path, first)
        seed_substrate(self.tree, agent_id)
        if found is None:
            config, document = definition.load_config(self.tree.safe(path))
            folder = self.tree.agent_workspace(agent_id)
            with self._database.transaction(durable=True):
                workspace_id = self._workspaces.register_agent(agent_id, folder, agent_id)
                self._records.insert(agent_id, workspace_id, FROM_FILE, _identity(config, document))
                self._tell(agent_id, workspace_id)
        record = self.record(agent_id)
        _check_asked(record, provider, model)
        return record

    def _prepare_workspace(
        self, agent_id: str, found: AgentRecord | None, provider: str | None, model: str | None
    ) -> AgentRecord:
        if provider is not None or model is not None:
            raise _is_workspace(agent_id)
        workspace = self._workspaces.get(agent_id)
        if found is None:
            config, document = self._workspace_config(workspace.id)
            with self._database.transaction():
                self._records.insert(agent_id, workspace.id, FROM_WORKSPACE, _identity(config, document))
                self._tell(agent_id, workspace.id)
        self.tree.make_agent(agent_id)
        return self.record(agent_id)

    def _workspace_config(self, workspace_id: str) -> tuple[AgentConfig, Document]:
        model = load_plan(self._workspaces.folder(workspace_id)).model
        return AgentConfig(model=model or providers.DEFAULT), {}

    def _config_file(self, record: AgentRecord) -> Path:
        """The file of an agent; one that was removed is made anew for the same provider and model."""
        path = self.tree.agent_config(record.agent_id)
        if stamp_of(path) is None:
            self.tree.make_agent(record.agent_id)
            write_new(path, definition.scaffold(record.provider, record.model, path))
        return self.tree.safe(path)

    def _first_config(
        self, agent_id: str, found: AgentRecord | None, provider: str | None, model: str | None
    ) -> bytes:
        path = self.tree.agent_config(agent_id)
        if found is not None:
            return definition.scaffold(found.provider, found.model, path)
        return definition.scaffold(provider, model, path)

    def _check_letters(self, agent_id: str) -> None:
        other = self._records.same_letters(agent_id)
        if other is not None:
            raise DomainError(
                "conflict",
                "agent_exists",
                f"There is an agent {other!r} already. Use its exact spelling, or choose another id.",
            )

    def _fresh(self, record: AgentRecord) -> AgentDefinition:
        try:
            self.config(record.agent_id)
        except DomainError:
            pass  # a run says what is wrong with it
        else:
            record = self.record(record.agent_id)
        return record.wire(self._records.session_count(record.agent_id))


def _identity(config: AgentConfig, document: Document) -> AgentIdentity:
    return AgentIdentity(config.provider, config.model, config.runner, document, config.fingerprint)


def _check_asked(record: AgentRecord, provider: str | None, model: str | None) -> None:
    """Asking for an agent as it is changes nothing; asking for another one is not silently ignored."""
    other_provider = provider is not None and providers.canonical(provider.strip()) != record.provider
    if other_provider or (model is not None and model != record.model):
        raise DomainError(
            "conflict",
            "agent_exists",
            f"The agent {record.agent_id!r} exists with the provider {record.provider} and the model {record.model}."
            " Change its agent.json, or choose another id.",
        )


def _is_workspace(agent_id: str) -> DomainError:
    return DomainError(
        "conflict",
        "agent_is_workspace",
        f"{agent_id!r} is a workspace. Its model is chosen in its workspace.yaml or in the settings.",
    )
