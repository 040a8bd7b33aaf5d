"""Undo for clients: which turns changed what, taking one back, bringing it again. It runs nothing and asks no model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from holaboss_client.events import Change as FeedChange
from holaboss_client.undo import (
    ChangedFile,
    FileDiff,
    TurnChanges,
    TurnChangesList,
    TurnDiff,
    UndoReply,
    UndoRequest,
)
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.workspace.registry import WorkspaceRegistry
from holaboss_runtime.workspace.undo.differences import unified
from holaboss_runtime.workspace.undo.model import BadRecordError, Change, Turn
from holaboss_runtime.workspace.undo.moving import Conflict, Direction, Moved, move
from holaboss_runtime.workspace.undo.store import BusyError, UndoStore, once_free

MAX_FILES = 1_000
MAX_DIFF_CHARS = 64 << 10
MAX_DIFFS_CHARS = 1 << 20
MAX_NAMED_CONFLICTS = 200

T = TypeVar("T")


class WorkspaceUndo:
    def __init__(self, workspaces: WorkspaceRegistry, changes: ChangeLog) -> None:
        self._workspaces = workspaces
        self._changes = changes

    async def turns(self, workspace_id: str, *, session_id: str | None, limit: int) -> TurnChangesList:
        """Newest first. Raises `DomainError` for a workspace that cannot be reached."""
        store = self._store(workspace_id)
        found = await asyncio.to_thread(store.turns)
        chosen = [turn for turn in found if session_id in (None, turn.session_id)]
        return TurnChangesList(items=[_shown(turn) for turn in chosen[:limit]], total=len(chosen))

    async def diff(self, workspace_id: str, input_id: str) -> TurnDiff:
        """Raises `changes_not_found`."""
        store = self._store(workspace_id)
        shown = await asyncio.to_thread(_diffs, store, input_id)
        if shown is None:
            raise not_found("changes", input_id)
        return shown

    async def move(
        self, workspace_id: str, input_id: str, direction: Direction, body: UndoRequest
    ) -> UndoReply:
        """Raises `changes_not_found`, and conflicts: `workspace_busy`, `undo_conflict` (which names the files and why),
        `undo_failed`. Nothing was changed then."""
        store = self._store(workspace_id)
        if not store.exists:
            raise not_found("changes", input_id)
        if self._workspaces.in_use(workspace_id):
            raise _busy("Something is running in this workspace. Wait until it is done, or stop it.")
        paths = None if body.paths is None else frozenset(body.paths)
        moved = await self._held(store, lambda: move(store, input_id, direction, paths, force=body.force))
        if moved is None:
            raise not_found("changes", input_id)
        if moved.turn is None:
            raise _refusal(moved, direction)
        if moved.paths:
            self._changes.append(
                FeedChange.FILES, workspace_id=workspace_id, payload={"paths": moved.paths[:MAX_FILES]}
            )
        return UndoReply(turn=_shown(moved.turn), paths=moved.paths, skipped=moved.skipped)

    def _store(self, workspace_id: str) -> UndoStore:
        return UndoStore(self._workspaces.folder(workspace_id).resolve())

    async def _held(self, store: UndoStore, work: Callable[[], T]) -> T:
        def alone() -> T:
            with store.held():
                return work()

        try:
            return await once_free(alone)
        except BusyError:
            raise _busy("The changes of this workspace are being recorded. Try again in a moment.") from None
        except (OSError, BadRecordError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            detail = f"The files could not be moved: {reason}. Nothing was changed."
            raise DomainError("conflict", "undo_failed", detail) from error


def _busy(detail: str) -> DomainError:
    return DomainError("conflict", "workspace_busy", detail)


def _refusal(moved: Moved, direction: Direction) -> DomainError:
    first = moved.conflicts[0]
    others = len(moved.conflicts) - 1
    more = f" (and {others} more)" if others else ""
    verb = "taken back" if direction == "undo" else "brought again"
    return DomainError(
        "conflict",
        "undo_conflict",
        f"{first.path}{more} {_WHY[first.reason]}, so nothing was {verb}.",
        conflicts=[_named(conflict) for conflict in moved.conflicts[:MAX_NAMED_CONFLICTS]],
    )


_WHY = {
    "changed": "was changed since",
    "later_turn": "was changed by a later turn",
    "interleaved": "was changed by somebody else in the middle of the turn",
    "in_the_way": "cannot be put back because something else is in its place",
    "content_lost": "cannot be restored because its content is no longer kept",
    "cannot_be_kept": "is now something that cannot be kept for bringing it back",
}


def _named(conflict: Conflict) -> dict[str, str]:
    later = {"input_id": conflict.input_id} if conflict.input_id else {}
    return {"path": conflict.path, "reason": conflict.reason} | later


def _shown(turn: Turn) -> TurnChanges:
    changes = [change for change in turn.changes.values() if not _is_mere_folder(change)]
    return TurnChanges(
        input_id=turn.input_id,
        session_id=turn.session_id,
        created_at=turn.created_at,
        state=turn.state,
        files=[_file(change) for change in changes[:MAX_FILES]],
        file_count=len(changes),
        added=sum(change.added or 0 for change in changes),
        removed=sum(change.removed or 0 for change in changes),
        notes=list(turn.notes),
    )


def _is_mere_folder(change: Change) -> bool:
    """A folder comes and goes with the files in it and is not told of."""
    return {change.before.kind, change.after.kind} == {"absent", "folder"}


def _file(change: Change) -> ChangedFile:
    return ChangedFile(
        path=change.path,
        change=change.kind,
        state="undone" if change.undone else "applied",
        added=change.added,
        removed=change.removed,
        problem=change.problem or None,
    )


def _diffs(store: UndoStore, input_id: str) -> TurnDiff | None:
    turn = store.load(input_id)
    if turn is None:
        return None
    files: list[FileDiff] = []
    room = MAX_DIFFS_CHARS
    for change in turn.changes.values():
        if _is_mere_folder(change) or len(files) >= MAX_FILES:
            continue
        found = unified(store.blobs, change, min(MAX_DIFF_CHARS, room)) if room > 0 else ("", True)
        text, cut = found if found is not None else (None, False)
        room -= len(text or "")
        files.append(FileDiff(**_file(change).model_dump(), diff=text, truncated=cut))
    return TurnDiff(turn=_shown(turn), files=files)
