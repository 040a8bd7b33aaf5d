"""Files that say which servers run for a workspace, under the names other tools know.

State and logs lie in `.holaboss` beside the workspaces of a root (`<root>/workspace/.holaboss`), out of reach of every
agent; a workspace that is a folder of the person's own keeps them in its own `.holaboss`. Nothing secret is written,
and nothing here is ever read to decide anything.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.file_locks import lock
from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.host.mcp.names import physical_id, public_fingerprint

STATE_FILE = "workspace-mcp-sidecar-state.json"
_MAX_STATE = 1024 * 1024
_MAX_ENTRIES = 500


def folder_of(workspace: Path) -> Path:
    """Where the files of a workspace belong."""
    beside = workspace.parent
    of_a_root = beside.name == "workspace" and (beside.parent / "state").is_dir()
    return (beside if of_a_root else workspace) / ".holaboss"


def log_path(workspace: Path, server: str, stream: str) -> Path | None:
    """`stream` is `stdout` (what was no message) or `stderr`. None when there is no place for it."""
    folder = _ready(folder_of(workspace))
    return folder / f"{physical_id(server, workspace)}.workspace-mcp-sidecar.{stream}.log" if folder else None


def note(workspace: Path, server: McpServer, pid: int | None) -> None:
    """Write down that a local server runs with this process id, or, with None, that it does not run any more.

    Blocking. A folder that cannot be written loses only the note.
    """
    if server.config.type != "local" or (folder := _ready(folder_of(workspace))) is None:
        return
    with suppress(OSError):
        guard = os.open(folder / f"{STATE_FILE}.lock", os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
        try:
            lock(guard)
            _rewrite(folder / STATE_FILE, physical_id(server.name, workspace), server, pid)
        finally:
            os.close(guard)


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def _rewrite(path: Path, physical: str, server: McpServer, pid: int | None) -> None:
    sidecars = _read(path)
    sidecars.pop(physical, None)
    if pid is not None:
        sidecars[physical] = {
            "physical_server_id": physical,
            "url": None,
            "pid": pid,
            "config_fingerprint": public_fingerprint(server.config),
            "updated_at": utc_now(),
        }
    kept = dict(list(sidecars.items())[-_MAX_ENTRIES:])
    text = json.dumps({"version": 1, "sidecars": kept}, indent=2)
    new = path.with_name(f".{path.name}.{new_id()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINKS), "rb") as file:
            found: Any = json.loads(file.read(_MAX_STATE))
    except (OSError, ValueError, RecursionError):
        return {}
    sidecars: Any = cast(dict[str, Any], found).get("sidecars") if isinstance(found, dict) else None
    return dict(cast(dict[str, Any], sidecars)) if isinstance(sidecars, dict) else {}


def _ready(folder: Path) -> Path | None:
    """The folder, made when its place exists. None for a link: it could lead anywhere."""
    with suppress(OSError):
        if folder.parent.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_dir() and not folder.is_symlink():
            return folder
    return None
