"""Taking a turn back and bringing it again: all of it or nothing, and never over what somebody else changed since.

What is overwritten is kept first, then a journal says what will be done, then the files are moved into place one by
one. Whoever opens the store after a crash finishes what the journal says; an error on the way is rolled back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from holaboss_runtime.workspace.undo.index import MAX_NAMED_BYTES
from holaboss_runtime.workspace.undo.model import ABSENT, BadRecordError, Change, State, Turn, mapping, text
from holaboss_runtime.workspace.undo.store import UndoStore
from holaboss_runtime.workspace.undo.tree import InTheWayError, plain_state

Direction = Literal["undo", "redo"]
Reason = Literal["changed", "later_turn", "interleaved", "in_the_way", "content_lost", "cannot_be_kept"]
JOURNAL = "journal.json"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a file stays as it is. `input_id` names the later turn that changed it."""

    path: str
    reason: Reason
    input_id: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    path: str
    found: State
    wanted: State

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "found": self.found.as_json(), "wanted": self.wanted.as_json()}

    @classmethod
    def from_json(cls, value: object) -> Step:
        row = mapping(value)
        return cls(text(row, "path"), State.from_json(row.get("found")), State.from_json(row.get("wanted")))


@dataclass(frozen=True, slots=True)
class Moved:
    """`turn` is null when nothing was done because of `conflicts`. `skipped` could never be taken back."""

    turn: Turn | None
    paths: list[str]
    skipped: list[str]
    conflicts: list[Conflict]


def move(
    store: UndoStore, input_id: str, direction: Direction, paths: Collection[str] | None, *, force: bool
) -> Moved | None:
    """None for a turn nobody knows. The store is held. Raises `OSError` when the disk refuses; nothing is changed then.

    With `force` what stands in the way is kept first, so that moving back brings it again.
    """
    recover(store)
    turn = store.load(input_id)
    if turn is None:
        return None
    chosen = [
        change
        for change in turn.changes.values()
        if (paths is None or change.path in paths) and change.undone == (direction == "redo")
    ]
    skipped = [change.path for change in chosen if change.problem]
    changes = {change.path: change for change in chosen if not change.problem}
    steps, conflicts = _plan(store, turn, changes, force=force)
    if conflicts:
        return Moved(None, [], skipped, conflicts)
    moved = _carry_out(store, turn, steps) if steps else turn
    return Moved(moved, [step.path for step in steps], skipped, [])


def recover(store: UndoStore) -> None:
    """Finish what a crash left. A file that is neither what it was nor what it should be is left alone."""
    journal = store.read(JOURNAL)
    if journal is None:
        return
    with suppress(BadRecordError):
        found = mapping(journal)
        turn = store.load(text(found, "input_id"))
        steps = [Step.from_json(item) for item in cast(list[object], found.get("steps") or [])]
        ready = [step for step in steps if _waits(store, step)]
        with suppress(OSError, InTheWayError):
            _apply(store, ready)
        if turn is not None:
            done = [step for step in steps if current(store, step.path).same(step.wanted)]
            store.save(_settled(turn, done), durable=True)
    store.forget(JOURNAL)


def _waits(store: UndoStore, step: Step) -> bool:
    """Nothing was done yet, or only the first half: what was there is gone."""
    found = current(store, step.path)
    return not found.same(step.wanted) and (found.same(step.found) or found.kind == "absent")


def current(store: UndoStore, path: str, *, keep: bool = False) -> State:
    """What a path is now; with `keep` its content goes into the store."""
    try:
        info = store.tree.stat(path)
        state = plain_state(info)
        if state.kind == "link":
            return replace(state, target=store.tree.read_link(path))
        if state.kind != "file":
            return state
        with store.tree.open(path) as file:
            content = file.read(MAX_NAMED_BYTES + 1)
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return State("other", problem="unreadable")
    if len(content) > MAX_NAMED_BYTES:
        return replace(state, problem="too_large")
    digest = store.blobs.put(content, durable=True) if keep else _digest(content)
    return replace(state, digest=digest, size=len(content), stamp="")


def _digest(content: bytes) -> str:
    from hashlib import sha256

    return sha256(content).hexdigest()


def _plan(
    store: UndoStore, turn: Turn, changes: Mapping[str, Change], *, force: bool
) -> tuple[list[Step], list[Conflict]]:
    later = _later_turns(store, turn)
    steps: list[Step] = []
    conflicts: list[Conflict] = []
    for change in changes.values():
        found = current(store, change.path, keep=True)
        problem = _problem(store, change, found, later, force=force)
        if problem is not None:
            conflicts.append(problem)
        else:
            steps.append(Step(change.path, found, change.other))
    conflicts += _blocked(store, steps)
    return steps, conflicts


