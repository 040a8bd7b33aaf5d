"""Files of a workspace, for people: list a folder, read a file, save one without losing somebody else's
change.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import secrets
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from holaboss_client.events import Change
from holaboss_client.workspaces import FileContent, FileEntry, FileWritten, FolderListing, PutFile
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.workspace.attached import STAGING, is_staged
from holaboss_runtime.workspace.paths import NotAFileError, open_regular, resolve_inside
from holaboss_runtime.workspace.registry import WorkspaceRegistry

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_ENTRIES = 5_000
RESERVED = frozenset({".holaboss", ".openboa", ".git"})

EntryKind = Literal["file", "folder", "link", "other"]


class WorkspaceFiles:
    def __init__(self, workspaces: WorkspaceRegistry, changes: ChangeLog) -> None:
        self._workspaces = workspaces
        self._changes = changes
        # One save at a time, so that comparing a digest and replacing the file are one step among our own
        # clients.
        self._saving = asyncio.Lock()

    async def list(self, workspace_id: str, path: str) -> FolderListing:
        root = self._workspaces.folder(workspace_id)
        return await asyncio.to_thread(_list, root, path)

    async def read(self, workspace_id: str, path: str) -> FileContent:
        root = self._workspaces.folder(workspace_id)
        return await asyncio.to_thread(_read, root, path)

    async def write(self, workspace_id: str, path: str, body: PutFile) -> FileWritten:
        """Replace a file atomically. Raises conflict `file_changed` when it is not what the caller saw."""
        root = self._workspaces.folder(workspace_id)
        try:
            content = base64.b64decode(body.content_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise DomainError(
                "unprocessable", "content_invalid", "content_base64 is not valid base64."
            ) from error
        async with self._saving:
            written = await asyncio.to_thread(_write, root, path, content, body)
        self._changes.append(Change.FILES, workspace_id=workspace_id, payload={"paths": [written.path]})
        return written


def _open_attachment(root: Path, path: str) -> tuple[Path, str]:
    """What a person has sent with a message they may look at again."""
    resolved = resolve_inside(root, path)
    if not resolved.is_relative_to(resolve_inside(root, STAGING)):
        raise _reserved(path)
    return resolved, Path(path).as_posix()


def _open_path(root: Path, path: str) -> tuple[Path, str]:
    """The real path and how the workspace calls it. Our own state and the repository are not for clients."""
    resolved = resolve_inside(root, path)
    relative = resolved.relative_to(root.resolve())
    if any(part.lower() in RESERVED for part in (*relative.parts, *Path(path).parts)):
        raise _reserved(path)
    shown = Path(path).as_posix()
    return resolved, "" if shown == "." else shown


def _reserved(path: str) -> DomainError:
    return DomainError(
        "forbidden",
        "path_reserved",
        f"{path!r} belongs to the workspace itself and cannot be opened here.",
    )


def _list(root: Path, path: str) -> FolderListing:
    folder, shown = _open_path(root, path)
    try:
        names = [entry for entry in os.scandir(folder) if entry.name.lower() not in RESERVED]
    except OSError as error:
        raise _missing("folder", path, error) from error
    rows = [row for entry in names[:MAX_ENTRIES] if (row := _entry(entry, shown)) is not None]
    rows.sort(key=lambda row: (row.kind != "folder", row.name.casefold(), row.name))
    return FolderListing(path=shown, entries=rows, truncated=len(names) > MAX_ENTRIES)


def _entry(entry: os.DirEntry[str], parent: str) -> FileEntry | None:
    try:
        info = entry.stat(follow_symlinks=False)
        entry.name.encode()
    except (OSError, UnicodeEncodeError):  # gone meanwhile, or a name that JSON cannot carry
        return None
    return FileEntry(
        name=entry.name,
        path=f"{parent}/{entry.name}" if parent else entry.name,
        kind=_kind(info.st_mode),
        size=info.st_size,
        modified_at=datetime.fromtimestamp(info.st_mtime, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
    )


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _read(root: Path, path: str) -> FileContent:
    target, shown = _open_attachment(root, path) if is_staged(path) else _open_path(root, path)
    try:
        with open_regular(target) as file:
            info = os.fstat(file.fileno())
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _missing("file", path, error) from error
    if len(content) > MAX_FILE_BYTES:
        raise DomainError(
            "too_large", "file_too_large", f"{path!r} is larger than 10 MiB and cannot be opened here."
        )
    text = _decoded(content)
    return FileContent(
        path=shown,
        content=base64.b64encode(content).decode() if text is None else text,
        encoding="base64" if text is None else "utf-8",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        executable=bool(info.st_mode & stat.S_IXUSR),
    )


def _decoded(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _write(root: Path, path: str, content: bytes, body: PutFile) -> FileWritten:
    target, shown = _open_path(root, path)
    if os.path.isdir(target):  # noqa: PTH112 — unlike Path.is_dir it has an answer for a name that is too long
        raise DomainError("invalid", "not_a_file", f"{path!r} is a folder.")
    _check_unchanged(target, path, body.expected_sha256)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content, executable=body.executable)
    except OSError as error:
        raise DomainError(
            "conflict",
            "file_not_writable",
            f"{path!r} cannot be written: {error.strerror}. Nothing was changed.",
        ) from error
    return FileWritten(path=shown, sha256=hashlib.sha256(content).hexdigest())


def _check_unchanged(target: Path, path: str, expected: str | None) -> None:
    if expected is None:
        return
    try:
        with open_regular(target) as file:
            found = hashlib.sha256(file.read(MAX_FILE_BYTES + 1)).hexdigest()
    except FileNotFoundError:
        found = ""
    except OSError as error:
        raise _missing("file", path, error) from error
    if found != expected.lower():
        raise DomainError(
            "conflict",
            "file_changed",
            f"{path!r} has changed since it was opened. Nothing was written; compare both and save again.",
            sha256=found,
        )


def _replace(target: Path, content: bytes, *, executable: bool) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
    if executable:
        mode |= 0o111
    partial = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        partial.chmod(mode)
        partial.replace(target)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


def _missing(noun: str, path: str, error: OSError) -> DomainError:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return DomainError(
            "not_found", f"{noun}_not_found", f"There is no {noun} {path!r} in this workspace."
        )
    if isinstance(error, NotAFileError):
        return DomainError("invalid", "not_a_file", f"{path!r} is not a file.")
    return DomainError("conflict", f"{noun}_unreadable", f"{path!r} cannot be opened: {error.strerror}.")
