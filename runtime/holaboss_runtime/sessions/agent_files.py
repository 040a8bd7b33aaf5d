"""The files of the agent layer as one thing: kept in step while a server lives, written anew, and taken in.

What does the work is loaded when it is first needed, which a desktop without agents never does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holaboss_client.inspection import FileProblem, ImportedTree, RebuiltProjections
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections import problems
from holaboss_runtime.sessions.projections.keeper import Keeper
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.records import Records

if TYPE_CHECKING:
    from holaboss_runtime.sessions.projections.importer import Importer
    from holaboss_runtime.sessions.projections.projector import Projector
    from holaboss_runtime.sessions.projections.rebuilding import Rebuilder

log = logging.getLogger(__name__)


class AgentFiles:
    """One thing at a time. `private` are places no imported session may reach; `notify` is called when something may
    be there to run."""

    def __init__(
        self,
        records: Records,
        publisher: Publisher,
        agents: Agents,
        notify: Callable[[], None],
        *,
        private: Sequence[Path] = (),
    ) -> None:
        self._records = records
        self._publish = publisher
        self._agents = agents
        self._notify = notify
        self._private = private
        self._keeper = Keeper(self.flush, records.outbox)
        self._working = asyncio.Lock()

    @cached_property
    def _projector(self) -> Projector:
        from holaboss_runtime.sessions.projections.projector import Projector

        return Projector(self._records, self._agents.tree.root)

    @cached_property
    def _importer(self) -> Importer:
        from holaboss_runtime.sessions.projections.importer import Importer

        return Importer(self._records, self._agents, private=self._private)

    @cached_property
    def _rebuilder(self) -> Rebuilder:
        from holaboss_runtime.sessions.projections.rebuilding import Rebuilder

        return Rebuilder(self._records, self._projector, self._agents.tree.root)

    async def start(self) -> None:
        """Take in sessions that are only there as files, then keep all files in step."""
        await self.take_in()
        self._keeper.start()

    async def take_in(self) -> None:
        """Agents and sessions that are only there as files become rows; what is wrong with them is logged."""
        if not self._agents.tree.agents.is_dir():
            return
        report = await self._importer.import_new()
        for problem in report.problems:
            log.warning("%s: %s", problem.code, problem.detail)
        if report.sessions:
            await self.flush()

    async def close(self) -> None:
        """Write what is still noted; what cannot be written stays noted."""
        await self._keeper.close()
        await self.flush()

    async def flush(self) -> bool:
        """Make the files show everything that is committed; whether they do."""
        if not self._records.outbox.agents():
            return True
        return (await self._projector.flush()).complete

    async def rebuild_projections(self, agent_id: str | None = None) -> RebuiltProjections:
        """Every file of an agent, or of all, from the database; the old ones stay beside them under another name.

        Raises `DomainError`: `agent_not_found`, unavailable `projection_not_writable` or `projection_busy`.
        """
        if agent_id is not None:
            self._agents.record(agent_id)
        async with self._working:
            try:
                report = await self._rebuilder.rebuild_projections(agent_id)
            except OSError as error:
                raise _not_writable(error) from error
        return RebuiltProjections(
            lines=report.lines, complete=report.complete, problems=_wire(report.problems)
        )

    async def import_tree(self) -> ImportedTree:
        """Agents and sessions that only exist as files; what is pending in them runs. Raises `DomainError`."""
        async with self._working:
            try:
                report = await self._importer.import_new()
            except OSError as error:
                raise _not_writable(error) from error
            with self._records.database.transaction():
                for session_id in report.sessions:
                    self._tell(session_id)
                self._records.database.after_commit(self._notify)
            await self.flush()
        return ImportedTree(
            agents=report.agents,
            sessions=report.sessions,
            events=report.events,
            problems=_wire(report.problems),
        )

    def _tell(self, session_id: str) -> None:
        session = self._records.sessions.get(session_id)
        if session is not None:
            self._publish.session(session.workspace_id, session_id)
            self._publish.state(session_id)


def _wire(found: Iterable[problems.FileProblem]) -> list[FileProblem]:
    return [FileProblem(path=one.path, code=one.code, detail=one.detail) for one in found]


def _not_writable(error: OSError) -> DomainError:
    return DomainError(
        "unavailable",
        "projection_not_writable",
        f"{error.filename} cannot be used ({error.strerror}). Make it writable, and try again.",
    )