def _problem(
    store: UndoStore, change: Change, found: State, later: Mapping[str, str], *, force: bool
) -> Conflict | None:
    wanted = change.other
    if wanted.digest and not store.blobs.has(wanted.digest):
        return Conflict(change.path, "content_lost")
    if found.problem:
        return Conflict(change.path, "cannot_be_kept")
    if force or found.same(wanted):
        return None
    if change.path in later:
        return Conflict(change.path, "later_turn", later[change.path])
    if not found.same(change.now):
        return Conflict(change.path, "changed")
    return Conflict(change.path, "interleaved") if change.interleaved else None


def _later_turns(store: UndoStore, turn: Turn) -> dict[str, str]:
    """The paths that newer turns changed and did not take back, each with the newest of them."""
    found: dict[str, str] = {}
    for other in store.turns():
        if other.input_id == turn.input_id:
            break
        for change in other.changes.values():
            if not change.undone:
                found.setdefault(change.path, other.input_id)
    return found


def _blocked(store: UndoStore, steps: Sequence[Step]) -> list[Conflict]:
    """What could not be put in its place: below a file, or where a folder is that holds more than what goes."""
    wanted = {step.path: step.wanted for step in steps}
    conflicts: list[Conflict] = []
    for step in steps:
        if step.wanted.kind != "absent" and any(
            _kind_then(store, wanted, above) not in ("folder", "absent") for above in _above(step.path)
        ):
            conflicts.append(Conflict(step.path, "in_the_way"))
        elif step.found.kind == "folder" and step.wanted.kind in ("file", "link"):
            held = _everything_in(store, step.path)
            if any(path not in wanted or wanted[path].kind != "absent" for path in held):
                conflicts.append(Conflict(step.path, "in_the_way"))
    return conflicts


def _kind_then(store: UndoStore, wanted: Mapping[str, State], path: str) -> str:
    return wanted[path].kind if path in wanted else plain_state(store.tree.stat(path)).kind


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def _everything_in(store: UndoStore, folder: str) -> list[str]:
    found: list[str] = []
    waiting = [folder]
    while waiting and len(found) < 10_000:
        inner = waiting.pop()
        paths = [f"{inner}/{name}" for name in store.tree.names(inner)]
        found += paths
        waiting += [path for path in paths if plain_state(store.tree.stat(path)).kind == "folder"]
    return found


def _carry_out(store: UndoStore, turn: Turn, steps: Sequence[Step]) -> Turn:
    journal = {"input_id": turn.input_id, "steps": [step.as_json() for step in steps]}
    store.write(JOURNAL, journal, durable=True)
    try:
        _apply(store, steps)
    except OSError:
        back = [Step(step.path, current(store, step.path), step.found) for step in steps]
        _apply(store, [step for step in back if not step.found.same(step.wanted)])
        store.forget(JOURNAL)
        raise
    moved = _settled(turn, [step for step in steps if _is_done(store, step)])
    store.save(moved, durable=True)
    store.forget(JOURNAL)
    return moved


def _is_done(store: UndoStore, step: Step) -> bool:
    """A folder that somebody put something into stays, and the turn is done with it all the same."""
    return step.wanted.kind == "absent" or current(store, step.path).same(step.wanted)


def _settled(turn: Turn, done: Iterable[Step]) -> Turn:
    """The turn once these steps are done: what was overwritten is what moving back brings again."""
    for step in done:
        change = turn.changes.get(step.path)
        if change is None:
            continue
        if step.found.same(step.wanted):
            change = replace(change, undone=not change.undone)
        elif change.undone:
            change = replace(change, before=step.found, undone=False)
        else:
            change = replace(change, after=step.found, undone=True)
        turn = turn.with_change(replace(change, interleaved=False))
    return turn


def _apply(store: UndoStore, steps: Sequence[Step]) -> None:
    """Files go first, then folders, the inner ones first; then folders come, the outer ones first, and files last."""
    tree = store.tree
    for step in steps:
        if step.found.kind in ("file", "link") and step.wanted.kind in ("absent", "folder"):
            with suppress(FileNotFoundError):
                tree.remove(step.path)
    for step in sorted(steps, key=lambda step: step.path, reverse=True):
        if step.found.kind == "folder" and step.wanted.kind != "folder":
            tree.remove_folder(step.path)
    for step in sorted(steps, key=lambda step: step.path):
        if step.wanted.kind == "folder":
            tree.make_folder(step.path)
    for step in steps:
        if step.wanted.kind == "file":
            tree.put_file(step.path, store.blobs.staged_copy(step.wanted.digest), step.wanted.mode)
        elif step.wanted.kind == "link":
            tree.put_link(step.path, step.wanted.target)
