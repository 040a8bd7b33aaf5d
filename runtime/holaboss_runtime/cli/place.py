"""Where a command works: the root, its database, its tree of agents and its configuration. It opens nothing.

A sandbox root is shared with a server (`<root>/state/runtime.db`). A project has no server: everything of it, the
database too, lies under its `.openboa`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holaboss_runtime.errors import DomainError

TREE = ".openboa"
DATABASE = "runtime.db"


@dataclass(frozen=True, slots=True)
class Place:
    """`root` holds the workspaces, `agent_root` holds `.openboa`, `state` is the folder a server would lock."""

    root: Path
    agent_root: Path
    state: Path
    database_path: Path
    config_path: Path

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored here: a database, or the files of agents, which are taken in."""
        return self.database_path.exists() or (self.agent_root / TREE / "agents").is_dir()

    @property
    def is_project(self) -> bool:
        """Found where somebody works, and perhaps copied there with everything else: not set up by this person."""
        return self.root != self.agent_root

    def prepare(self) -> None:
        """Make the folders, private to their user. Raises `DomainError` `root_not_writable`."""
        try:
            self.agent_root.mkdir(parents=True, exist_ok=True)
            for folder in (self.root, self.state, self.database_path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror
            raise DomainError(
                "unavailable",
                "root_not_writable",
                f"{error.filename} cannot be used ({reason}). Name a writable folder with --root.",
            ) from error


def find_place(named: str | None, environ: Mapping[str, str], folder: Path) -> Place:
    """`named` is what `--root` says, `folder` the current one.

    The root is `--root`, else HB_SANDBOX_ROOT, else the nearest folder from here upwards that has `.openboa` or
    `state/runtime.db`, else this folder. A root somebody named is a sandbox root, unless a project is there already.
    """
    sandbox = environ.get("HB_SANDBOX_ROOT", "").strip()
    given = named or sandbox
    root = _real(folder, given) if given else _nearest(folder)
    stored = root / "state" / DATABASE
    elsewhere = environ.get("HOLABOSS_RUNTIME_DB_PATH", "").strip()
    is_project = (root / TREE).is_dir() or not given
    if stored.exists() or elsewhere or (sandbox and not named) or not is_project:
        config = environ.get("HOLABOSS_RUNTIME_CONFIG_PATH", "").strip()
        return _sandbox(
            root, folder / elsewhere if elsewhere else stored, folder / config if config else None
        )
    return _project(root)


def _real(folder: Path, given: str) -> Path:
    try:
        return (folder / Path(given).expanduser()).resolve()
    except (RuntimeError, ValueError) as error:  # a home nobody has, a loop of links, a NUL
        raise DomainError(
            "unavailable",
            "root_not_writable",
            f"{given[:200]!r} leads nowhere. Name a writable folder with --root.",
        ) from error


def _nearest(folder: Path) -> Path:
    for candidate in (folder, *folder.parents):
        tree, stored = candidate / TREE, candidate / "state" / DATABASE
        if (tree.is_dir() and _trusted(tree, folder)) or (stored.exists() and _trusted(stored, folder)):
            return candidate
    return folder


def _trusted(found: Path, folder: Path) -> bool:
    """Whether nobody else put it there: what lies above, as in `/tmp`, may belong to anybody, and it says what runs."""
    if found.parent == folder or not hasattr(os, "geteuid"):
        return True
    return found.stat().st_uid in (0, os.geteuid(), folder.stat().st_uid)


def _sandbox(root: Path, database_path: Path, config_path: Path | None) -> Place:
    state = root / "state"
    return Place(root, root, state, database_path, config_path or state / "runtime-config.json")


def _project(root: Path) -> Place:
    tree = root / TREE
    state = tree / "state"
    return Place(tree, root, state, state / DATABASE, state / "runtime-config.json")
