"""Everything that works on one database, constructed and wired once: for a server, and for a command that works alone.

It starts nothing and listens nowhere; who composes it decides that, and ends it in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.config.document import ConfigFile
from holaboss_runtime.config.environment import Environment
from holaboss_runtime.config.secret_store.sealed_file import SealedFile
from holaboss_runtime.config.secret_store.store import References, SecretStore
from holaboss_runtime.config.service import ConfigService
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.harness.mcp_consent import McpConsents
from holaboss_runtime.harness.mcp_view import McpServers
from holaboss_runtime.harness.options import HarnessOptions
from holaboss_runtime.harness.registry import DEFAULT, HARNESSES
from holaboss_runtime.harness.services import HostServices
from holaboss_runtime.harness.toolbox import Toolbox
from holaboss_runtime.runs.policy import RunPolicies
from holaboss_runtime.sessions.approvals import EXPIRY_S
from holaboss_runtime.sessions.owners import SERVER
from holaboss_runtime.sessions.service import Sessions
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.mcp_consents import McpConsentRecords
from holaboss_runtime.store.profiles import Profiles
from holaboss_runtime.terminals.service import Terminals
from holaboss_runtime.terminals.tools import TerminalTools
from holaboss_runtime.workspace.attachments import WorkspaceAttachments
from holaboss_runtime.workspace.files import WorkspaceFiles
from holaboss_runtime.workspace.registry import WorkspaceRegistry
from holaboss_runtime.workspace.undo.service import WorkspaceUndo


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compose.

    `root` holds the workspaces, `agent_root` the folder `.openboa`; `owner` is server or cli. `orders_s` is for those
    nobody can signal, `look_s` for those that share their database with other programs. `secrets` are provider keys,
    `hidden` further secrets of this process, for redaction.
    """

    root: Path
    config_path: Path
    environment: Environment = field(repr=False)
    owner: str
    agent_root: Path
    embedded: bool = False
    harness: str = DEFAULT
    hosts: int = 1
    concurrency: int = 5
    orders_s: float | None = None
    look_s: float | None = None
    approval_s: float = EXPIRY_S
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True)
class Services:
    database: Database
    changes: ChangeLog
    config: ConfigService
    secrets: SecretStore
    mcp: McpServers
    workspaces: WorkspaceRegistry
    files: WorkspaceFiles
    undo: WorkspaceUndo
    attachments: WorkspaceAttachments
    profiles: Profiles
    agents: Agents
    sessions: Sessions
    terminals: Terminals
    harness: Harness


def compose(plan: Plan, database: Database) -> Services:
    changes = ChangeLog(database)
    config = ConfigService(
        ConfigFile(plan.config_path),
        changes,
        embedded=plan.embedded,
        environment=plan.environment,
        secrets=dict(plan.secrets),
        hidden=plan.hidden,
    )
    secrets = _secret_store(plan, config, changes)
    workspaces = WorkspaceRegistry(database, changes, plan.root)
    toolbox, host_services = Toolbox(), HostServices()
    options = HarnessOptions(hosts=plan.hosts, toolbox=toolbox, services=host_services)
    harness = HARNESSES.open(plan.harness, options)
    consents = McpConsents(McpConsentRecords(database), trusted=plan.environment.mcp_trusted)
    agents = Agents(database, AgentTree(plan.agent_root), workspaces, changes)
    sessions = Sessions(
        database,
        changes,
        workspaces,
        config,
        harness,
        agents,
        toolbox=toolbox,
        secrets=secrets,
        consents=consents,
        concurrency=plan.concurrency,
        owner_kind=plan.owner,
        orders_s=plan.orders_s,
        look_s=plan.look_s,
        approval_s=plan.approval_s,
    )
    mcp = McpServers(harness, workspaces, secrets, changes, consents)
    mcp.register(host_services)
    secrets.on_received = mcp.secret_received
    workspaces.deleted.append(mcp.workspace_deleted)
    terminals = Terminals(database, changes, workspaces, RunPolicies(sessions.records).of_person)
    terminals.in_use = sessions.control.is_busy
    if plan.owner == SERVER:  # a command ends with its work, and takes no terminals with it
        TerminalTools(terminals).register(toolbox)
    workspaces.deleted.append(terminals.workspace_deleted)
    workspaces.in_use = sessions.control.is_busy
    workspaces.discover()
    return Services(
        database=database,
        changes=changes,
        config=config,
        secrets=secrets,
        mcp=mcp,
        workspaces=workspaces,
        files=WorkspaceFiles(workspaces, changes),
        undo=WorkspaceUndo(workspaces, changes),
        attachments=WorkspaceAttachments(workspaces, sessions.records.inputs),
        profiles=Profiles(database),
        agents=agents,
        sessions=sessions,
        terminals=terminals,
        harness=harness,
    )


def _secret_store(plan: Plan, config: ConfigService, changes: ChangeLog) -> SecretStore:
    """Where secrets go: to the desktop's keychain, into a sealed file, or nowhere."""
    key = plan.environment.secrets_key
    sealed = SealedFile(plan.config_path.with_name("secrets.enc"), key) if key and not plan.embedded else None
    references = References(lambda: config.secret_references, config.note_secret)
    secrets = SecretStore(
        changes,
        sealed=sealed,
        references=references if plan.embedded else None,
        environment=plan.environment.placeholders,
    )
    config.further_secrets = secrets.live_values
    return secrets
