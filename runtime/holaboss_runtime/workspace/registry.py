"""The registry: which workspaces exist, where they lie, and the only code that creates or removes one.

A folder is never removed, and never written to, without the marker that says it belongs to this workspace.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from holaboss_client.base import new_id, utc_now
from holaboss_client.events import Change
from holaboss_client.workspaces import CreateWorkspace, PatchWorkspace, Workspace, WorkspaceList
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database, Row, Value
from holaboss_runtime.store.mcp_consents import McpConsentRecords
from holaboss_runtime.store.permissions import PermissionRecords
from holaboss_runtime.store.workspaces import AGENT, WORKSPACE, WorkspaceRows
from holaboss_runtime.workspace import git
from holaboss_runtime.workspace.locations import check_location, invalid, is_free
from holaboss_runtime.workspace.marker import STATE_FOLDER, read_marker
from holaboss_runtime.workspace.plan import load_plan
from holaboss_runtime.workspace.scaffold import write_scaffold

MAX_NAME = 200
AGENT_TREE = ".openboa"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_HARNESSES = frozenset({"native", "pi"})
_STATUSES = frozenset({"provisioning", "active", "error"})
_BREAKS = frozenset({"Cc", "Zl", "Zp"})
"""Categories of characters that end a line or are none at all: a name becomes a heading of AGENTS.md."""


class WorkspaceRegistry:
    """`root` is the sandbox root; workspaces the runtime places itself lie in `<root>/workspace/<id>`, or below
    `managed`."""

    def __init__(
        self, database: Database, changes: ChangeLog, root: Path, *, managed: Path | None = None
    ) -> None:
        self._database = database
        self._changes = changes
        self._rows = WorkspaceRows(database)
        self._root = root.resolve()
        self._managed = self._root / "workspace" if managed is None else managed.resolve()
        # Two creations must not both find the same folder or the same id free.
        self._placing = asyncio.Lock()
        self.in_use: Callable[[str], bool] = _never
        self.deleted: list[Callable[[str], None]] = []
        """Called with the id of a workspace that is no longer there, before its folder goes."""

    def discover(self) -> None:
        """Follow folders that were renamed below the managed root, and register those the database forgot."""
        for folder in _folders(self._managed):
            workspace_id = read_marker(folder)
            if workspace_id is None or not _ID.fullmatch(workspace_id):
                continue
            row = self._rows.get(workspace_id)
            if row is None:
                body = CreateWorkspace(name=_planned_name(folder) or folder.name[:MAX_NAME])
                self._insert(body, workspace_id, folder)
            elif row["deleted_at_utc"] is None and not _is_there(row):
                self._move(row, folder)

    def list(
        self,
        *,
        limit: int = 50,
        offset: int = 0,
        status: str | None = None,
        include_deleted: bool = False,
        include_agents: bool = False,
    ) -> WorkspaceList:
        """A page, the most recently changed first; the workspaces of agents only on request."""
        rows, total = self._rows.page(
            limit=limit,
            offset=offset,
            status=status,
            include_deleted=include_deleted,
            include_agents=include_agents,
        )
        if any(row["deleted_at_utc"] is None and not _is_there(row) for row in rows):
            rows = [self._located(row) for row in rows]
        return WorkspaceList(items=[_record(row) for row in rows], total=total, limit=limit, offset=offset)

    def get(self, workspace_id: str) -> Workspace:
        """Raises `DomainError` `workspace_not_found`, also for a deleted one."""
        return _record(self._located(self._live(workspace_id)))

    def find(self, workspace_id: str, *, include_deleted: bool = False) -> Workspace | None:
        row = self._rows.get(workspace_id)
        if row is None or (row["deleted_at_utc"] is not None and not include_deleted):
            return None
        return _record(self._located(row))

    def folder(self, workspace_id: str) -> Path:
        """The folder of a workspace, also when it was renamed below the managed root since it was last asked for.

        Raises `workspace_not_found`, conflict `workspace_folder_missing`, or conflict `workspace_identity_mismatch`
        when the folder of another workspace lies in its place.
        """
        row = self._located(self._live(workspace_id))
        path = Path(row["workspace_path"])
        if path.is_dir() and not _is_there(row):
            raise DomainError(
                "conflict",
                "workspace_identity_mismatch",
                f"The folder {path} belongs to another workspace. Move it away and put the right one back, or tell"
                " this workspace where its folder is now.",
                workspace_path=str(path),
            )
        if not path.is_dir():
            raise DomainError(
                "conflict",
                "workspace_folder_missing",
                f"The folder {path} is not there. Put it back, or tell this workspace where it is now.",
                workspace_path=str(path),
            )
        return path

    def register_agent(self, agent_id: str, folder: Path, name: str) -> str:
        """The id of the workspace an agent owns, made when there is none: a row, and nothing on the disk.

        It is the agent's own id unless that is in use. Registering the same folder again changes nothing.
        """
        path = str(folder.resolve())
        with self._database.transaction():
            found = self._rows.at(path)
            if found is not None and found["kind"] == AGENT:
                return str(found["id"])
            if found is not None:
                raise invalid(
                    f"{path} is the folder of a workspace already. Choose another one for the agent."
                )
            own = self._rows.get(agent_id)
            if own is not None and own["kind"] == AGENT and own["deleted_at_utc"] is None:
                self._update(agent_id, {"workspace_path": path})  # the whole tree was moved
                return agent_id
            workspace_id = agent_id if own is None and _ID.fullmatch(agent_id) else new_id()
            body = CreateWorkspace(name=name.strip()[:MAX_NAME] or agent_id[:MAX_NAME], workspace_path=path)
            self._insert(body, workspace_id, Path(path), kind=AGENT)
        return workspace_id

    def agent_workspace(self, workspace_id: str) -> bool:
        """Whether it stands for an agent; False also for an id nobody knows."""
        row = self._rows.get(workspace_id)
        return row is not None and row["deleted_at_utc"] is None and row["kind"] == AGENT

    def set_onboarding(self, workspace_id: str, changes: Mapping[str, str | None]) -> Workspace:
        """Set `onboarding_…` columns. Raises `workspace_not_found`, and `ValueError` for any other column."""
        self._live(workspace_id)
        if others := [column for column in changes if not column.startswith("onboarding_")]:
            raise ValueError(f"not about onboarding: {others}")
        self._update(workspace_id, dict(changes))
        return self.get(workspace_id)

    async def create(self, body: CreateWorkspace) -> Workspace:
        """Write the scaffold and register it. Raises `DomainError`; nothing is left behind then."""
        name = _name(body.name)
        if body.harness not in _HARNESSES:
            raise _unprocessable("harness_unknown", f"There is no harness {body.harness!r}. Use 'native'.")
        status = _status(body.status)
        async with self._placing:
            workspace_id = self._free_id(body.workspace_id)
            path = self._place(body.workspace_path, workspace_id)
            existed = path.exists()
            try:
                await asyncio.to_thread(write_scaffold, path, workspace_id, name)
                self._insert(body.model_copy(update={"status": status, "name": name}), workspace_id, path)
            except DomainError:
                await asyncio.to_thread(_undo_scaffold, path, workspace_id, existed=existed)
                raise
            except OSError as error:
                await asyncio.to_thread(_undo_scaffold, path, workspace_id, existed=existed)
                raise invalid(
                    f"{path} cannot be written: {error.strerror}. Choose another folder."
                ) from error
        await git.initialise(path)
        return self.get(workspace_id)

    async def patch(self, workspace_id: str, body: PatchWorkspace) -> Workspace:
        row = self._live(workspace_id)
        changes: dict[str, Value] = {
            field: value.strip() or None
            for field in ("error_message", "icon", "icon_color")
            if (value := getattr(body, field)) is not None
        }
        if body.name is not None:
            changes["name"] = _name(body.name)
        if body.status is not None:
            changes["status"] = _status(body.status)
        if body.workspace_path is not None:
            changes["workspace_path"] = str(await self._relocate(row, body.workspace_path))
        self._update(workspace_id, changes)
        return self.get(workspace_id)

    async def delete(self, workspace_id: str, *, keep_files: bool | None = None) -> None:
        """Forget a workspace and remove its folder.

        Without `keep_files` a folder the runtime placed goes entirely, and one a person chose, at creation or
        later, loses only our own state; true and false decide it either way. Raises conflict
        `workspace_identity_mismatch` for a folder that does not carry the marker of this workspace; nothing is
        touched then.
        """
        row = self._located(self._live(workspace_id))
        path = Path(row["workspace_path"])
        if self.in_use(workspace_id):
            raise DomainError(
                "conflict",
                "workspace_busy",
                "Something is running in this workspace. Stop it first, then delete.",
            )
        if _is_foreign(path, workspace_id):
            raise DomainError(
                "conflict",
                "workspace_identity_mismatch",
                f"The folder {path} does not carry the marker of this workspace, so nothing was touched."
                " Move the folder away first if the workspace should be forgotten.",
                workspace_path=str(path),
            )
        placed_by_us = bool(row["managed"]) and path.is_relative_to(self._managed)
        wipe = placed_by_us if keep_files is None else not keep_files
        tombstone = f"__deleted__/{workspace_id}/{time.time_ns() // 1_000_000}"
        now = utc_now()
        with self._database.transaction(durable=True):
            PermissionRecords(self._database).forget(workspace_id)
            McpConsentRecords(self._database).forget(workspace_id)
            self._update(
                workspace_id, {"status": "deleted", "workspace_path": tombstone, "deleted_at_utc": now}
            )
        for told in self.deleted:
            told(workspace_id)
        await asyncio.to_thread(_remove, path, wipe=wipe)

    def _live(self, workspace_id: str) -> Row:
        row = self._rows.get(workspace_id)
        if row is None or row["deleted_at_utc"] is not None:
            raise not_found("workspace", workspace_id)
        return row

    def _located(self, row: Row) -> Row:
        """The row, with the folder that carries its marker now.

        It is looked for below the managed root, and only when the registered folder is gone or another workspace's.
        """
        if row["deleted_at_utc"] is not None or row["kind"] == AGENT or _is_there(row):
            return row
        for folder in _folders(self._managed):
            if read_marker(folder) == row["id"]:
                self._move(row, folder)
                return self._live(row["id"])
        return row

    def _move(self, row: Row, folder: Path) -> None:
        with self._database.transaction():
            other = self._rows.at(str(folder))
            if other is not None:
                # Two folders were exchanged: the other one is looked for when it is asked for.
                elsewhere = f"__moved__/{other['id']}/{time.time_ns() // 1_000_000}"
                self._rows.update(other["id"], {"workspace_path": elsewhere})
            self._update(row["id"], {"workspace_path": str(folder)})

    def _free_id(self, requested: str | None) -> str:
        if requested is None:
            return new_id()
        if not _ID.fullmatch(requested):
            raise _unprocessable(
                "workspace_id_invalid",
                "A workspace id has at most 128 letters, digits, dots, dashes and underscores.",
            )
        if self._rows.get(requested) is not None:
            raise DomainError(
                "conflict", "workspace_exists", f"The workspace id {requested!r} is already in use."
            )
        return requested

    def _place(self, requested: str | None, workspace_id: str) -> Path:
        managed = self._managed / workspace_id
        path = managed if requested is None else self._checked(requested, except_id=workspace_id)
        if not is_free(path):
            raise invalid(f"{path} is not empty. Choose an empty folder or a new one.")
        return path

    def _checked(self, requested: str, *, except_id: str) -> Path:
        others = [Path(row["workspace_path"]) for row in self._rows.live() if row["id"] != except_id]
        return check_location(requested, sandbox_root=self._root, managed_root=self._managed, others=others)

    async def _relocate(self, row: Row, requested: str) -> Path:
        """Where a moved folder is now; a workspace that lost its folder may also start afresh in an empty
        one.
        """
        async with self._placing:
            path = self._checked(requested, except_id=row["id"])
            if read_marker(path) == row["id"]:
                return path
            if _record(row).folder_state == "healthy" or not is_free(path):
                raise invalid(f"{path} is not the folder of this workspace. Move the folder there first.")
            await asyncio.to_thread(write_scaffold, path, row["id"], row["name"])
            return path

    def _insert(self, body: CreateWorkspace, workspace_id: str, path: Path, *, kind: str = WORKSPACE) -> None:
        now = utc_now()
        row: dict[str, Any] = {
            "id": workspace_id,
            "workspace_path": str(path),
            "kind": kind,
            "name": body.name,
            "status": body.status,
            "harness": body.harness,
            "error_message": body.error_message,
            "onboarding_status": body.onboarding_status,
            "managed": int(body.workspace_path is None),
            "created_at": now,
            "updated_at": now,
        }
        with self._database.transaction(durable=True):
            self._rows.insert(row)
            self._changes.append(
                Change.WORKSPACE, workspace_id=workspace_id, payload={"status": row["status"]}
            )

    def _update(self, workspace_id: str, changes: dict[str, Value]) -> None:
        if not changes:
            return
        with self._database.transaction(durable=True):
            self._rows.update(workspace_id, {**changes, "updated_at": utc_now()})
            row = self._rows.get(workspace_id)
            status = row["status"] if row else "deleted"
            self._changes.append(Change.WORKSPACE, workspace_id=workspace_id, payload={"status": status})


def _never(_workspace_id: str) -> bool:
    """Until the composition root says who knows what is running."""
    return False


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(
            entry
            for entry in parent.iterdir()
            if entry.name != AGENT_TREE and entry.is_dir() and not entry.is_symlink()
        )
    except OSError:
        return []


def _is_there(row: Row) -> bool:
    """The registered folder exists and is not another workspace's."""
    path = Path(row["workspace_path"])
    return path.is_dir() and (row["kind"] == AGENT or read_marker(path) in (None, row["id"]))


