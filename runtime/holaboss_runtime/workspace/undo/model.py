"""The words of undo: what a path was, what a turn made of it, and the record of a turn. Knows no disk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from holaboss_client.base import utc_now

Kind = Literal["absent", "file", "link", "folder", "other"]
TurnState = Literal["applied", "undone", "partly_undone"]

VERSION = 1
MAX_CHANGES = 5_000
MAX_NOTES = 20
TOO_MANY = "too_many_changes"
INCOMPLETE = "incomplete"
NOT_RECORDED = "not_recorded"
_KINDS = frozenset(get_args(Kind))
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BadRecordError(ValueError):
    """A record on the disk is not one of ours, or was damaged."""


@dataclass(frozen=True, slots=True)
class State:
    """What a path is. `digest` names the content of a file, `target` is where a link leads, `mode` are permission bits.

    A file whose content is not kept says why in `problem` (`too_large`, `no_room`, `no_time`, `unreadable`, `special`)
    and is told apart by its `stamp`.
    """

    kind: Kind
    digest: str = ""
    target: str = ""
    mode: int = 0
    size: int = 0
    problem: str = ""
    stamp: str = ""

    def same(self, other: State) -> bool:
        """Whether both are the same to a person: content and permissions of a file, the target of a link."""
        if self.kind != other.kind:
            return False
        if self.kind == "link":
            return self.target == other.target
        if self.kind == "folder" or self.kind == "absent":
            return True
        if self.digest and other.digest:
            return self.digest == other.digest and self.mode == other.mode
        return not self.digest and not other.digest and self.stamp == other.stamp

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value or name == "kind"}

    @classmethod
    def from_json(cls, value: object) -> State:
        """Raises `BadRecordError`."""
        found = mapping(value)
        kind, digest = text(found, "kind"), text(found, "digest")
        if kind not in _KINDS or (digest and not _DIGEST.fullmatch(digest)):
            raise BadRecordError("not the state of a path")
        return cls(
            cast(Kind, kind),
            digest,
            text(found, "target"),
            number(found, "mode") & 0o777,
            number(found, "size"),
            text(found, "problem"),
            text(found, "stamp"),
        )


ABSENT = State("absent")


@dataclass(frozen=True, slots=True)
class Change:
    """What a turn made of one path. `undone`: the path was taken back to `before`.

    `interleaved`: somebody else changed it between two changes of this turn, so taking it back would lose theirs.
    `added` and `removed` are lines; None where nobody counts them.
    """

    path: str
    before: State
    after: State
    undone: bool = False
    interleaved: bool = False
    added: int | None = None
    removed: int | None = None

    @property
    def problem(self) -> str:
        """Why it cannot be taken back; empty when it can."""
        return self.before.problem or self.after.problem

    @property
    def kind(self) -> Literal["created", "deleted", "changed"]:
        if self.before.kind == "absent":
            return "created"
        return "deleted" if self.after.kind == "absent" else "changed"

    @property
    def now(self) -> State:
        """What the path is while nobody else touched it."""
        return self.before if self.undone else self.after

    @property
    def other(self) -> State:
        """What it becomes when it is taken back, or brought again."""
        return self.after if self.undone else self.before

    def as_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "path": self.path,
            "before": self.before.as_json(),
            "after": self.after.as_json(),
        }
        optional = {
            "undone": self.undone or None,
            "interleaved": self.interleaved or None,
            "added": self.added,
            "removed": self.removed,
        }
        return plain | {name: value for name, value in optional.items() if value is not None}

    @classmethod
    def from_json(cls, value: object) -> Change:
        """Raises `BadRecordError`."""
        found = mapping(value)
        lines = {name: number(found, name) if name in found else None for name in ("added", "removed")}
        return cls(
            text(found, "path"),
            State.from_json(found.get("before")),
            State.from_json(found.get("after")),
            found.get("undone") is True,
            found.get("interleaved") is True,
            **lines,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """What the turn of one input did.

    `open`: a call is under way that may touch anything; `pending` is what the files of one were that names them.
    """

    input_id: str
    session_id: str
    created_at: str = field(default_factory=utc_now)
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    notes: tuple[str, ...] = ()
    open: bool = False
    pending: Mapping[str, State] = field(default_factory=dict[str, State])

    @property
    def state(self) -> TurnState:
        undone = {change.undone for change in self.changes.values() if not change.problem}
        return "partly_undone" if len(undone) == 2 else "undone" if undone == {True} else "applied"

    @property
    def empty(self) -> bool:
        return not (self.changes or self.notes or self.open or self.pending)

    def with_change(self, change: Change) -> Turn:
        return replace(self, changes={**self.changes, change.path: change})

    def with_note(self, note: str) -> Turn:
        known = note in self.notes or len(self.notes) >= MAX_NOTES
        return self if known else replace(self, notes=(*self.notes, note))

    def merged(self, steps: Iterable[Change]) -> Turn:
        """With further steps; a path that is again what it was is forgotten."""
        changes, turn = dict(self.changes), self
        for new in steps:
            old = changes.get(new.path)
            if old is None and len(changes) >= MAX_CHANGES:
                turn = turn.with_note(TOO_MANY)
                continue
            if old is not None and not old.undone:
                apart = old.interleaved or new.interleaved or not old.after.same(new.before)
                new = replace(new, before=old.before, interleaved=apart)
            if new.before.same(new.after) and not new.interleaved:
                changes.pop(new.path, None)
            else:
                changes[new.path] = new
        return replace(turn, changes=changes)

    def digests(self) -> set[str]:
        """The contents that must be kept for it."""
        changed = (state for change in self.changes.values() for state in (change.before, change.after))
        return {state.digest for state in (*changed, *self.pending.values()) if state.digest}

    def as_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "input_id": self.input_id,
            "session_id": self.session_id,
            "created_at": self.created_at,
            "open": self.open,
            "notes": list(self.notes),
            "pending": {path: state.as_json() for path, state in self.pending.items()},
            "changes": [change.as_json() for change in self.changes.values()],
        }

    @classmethod
    def from_json(cls, value: object) -> Turn:
        """Raises `BadRecordError`."""
        found = mapping(value)
        if found.get("version") != VERSION or not isinstance(found.get("changes"), list):
            raise BadRecordError("not the record of a turn")
        changes = [Change.from_json(item) for item in cast(list[object], found["changes"])]
        notes = cast(list[object], found["notes"]) if isinstance(found.get("notes"), list) else []
        return cls(
            text(found, "input_id"),
            text(found, "session_id"),
            text(found, "created_at"),
            {change.path: change for change in changes[:MAX_CHANGES]},
            tuple(str(note) for note in notes[:MAX_NOTES]),
            found.get("open") is True,
            {path: State.from_json(state) for path, state in mapping(found.get("pending", {})).items()},
        )


def mapping(value: object) -> dict[str, Any]:
    """Raises `BadRecordError` for anything but a JSON object."""
    if not isinstance(value, dict):
        raise BadRecordError("not an object")
    return cast(dict[str, Any], value)


def text(found: dict[str, Any], name: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise BadRecordError(f"{name} is not text")
    return value


def number(found: dict[str, Any], name: str) -> int:
    value = found.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRecordError(f"{name} is not a number")
    return value
