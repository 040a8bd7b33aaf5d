"""Keeps the files of the agent layer in step with the database.

What changed is read from the outbox, the files are written under a lock of the agent's tree, and only then are the
rows of the outbox deleted; a crash anywhere in between repeats a step that changes nothing the second time. A file
that cannot be written leaves its rows where they are and never fails whoever changed the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections import files, mending
from holaboss_runtime.sessions.projections.disk import NOT_WRITTEN, Outcome
from holaboss_runtime.sessions.projections.driving import Procedure, drive, drive_now
from holaboss_runtime.sessions.projections.files import Append, Replace
from holaboss_runtime.sessions.projections.folder import JOURNALS, Folder
from holaboss_runtime.sessions.projections.problems import FileProblem, ProblemLog
from holaboss_runtime.sessions.projections.tree_lock import TreeLock
from holaboss_runtime.store.outbox import OutboxRow
from holaboss_runtime.store.rebuild import Families
from holaboss_runtime.store.records import Records

BATCH = 500
LOCK = "projection.lock"


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What a flush wrote, and what it has to say about files: the ones it could not write, and the ones it found
    changed by somebody else."""

    lines: int
    problems: tuple[FileProblem, ...]

    @property
    def complete(self) -> bool:
        """Whether the files show everything now."""
        return not any(problem.code in (NOT_WRITTEN, "projection_busy") for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Difference:
    path: str
    detail: str


@dataclass(slots=True)
class _Tally:
    lines: int = 0
    problems: list[FileProblem] = field(default_factory=list[FileProblem])


class Projector:
    """`root` is the folder that holds `.openboa`."""

    def __init__(self, records: Records, root: Path) -> None:
        self._outbox = records.outbox
        self._database = records.database
        self._families = Families(records.database)
        self._tree = AgentTree(root)
        self._log = ProblemLog()
        self._flushing = asyncio.Lock()

    async def flush(self) -> FlushReport:
        """Write everything that is due. Never raises for a file; other agents and sessions go on."""
        async with self._flushing:
            return await drive(self._flush())

    def flush_now(self) -> FlushReport:
        """The same for a program without a loop."""
        return drive_now(self._flush())

    def stale(self, session_id: str) -> bool:
        """Whether the files of a session are behind the database."""
        return self._outbox.stale(session_id)

    def mark_all(self, agent_id: str | None = None) -> None:
        with self._database.transaction():
            self._families.mark_all(self._families.agents() if agent_id is None else [agent_id])

    def verify(self, session_id: str) -> list[Difference]:
        """How the files of a session differ from the database now; reads them all. A session without files: none."""
        row = self._families.session(session_id)
        if row is None or row["agent_id"] is None:
            return []
        return self._differences(Folder(self._families, self._tree, row["agent_id"], session_id))

    def verify_agent(self, agent_id: str) -> list[Difference]:
        """The same for the files of the agent itself."""
        return self._differences(Folder(self._families, self._tree, agent_id, None))

    def locked(self, agent_id: str, steps: Callable[[], Procedure[None]]) -> Procedure[None]:
        """Run `steps` as the only writer of an agent's tree. Raises `DomainError`, `OSError`."""
        folder = self._tree.agent_runtime(agent_id)
        yield partial(self._tree.make_folder, folder)
        lock = TreeLock(folder / LOCK)
        try:
            yield lock.acquire
            yield from steps()
        finally:
            lock.release()

    def _flush(self) -> Procedure[FlushReport]:
        tally = _Tally()
        for agent_id in self._outbox.agents():
            try:
                yield from self.locked(agent_id, partial(self._flush_agent, agent_id, tally))
            except DomainError as error:
                tally.problems.append(FileProblem(agent_id, _code(error), error.detail))
            except OSError as error:
                sentence = f"The files of agent {agent_id!r} cannot be written ({error.strerror})."
                tally.problems.append(FileProblem(agent_id, NOT_WRITTEN, sentence))
            else:
                self._log.well(agent_id)
        for problem in tally.problems:
            self._log.report(problem)
        return FlushReport(tally.lines, tuple(tally.problems))

    def _flush_agent(self, agent_id: str, tally: _Tally) -> Procedure[None]:
        for session_id in self._outbox.sessions(agent_id):
            yield from self._flush_folder(agent_id, session_id, tally)

    def _flush_folder(self, agent_id: str, session_id: str | None, tally: _Tally) -> Procedure[None]:
        try:
            folder = Folder(self._families, self._tree, agent_id, session_id)
            yield folder.make
        except DomainError as error:
            tally.problems.append(FileProblem(session_id or agent_id, _code(error), error.detail))
            return
        self._log.well(session_id or agent_id)
        while rows := self._outbox.pending(agent_id, session_id, limit=BATCH):
            failed = yield from self._write(folder, rows, tally)
            if failed or len(rows) < BATCH:
                return

    def _write(self, folder: Folder, rows: Sequence[OutboxRow], tally: _Tally) -> Procedure[set[str]]:
        """Bring a folder up to these rows and delete them; the streams that could not be written."""
        marked = {row.stream for row in rows if row.line is None}
        compared = marked & JOURNALS
        appends = folder.appends([row for row in rows if row.stream not in compared])
        outcome: Outcome = yield partial(_write_files, folder, appends, folder.replaces(marked))
        self._note(outcome, tally)
        unsure = compared | outcome.unsure
        failed = outcome.failed - unsure
        done = [row.seq for row in rows if row.stream not in failed | unsure]
        # A whole file that stays due is due once: one of its rows is enough.
        done += _superseded([row for row in rows if row.stream in failed - JOURNALS])
        if unsure:
            with self._database.transaction():
                seqs = self._outbox.seqs(folder.agent_id, folder.session_id, sorted(unsure))
                items = folder.mends(unsure)
            mended: Outcome = yield partial(mending.mend, folder.manifest, items)
            self._note(mended, tally)
            failed |= mended.failed
            done += [seq for stream, found in seqs.items() if stream not in mended.failed for seq in found]
        self._outbox.done(done)
        return failed

    def _note(self, outcome: Outcome, tally: _Tally) -> None:
        tally.lines += outcome.lines
        tally.problems += outcome.problems
        for path in outcome.well:
            self._log.well(path)

    def _differences(self, folder: Folder) -> list[Difference]:
        found: list[Difference] = []
        for item in folder.mends(folder.streams):
            found += [Difference(str(item.path), detail) for detail in mending.differences(item)]
        for whole in folder.replaces(folder.streams):
            if not files.same_document(whole):
                found.append(Difference(str(whole.path), "does not say what the database says"))
        return found


def _write_files(folder: Folder, appends: Sequence[Append], replaces: Sequence[Replace]) -> Outcome:
    return files.write(folder.manifest, appends, replaces)


def _superseded(rows: Sequence[OutboxRow]) -> list[int]:
    newest = {row.stream: row.seq for row in rows}
    return [row.seq for row in rows if row.seq != newest[row.stream]]


def _code(error: DomainError) -> str:
    """A path that may not be written to is a file that is not written, whatever the reason."""
    return error.code if error.code == "projection_busy" else NOT_WRITTEN
