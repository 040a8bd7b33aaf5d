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
from holaboss_runtime.config.service import ConfigService
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.harness.registry import DEFAULT, HARNESSES, HarnessOptions
from holaboss_runtime.harness.services import HostServices
from holaboss_runtime.harness.toolbox import Toolbox
from holaboss_runtime.sessions.service import Sessions
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.profiles import Profiles
from holaboss_runtime.workspace.files import WorkspaceFiles
from holaboss_runtime.workspace.registry import WorkspaceRegistry


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
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True)
class Services:
    database: Database
    changes: ChangeLog
    config: ConfigService
    workspaces: WorkspaceRegistry
    files: WorkspaceFiles
    profiles: Profiles
    agents: Agents
    sessions: Sessions
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
    workspaces = WorkspaceRegistry(database, changes, plan.root)
    toolbox, host_services = Toolbox(), HostServices()
    options = HarnessOptions(hosts=plan.hosts, toolbox=toolbox, services=host_services)
    harness = HARNESSES.open(plan.harness, options)
    agents = Agents(database, AgentTree(plan.agent_root), workspaces, changes)
    sessions = Sessions(
        database,
        changes,
        workspaces,
        config,
        harness,
        agents,
        toolbox=toolbox,
        concurrency=plan.concurrency,
        owner_kind=plan.owner,
        orders_s=plan.orders_s,
        look_s=plan.look_s,
    )
    workspaces.in_use = sessions.control.is_busy
    workspaces.discover()
    return Services(
        database=database,
        changes=changes,
        config=config,
        workspaces=workspaces,
        files=WorkspaceFiles(workspaces, changes),
        profiles=Profiles(database),
        agents=agents,
        sessions=sessions,
        harness=harness,
    )