def _planned_name(folder: Path) -> str | None:
    try:
        name = load_plan(folder).name
    except DomainError:
        return None
    return name[:MAX_NAME] if name else None


def _record(row: Row) -> Workspace:
    healthy = row["deleted_at_utc"] is None and _is_there(row)
    return Workspace.model_validate({**row, "folder_state": "healthy" if healthy else "missing"})


def _name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > MAX_NAME:
        raise _unprocessable("name_invalid", f"A workspace needs a name of at most {MAX_NAME} characters.")
    if not name.isprintable() and any(unicodedata.category(character) in _BREAKS for character in name):
        raise _unprocessable(
            "name_invalid", "The name of a workspace is one line, without control characters."
        )
    return name


def _status(status: str) -> str:
    if status not in _STATUSES:
        raise _unprocessable("status_invalid", f"A status is one of {', '.join(sorted(_STATUSES))}.")
    return status


def _unprocessable(code: str, detail: str) -> DomainError:
    return DomainError("unprocessable", code, detail)


def _undo_scaffold(path: Path, workspace_id: str, *, existed: bool) -> None:
    """Remove what a failed creation left; the folder itself only when it was not there before."""
    if not existed:
        shutil.rmtree(path, ignore_errors=True)
    elif read_marker(path) == workspace_id:
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _is_foreign(path: Path, workspace_id: str) -> bool:
    return path.exists() and read_marker(path) != workspace_id


def _remove(path: Path, *, wipe: bool) -> None:
    shutil.rmtree(path if wipe else path / STATE_FOLDER, ignore_errors=True)
