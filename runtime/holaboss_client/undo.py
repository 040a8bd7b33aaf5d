"""What turns did to the files of a workspace, and taking it back, as they travel."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel


class ChangedFile(WireModel):
    """One file a turn changed; a file that was moved is one deleted and one created.

    With a `problem` it cannot be taken back: `too_large`, `no_room` or `no_time` to be kept, `unreadable`, `special`
    (no file).
    `added` and `removed` are lines; null where they were not counted.
    """

    path: str
    change: Literal["created", "changed", "deleted"]
    state: Literal["applied", "undone"]
    added: int | None = None
    removed: int | None = None
    problem: str | None = None


class TurnChanges(WireModel):
    """What one turn did. `files` may be fewer than `file_count`.

    `notes`: `incomplete` (the workspace has more files than are watched), `too_many_changes`, `not_recorded` (a call
    could not be watched).
    """

    input_id: str
    session_id: str
    created_at: str
    state: Literal["applied", "undone", "partly_undone"]
    files: list[ChangedFile]
    file_count: int
    added: int
    removed: int
    notes: list[str] = Field(default_factory=list[str])


class TurnChangesList(WireModel):
    """`GET /workspaces/{id}/changes`: turns that changed files, newest first."""

    items: list[TurnChanges]
    total: int


class FileDiff(ChangedFile):
    """`diff` is unified text; null for what is not text, empty and `truncated` for what is too much."""

    diff: str | None = None
    truncated: bool = False


class TurnDiff(WireModel):
    """`GET /workspaces/{id}/changes/{input_id}`."""

    turn: TurnChanges
    files: list[FileDiff]


class UndoRequest(RequestModel):
    """`POST /workspaces/{id}/changes/{input_id}/undo` and `…/redo`. Without `paths` it is the whole turn.

    A file that was changed since is a conflict (409 `undo_conflict`, `conflicts: [{path, reason, input_id?}]`) and
    nothing is done. With `force` what is there now is kept first, and comes back when it is moved the other way.
    """

    paths: list[str] | None = Field(default=None, max_length=5_000)
    force: bool = False


class UndoReply(WireModel):
    """`paths` were moved; `skipped` can never be."""

    turn: TurnChanges
    paths: list[str]
    skipped: list[str] = Field(default_factory=list[str])
