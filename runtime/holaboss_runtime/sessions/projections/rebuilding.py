"""The two ways back after a disaster: the files anew from the database, and a database anew from the files.

Nothing is deleted: old files are moved aside, and a new database is made beside the old one. The files carry the
agent layer only; sessions of the desktop, results of turns and what an executor remembers are not in them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections.disk import set_aside
from holaboss_runtime.sessions.projections.driving import Procedure, drive, drive_now
from holaboss_runtime.sessions.projections.folder import Folder
from holaboss_runtime.sessions.projections.importer import Importer, ImportReport
from holaboss_runtime.sessions.projections.projector import FlushReport, Projector
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.rebuild import Families
from holaboss_runtime.store.records import Records


class Rebuilder:
    """`root` is the folder that holds `.openboa`."""

    def __init__(self, records: Records, projector: Projector, root: Path) -> None:
        self._families = Families(records.database)
        self._projector = projector
        self._tree = AgentTree(root)

    async def rebuild_projections(self, agent_id: str | None = None) -> FlushReport:
        """Write every file of an agent, or of all, anew; the old ones stay beside them as `<name>.replaced-<time>`.

        Raises `DomainError`, `OSError` when an old file cannot be moved; the files that are left are still due then.
        """
        await drive(self._move_aside(agent_id))
        return await self._projector.flush()

    def rebuild_projections_now(self, agent_id: str | None = None) -> FlushReport:
        """The same for a program without a loop."""
        drive_now(self._move_aside(agent_id))
        return self._projector.flush_now()

    def _move_aside(self, agent_id: str | None) -> Procedure[None]:
        agents = self._families.agents() if agent_id is None else [agent_id]
        for agent in agents:
            # Noted first: whatever happens in between, the files will be written.
            self._projector.mark_all(agent)
            yield from self._projector.locked(agent, partial(self._move_agent, agent))

    def _move_agent(self, agent_id: str) -> Procedure[None]:
        for session_id in [None, *self._families.sessions(agent_id)]:
            yield partial(_move_files, Folder(self._families, self._tree, agent_id, session_id))


def rebuild_database(path: Path, make_agents: Callable[[Database], Agents]) -> ImportReport:
    """Make a new database at `path` from the tree that `make_agents` serves.

    Raises `DomainError` conflict `database_exists`, and a `DatabaseError`; nothing is left behind then.
    """
    if path.exists():
        raise DomainError(
            "conflict",
            "database_exists",
            f"There is a file at {path} already. Choose another path, or move the file away first.",
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        database = Database.open(path)
        try:
            importer = Importer(
                Records(database), make_agents(database), private=(path.parent,), outside=True
            )
            return importer.import_new_now()
        finally:
            database.close()
    except BaseException:
        for left in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            left.unlink(missing_ok=True)
        raise


def _move_files(folder: Folder) -> None:
    for name in folder.names:
        set_aside(folder.path / name, "replaced")
    folder.manifest.unlink(missing_ok=True)
