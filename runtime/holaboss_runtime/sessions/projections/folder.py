"""Which files a session has, or an agent for all of its sessions, and what the database says should be in them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from holaboss_runtime.agents.tree import LEARNING_FILES, AgentTree
from holaboss_runtime.sessions.projections.documents import checkpoint_files, encoded_session
from holaboss_runtime.sessions.projections.files import Append, Replace
from holaboss_runtime.sessions.projections.journals import (
    ActivationJournal,
    EventJournal,
    Journal,
    LearningJournal,
    WakeJournal,
)
from holaboss_runtime.sessions.projections.manifest import NAME
from holaboss_runtime.sessions.projections.mending import Mend
from holaboss_runtime.store.outbox import ACTIVATIONS, CHECKPOINT, EVENTS, LEARN, SESSION, WAKES, OutboxRow
from holaboss_runtime.store.rebuild import Families

JOURNALS = frozenset({EVENTS, WAKES, LEARN, ACTIVATIONS})
"""Streams whose files only ever grow; the others are written whole."""


class Folder:
    """`session_id` None stands for the agent itself. Raises `DomainError` for ids that cannot name a folder."""

    def __init__(self, families: Families, tree: AgentTree, agent_id: str, session_id: str | None) -> None:
        self._families = families
        self._tree = tree
        self.agent_id = agent_id
        self.session_id = session_id
        self.path = tree.agent(agent_id) if session_id is None else tree.session(agent_id, session_id)
        self.runtime = self.path / "runtime"
        self.manifest = self.runtime / NAME

    @property
    def streams(self) -> tuple[str, ...]:
        return (LEARN, ACTIVATIONS) if self.session_id is None else (EVENTS, WAKES, SESSION, CHECKPOINT)

    @property
    def names(self) -> list[str]:
        """Every file that follows the database, relative to the folder."""
        if self.session_id is None:
            return [f"learn/{name}" for name in LEARNING_FILES.values()] + ["runtime/activation-events.jsonl"]
        runtime = [f"runtime/{name}" for name in ("checkpoint.json", "session-state.md", "working-buffer.md")]
        return ["events.jsonl", "wake-queue.jsonl", "session.json", *runtime]

    def make(self) -> None:
        """Make the folders the files lie in. Raises `DomainError`, also for a link in the way."""
        self._tree.make_folder(self.runtime)
        if self.session_id is None:
            self._tree.make_folder(self._tree.agent_learn(self.agent_id))

    def appends(self, rows: Sequence[OutboxRow]) -> list[Append]:
        """The lines of these rows by file, each in order."""
        lines: dict[tuple[str, str], list[bytes]] = {}
        for row in rows:
            if row.line is not None and row.stream in self.streams:
                name = _learning_name(row.line) if row.stream == LEARN else _JOURNAL_NAMES[row.stream]
                line = row.line.encode("utf-8", "surrogatepass") + b"\n"
                lines.setdefault((row.stream, name), []).append(line)
        return [Append(stream, name, self.path / name, found) for (stream, name), found in lines.items()]

    def replaces(self, streams: Collection[str]) -> list[Replace]:
        found: list[Replace] = []
        if self.session_id is None:
            return found
        if SESSION in streams:
            row = self._families.session(self.session_id)
            if row is not None:
                content = encoded_session(row, self._families.unfinished_actions(self.session_id))
                found.append(Replace(SESSION, "session.json", self.path / "session.json", content))
        if CHECKPOINT in streams:
            row = self._families.checkpoint(self.session_id)
            if row is not None:
                names = ("runtime/checkpoint.json", "runtime/session-state.md", "runtime/working-buffer.md")
                for name, content in zip(names, checkpoint_files(row), strict=True):
                    found.append(Replace(CHECKPOINT, name, self.path / name, content))
        return found

    def mends(self, streams: Collection[str]) -> list[Mend]:
        """Journals with everything the database has for them: reads whole families."""
        found: list[Mend] = []
        for stream in self.streams:
            if stream in streams and stream in JOURNALS:
                found += [Mend(stream, name, self.path / name, kept) for name, kept in self._journals(stream)]
        return found

    def _journals(self, stream: str) -> list[tuple[str, Journal]]:
        if self.session_id is None:
            if stream == ACTIVATIONS:
                return [
                    (_JOURNAL_NAMES[stream], ActivationJournal(self._families.activations(self.agent_id)))
                ]
            rows = self._families.learnings(self.agent_id)
            return [
                (f"learn/{name}", LearningJournal([row for row in rows if row["kind"] == kind]))
                for kind, name in LEARNING_FILES.items()
            ]
        if stream == EVENTS:
            return [(_JOURNAL_NAMES[stream], EventJournal(self._families.events(self.session_id)))]
        return [(_JOURNAL_NAMES[stream], WakeJournal(self._families.wakes(self.session_id)))]


_JOURNAL_NAMES = {
    EVENTS: "events.jsonl",
    WAKES: "wake-queue.jsonl",
    ACTIVATIONS: "runtime/activation-events.jsonl",
}


def _learning_name(line: str) -> str:
    kind = json.loads(line)["learning"]["kind"]
    return f"learn/{LEARNING_FILES.get(kind, LEARNING_FILES['lesson'])}"
