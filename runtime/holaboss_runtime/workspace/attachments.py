"""Files a person adds to a message: kept beside the workspace's own, in `.holaboss/input-attachments/<batch>/<name>`.

They are written once and never executed or listed here. One that no message names can be discarded; what a message
named stays. What the agent gets of them is decided with each run.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import posixpath
import re
import unicodedata
from contextlib import suppress
from pathlib import Path, PurePosixPath

from holaboss_client.attachments import StageAttachment, StagedAttachment
from holaboss_client.base import new_id
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.inputs import InputRecords
from holaboss_runtime.workspace.attached import STAGING, is_staged, kind_of
from holaboss_runtime.workspace.paths import resolve_inside
from holaboss_runtime.workspace.registry import WorkspaceRegistry

MAX_FILE_BYTES = 50 << 20
MAX_ALL_BYTES = 1 << 30
MAX_NAME = 120
_BATCH = re.compile(r"[A-Za-z0-9-]{1,64}")
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


class WorkspaceAttachments:
    def __init__(self, workspaces: WorkspaceRegistry, inputs: InputRecords) -> None:
        self._workspaces = workspaces
        self._inputs = inputs

    async def stage(self, workspace_id: str, body: StageAttachment) -> StagedAttachment:
        """Write a file, or the next piece of one. Raises `DomainError`; nothing is written then."""
        root = self._workspaces.folder(workspace_id)
        try:
            content = base64.b64decode(body.content_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _invalid("content_invalid", "content_base64 is not valid base64.") from error
        try:
            if body.workspace_path is not None:
                return await asyncio.to_thread(_append, root, body.workspace_path, body.offset, content)
            return await asyncio.to_thread(_begin, root, body, content)
        except OSError as error:
            raise DomainError(
                "conflict", "attachment_not_written", f"The file could not be kept: {error.strerror}."
            ) from error

    def discard(self, workspace_id: str, batch: str, name: str) -> None:
        """Delete a staged file that no message names; harmless for one that is gone.

        Raises `DomainError`: `attachment_in_use`, `attachment_invalid` for what was never staged. Nothing is awaited
        between the question and the deletion, so that no message can begin to name the file meanwhile.
        """
        root = self._workspaces.folder(workspace_id)
        if not _BATCH.fullmatch(batch) or _UNSAFE.search(name):
            raise _invalid("attachment_invalid", "Only a file that was staged before can be discarded.")
        path = resolve_inside(root, f"{STAGING}/{batch}/{name}")
        if any(_covers(named, batch, name) for named in self._inputs.attached(workspace_id, batch)):
            raise DomainError("conflict", "attachment_in_use", "A message names that file: it stays with it.")
        try:
            if path != root.resolve() / STAGING / batch / name or path.is_dir():
                raise _invalid("attachment_invalid", "Links and folders are not discarded.")
            path.unlink(missing_ok=True)
        except OSError as error:
            raise DomainError(
                "conflict", "attachment_not_discarded", f"The file could not be deleted: {error.strerror}."
            ) from error
        with suppress(OSError):  # others of its batch are still there
            path.parent.rmdir()


def safe_name(name: str) -> str:
    """A name every file system takes, as close to the given one as can be."""
    plain = unicodedata.normalize("NFC", name.encode("utf-8", "ignore").decode())
    last = re.split(r"[/\\]", plain)[-1]
    clean = _UNSAFE.sub("_", last).strip(" .") or "file"
    if _DEVICES.fullmatch(clean):
        clean = f"_{clean}"
    stem, suffix = PurePosixPath(clean).stem, PurePosixPath(clean).suffix[:20]
    while len(f"{stem}{suffix}".encode()) > MAX_NAME:
        stem = stem[:-1]
    return f"{stem}{suffix}"


def _covers(named: str, batch: str, name: str) -> bool:
    """Whether a path of a message is that file, or its folder, on any file system."""
    told, wanted = (
        PurePosixPath(unicodedata.normalize("NFC", posixpath.normpath(path)).casefold())
        for path in (named, f"{STAGING}/{batch}/{name}")
    )
    return wanted.is_relative_to(told)


def _begin(root: Path, body: StageAttachment, content: bytes) -> StagedAttachment:
    if not body.name or body.offset:
        raise _invalid("name_required", "The first piece of a file needs its name, and begins at 0.")
    batch = body.batch or new_id()
    if not _BATCH.fullmatch(batch):
        raise _invalid("batch_invalid", "A batch is named with letters, digits and dashes.")
    folder = resolve_inside(root, STAGING)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_room(folder, len(content))
    place = resolve_inside(root, f"{STAGING}/{batch}")
    place.mkdir(mode=0o700, exist_ok=True)
    path = _new_file(place, safe_name(body.name))
    _write(path, 0, content)
    return _staged(path, batch, len(content))


def _append(root: Path, workspace_path: str, offset: int, content: bytes) -> StagedAttachment:
    if len(PurePosixPath(workspace_path).parts) != 4 or not is_staged(workspace_path):
        raise _invalid("attachment_invalid", "Only a file that was staged before can be continued.")
    path = resolve_inside(root, workspace_path)
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise DomainError("not_found", "attachment_missing", "That file is not there any more.") from error
    if size != offset:
        raise DomainError("conflict", "offset_wrong", f"The next piece begins at {size}.", size=size)
    _check_room(path.parent.parent, len(content), of_file=size)
    _write(path, offset, content)
    return _staged(path, path.parent.name, offset + len(content))


def _check_room(folder: Path, more: int, *, of_file: int = 0) -> None:
    if of_file + more > MAX_FILE_BYTES:
        raise DomainError("too_large", "attachment_too_large", "An attached file may have at most 50 MiB.")
    kept = sum(
        entry.stat().st_size for batch in folder.iterdir() if batch.is_dir() for entry in batch.iterdir()
    )
    if kept + more > MAX_ALL_BYTES:
        detail = "The attachments of this workspace fill 1 GiB. Put the file into the workspace and attach it there."
        raise DomainError("too_large", "attachments_full", detail)


def _new_file(folder: Path, name: str) -> Path:
    stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
    number = 1
    while True:
        path = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            number += 1
        else:
            return path


def _write(path: Path, offset: int, content: bytes) -> None:
    flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "wb") as file:  # noqa: PTH123
        file.seek(offset)
        file.write(content)


def _staged(path: Path, batch: str, size: int) -> StagedAttachment:
    return StagedAttachment(
        workspace_path=f"{STAGING}/{batch}/{path.name}",
        name=path.name,
        kind=kind_of(path),
        size=size,
        batch=batch,
    )


def _invalid(code: str, detail: str) -> DomainError:
    return DomainError("unprocessable", code, detail)
