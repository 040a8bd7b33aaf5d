"""Reading the folders of an existing tree, whoever wrote them: plain data and a report. Nothing is changed.

A file that cannot be read is named and left out; the rest of the session is still there.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holaboss_runtime.agents.files import read_bounded
from holaboss_runtime.agents.tree import LEARNING_FILES, AgentTree
from holaboss_runtime.sessions.projections.journals import (
    ActivationJournal,
    EventJournal,
    Folded,
    LearningJournal,
    WakeJournal,
)
from holaboss_runtime.sessions.projections.lines import (
    MAX_DEPTH,
    MAX_LINE,
    parse_object,
    problems_of,
    read_lines,
)
from holaboss_runtime.sessions.projections.problems import FileProblem
from holaboss_runtime.store import journal

CHECKPOINT_VERSION = 6
_UPGRADED = (2, 3, 4, 5)
_CHECKPOINT_DEFAULTS: dict[str, Any] = {
    "lastEventIds": [],
    "eventCursor": {"lastContextEventId": None, "lastProcessedEventId": None, "lastProducedEventId": None},
    "nextWakeAt": None,
    "consecutiveFollowUps": 0,
    "activeOutcome": None,
    "queuedWakes": [],
    "lastAgentSetupFingerprint": None,
    "outcomeEvaluationHistory": [],
}
_SESSION_KINDS = frozenset({journal.APPENDED, journal.PROCESSED})
_WAKE_KINDS = frozenset({journal.ENQUEUED, journal.COMPLETED})

Fields = dict[str, Any]


@dataclass(slots=True)
class SessionFiles:
    """What the folder of one session says. `document` is None when `session.json` is missing or damaged."""

    agent_id: str
    session_id: str
    path: Path
    document: Fields | None = None
    events: Folded = field(default_factory=dict[str, Fields])
    wakes: Folded = field(default_factory=dict[str, Fields])
    checkpoint: Fields | None = None
    state: str | None = None
    buffer: str | None = None
    problems: list[FileProblem] = field(default_factory=list[FileProblem])

    @property
    def empty(self) -> bool:
        return self.document is None and not self.events

    def problem(self, path: Path, code: str, detail: str) -> None:
        self.problems.append(FileProblem(str(path), code, detail))


@dataclass(slots=True)
class AgentFilesRead:
    """What the agent's own journals say."""

    learnings: list[Fields]
    activations: list[Fields]
    problems: list[FileProblem]


def read_session(tree: AgentTree, agent_id: str, session_id: str) -> SessionFiles:
    """Raises `DomainError` for a name that is no id."""
    found = SessionFiles(agent_id, session_id, tree.session(agent_id, session_id))
    path = tree.session_document(agent_id, session_id)
    found.document = _document(found, path, "session_document_damaged")
    events = _journal(found, tree.session_events(agent_id, session_id), _SESSION_KINDS)
    found.events = EventJournal([]).fold(events)
    if found.document is None and found.events:
        sentence = f"{path} is missing or cannot be read; the session was made again from its events."
        found.problem(path, "session_document_rebuilt", sentence)
    found.wakes = WakeJournal([]).fold(_journal(found, tree.wake_queue(agent_id, session_id), _WAKE_KINDS))
    found.checkpoint = _checkpoint(found, tree.checkpoint(agent_id, session_id))
    found.state = _text(found, tree.session_state(agent_id, session_id))
    found.buffer = _text(found, tree.working_buffer(agent_id, session_id))
    return found


def read_agent(tree: AgentTree, agent_id: str) -> AgentFilesRead:
    """Raises `DomainError` for a name that is no id."""
    problems: list[FileProblem] = []
    learnings: list[Fields] = []
    for kind in LEARNING_FILES:
        lines = _lines(tree.learnings(agent_id, kind), problems)
        learnings += LearningJournal([]).fold(lines).values()
    activations = ActivationJournal([]).fold(_lines(tree.activations(agent_id), problems))
    return AgentFilesRead(learnings, list(activations.values()), problems)


def _document(found: SessionFiles, path: Path, code: str) -> Fields | None:
    try:
        raw = read_bounded(path, MAX_LINE)
    except FileNotFoundError:
        return None
    except OSError as error:
        found.problem(path, code, f"{path} cannot be read ({error.strerror}). Check what is there.")
        return None
    document = parse_object(raw.removeprefix(b"\xef\xbb\xbf")) if len(raw) <= MAX_LINE else None
    if document is None:
        found.problem(
            path,
            code,
            f"{path} is not one JSON object of at most {MAX_LINE // 1024 // 1024} MiB and {MAX_DEPTH} levels."
            " Correct or remove it.",
        )
    return document


def _journal(found: SessionFiles, path: Path, kinds: Collection[str]) -> list[Fields]:
    records = _lines(path, found.problems)
    strange = {str(record.get("kind")) for record in records} - set(kinds)
    if strange:
        named = ", ".join(sorted(strange))[:200]
        sentence = f"{path} has records of a kind nobody knows ({named}); they stay in the file."
        found.problem(path, "record_kind_unknown", sentence)
    return records


def _lines(path: Path, problems: list[FileProblem]) -> list[Fields]:
    try:
        lines = read_lines(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        sentence = f"{path} cannot be read ({error.strerror}). Check what is there."
        problems.append(FileProblem(str(path), "journal_unreadable", sentence))
        return []
    problems += problems_of(path, lines)
    return lines.records


def _checkpoint(found: SessionFiles, path: Path) -> Fields | None:
    document = _document(found, path, "checkpoint_damaged")
    if document is None:
        return None
    version = document.get("version")
    if version == CHECKPOINT_VERSION:
        return document
    if version not in _UPGRADED:
        shown = json.dumps(version)[:40]
        sentence = f"{path} has the version {shown}, which nobody here knows; the session goes on without it."
        found.problem(path, "checkpoint_version_unknown", sentence)
        return None
    return _CHECKPOINT_DEFAULTS | document | {"version": CHECKPOINT_VERSION}


def _text(found: SessionFiles, path: Path) -> str | None:
    try:
        raw = read_bounded(path, MAX_LINE)
        return raw.decode("utf-8") if len(raw) <= MAX_LINE else None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        found.problem(
            path, "notes_unreadable", f"{path} cannot be read as text; the session goes on without it."
        )
        return None
