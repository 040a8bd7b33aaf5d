"""Keeping what a turn changes: before a call what it may touch, after it what became of that.

A call that names its files costs a look at these. Any other may touch anything, so the whole workspace is looked at
before and after; what changed in between counts as its doing, also when a person did it. What changes between two
calls is nobody's. Nothing here ever keeps a tool from working: where the record cannot be kept, the turn says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from holaboss_runtime.workspace.undo.differences import line_counts
from holaboss_runtime.workspace.undo.index import Difference, Index
from holaboss_runtime.workspace.undo.model import INCOMPLETE, NOT_RECORDED, Change, State, Turn
from holaboss_runtime.workspace.undo.moving import recover
from holaboss_runtime.workspace.undo.store import UndoStore
from holaboss_runtime.workspace.undo.tree import is_recordable

MAX_COUNTED = 300


class Recorder:
    """Of one workspace in one process. Its methods block and raise `BusyError`: call them in a thread, and again."""

    def __init__(self, root: Path, *, store: UndoStore | None = None) -> None:
        self._store = store or UndoStore(root)
        self._index: Index | None = None
        self._claimed: list[frozenset[str]] = []

    def before_any(self, turn: Turn) -> None:
        """Before a call that may touch anything."""
        with self._store.held():
            known = self._index is not None
            index = self._opened()
            found = index.look()
            if not known and index.loaded:
                self._give_to_the_cut_off(found)
            index.save()
            if (current := self._current(turn)) is None or not current.open:
                self._store.save(replace(current or turn, open=True))

    def after_any(self, turn: Turn) -> None:
        with self._store.held():
            index = self._opened()
            claimed = frozenset[str]().union(*self._claimed)
            found = [each for each in index.look() if each[0] not in claimed]
            current = replace(self._current(turn) or turn, open=False)
            if not index.complete:
                current = current.with_note(INCOMPLETE)
            self._store.save(self._with(current, found))

    def before_named(self, turn: Turn, paths: Sequence[str]) -> dict[str, State]:
        """Before a call that changes these files only, and makes the folders they need. Give the answer to
        `after_named`."""
        with self._store.held():
            index = self._opened()
            states = {path: index.look_at(path) for path in _with_folders(paths)}
            self._store.save(replace(self._current(turn) or turn, pending=states))
            self._claimed.append(frozenset(states))
            return states

    def after_named(self, turn: Turn, states: dict[str, State]) -> None:
        with self._store.held():
            self._claimed.remove(frozenset(states))
            index = self._opened()
            found = [(path, before, index.look_at(path)) for path, before in states.items()]
            changed = [each for each in found if not each[1].same(each[2])]
            current = replace(self._current(turn) or turn, pending={})
            self._store.save(self._with(current, changed))

    def failed(self, turn: Turn) -> None:
        """A call could not be watched: the turn must not look complete."""
        with self._store.held():
            current = replace(self._current(turn) or turn, open=False, pending={})
            self._store.save(current.with_note(NOT_RECORDED))

    def close(self) -> None:
        """At the end of a run: remember what was seen, and make room."""
        if self._index is None:
            return
        with self._store.held():
            self._index.save()
            self._store.collect(self._index.digests())

    def _opened(self) -> Index:
        if self._index is None:
            recover(self._store)
            self._index = Index(self._store)
            for turn in self._store.turns():
                if turn.pending:  # what is no path of a workspace was not written by us
                    known = {path: was for path, was in turn.pending.items() if is_recordable(path)}
                    found = [(path, was, self._index.look_at(path)) for path, was in known.items()]
                    self._cut_off(turn, found)
        return self._index

    def _current(self, turn: Turn) -> Turn | None:
        return self._store.load(turn.input_id)

    def _with(self, turn: Turn, found: Sequence[Difference]) -> Turn:
        turn = turn.merged(Change(path, before, after) for path, before, after in found)
        changes = dict(turn.changes)
        for path, _, _ in found[:MAX_COUNTED]:
            if (change := changes.get(path)) is not None:
                added, removed = line_counts(self._store.blobs, change)
                changes[path] = replace(change, added=added, removed=removed)
        return replace(turn, changes=changes)

    def _give_to_the_cut_off(self, found: list[Difference]) -> None:
        for turn in self._store.turns():
            if turn.open:
                self._cut_off(turn, found)
                found = []

    def _cut_off(self, turn: Turn, found: list[Difference]) -> None:
        """A process died during a call of this turn. Who changed what since is not known, so it is never taken back
        without asking."""
        steps = [Change(*each, interleaved=True) for each in found if not each[1].same(each[2])]
        self._store.save(replace(turn, open=False, pending={}).merged(steps))


def _with_folders(paths: Sequence[str]) -> list[str]:
    """The paths and the folders above them, these first."""
    every: dict[str, None] = {}
    for path in paths:
        parts = path.split("/")
        every |= dict.fromkeys("/".join(parts[:length]) for length in range(1, len(parts) + 1))
    return list(every)
