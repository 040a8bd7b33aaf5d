"""What an operation works on: the open store of the place that the options, or the environment, name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holaboss_runtime.cli.place import Place
from holaboss_runtime.cli.state_store.request import Request
from holaboss_runtime.launch import STANDALONE_ROOT
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.messages import MessageRecords
from holaboss_runtime.store.outbox import Outbox
from holaboss_runtime.store.output_events import OutputEventRecords
from holaboss_runtime.store.queue import InputQueue
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.session_facts import SessionFactRecords
from holaboss_runtime.store.sessions import SessionRecords
from holaboss_runtime.store.wakes import WakeRecords

if TYPE_CHECKING:
    from holaboss_runtime.workspace.registry import WorkspaceRegistry


@dataclass(frozen=True, slots=True)
class Options:
    """`workspace_root` is the folder that holds the workspaces."""

    place: Place
    workspace_root: Path


def read_options(options: Request, environ: Mapping[str, str]) -> Options:
    """`options` are `dbPath`, `workspaceRoot` and `sandboxRoot`; what they leave open the environment says."""
    sandbox = options.optional("sandboxRoot") or environ.get("HB_SANDBOX_ROOT", "").strip()
    workspaces = options.optional("workspaceRoot")
    if not sandbox and workspaces:
        sandbox = str(Path(workspaces).expanduser().absolute().parent)
    root = Path(sandbox or STANDALONE_ROOT).expanduser().absolute()
    state = root / "state"
    database = options.optional("dbPath") or environ.get("HOLABOSS_RUNTIME_DB_PATH", "").strip()
    path = Path(database).expanduser().absolute() if database else state / "runtime.db"
    place = Place(root, root, state, path, state / "runtime-config.json")
    managed = Path(workspaces).expanduser().absolute() if workspaces else root / "workspace"
    return Options(place, managed)


class Context:
    """One request's view of the store."""

    def __init__(self, database: Database, options: Options) -> None:
        self.database = database
        self._options = options
        self.queue = InputQueue(database)
        self.sessions = SessionRecords(database, Outbox(database))
        self.facts = SessionFactRecords(database)
        self.messages = MessageRecords(database)
        self.output_events = OutputEventRecords(database)

    def tell(self, session_id: str, input_id: str | None = None) -> None:
        """Every screen should look at this session again. Inside the transaction of the change."""
        publisher = Publisher(Records(self.database), ChangeLog(self.database))
        session = self.sessions.get(session_id)
        if session is None:
            return
        if input_id is not None:
            publisher.queue(session.workspace_id, session_id, input_id)
        publisher.state(session_id)
        publisher.session(session.workspace_id, session_id)

    @cached_property
    def registry(self) -> WorkspaceRegistry:
        from holaboss_runtime.workspace.registry import WorkspaceRegistry

        place, managed = self._options.place, self._options.workspace_root
        registry = WorkspaceRegistry(self.database, ChangeLog(self.database), place.root, managed=managed)
        registry.in_use = WakeRecords(self.database).any_running
        return registry
