"""How the command of a terminal is held: what it sees, what it may write, which network it reaches.

The same as for a command of the bash tool. What is demanded and cannot be kept is refused, never left out.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.containment.view import Network, View
from holaboss_runtime.errors import DomainError
from holaboss_runtime.permissions.decisive import decisive_names
from holaboss_runtime.permissions.model import PermissionPolicy
from holaboss_runtime.workspace.paths import plain_name, resolve_inside

_PRIVATE = frozenset({".holaboss", ".openboa"})


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a terminal stands: the folder of its workspace, whether it may be written, and the permissions there."""

    root: Path
    policy: PermissionPolicy
    writable: bool = True

    @property
    def view(self) -> View:
        return View(self.root, writable=self.writable, read_only=decisive_names(self.policy))


class Holder:
    """Finds out once, when it is first needed, what this machine can do."""

    def __init__(self, containment: Containment | None = None) -> None:
        self._containment = containment
        self._probing = asyncio.Lock()

    async def containment(self) -> Containment:
        async with self._probing:
            if self._containment is None:
                self._containment = await probe()
            return self._containment

    async def network(self, ground: Ground) -> Network:
        """What the permissions demand. Raises `DomainError` `terminal_not_contained` when that cannot be kept."""
        containment, demand = await self.containment(), ground.policy.containment
        if (demand.required or not ground.writable) and not containment.active:
            raise _refused(
                "Commands have to be contained here, and this machine cannot do that. Install bubblewrap (Linux), or"
                " choose another permission profile for the workspace."
            )
        if not await containment.offers(demand.network):
            raise _refused(
                "Commands must not reach the whole network here, and this machine cannot hold them to that. Choose"
                " another permission profile for the workspace."
            )
        return Network(demand.network, tuple(demand.hosts))


def folder_inside(root: Path, wanted: str) -> str:
    """`wanted` as a path relative to the workspace, links followed. Does disk work.

    Raises `DomainError` `terminal_folder_missing` for what is no folder there, `path_outside_workspace` for elsewhere.
    """
    inside = resolve_inside(root, wanted).relative_to(root)
    try:
        is_folder = (root / inside).is_dir()
    except OSError:
        is_folder = False
    if not is_folder or (inside.parts and plain_name(inside.parts[0]) in _PRIVATE):
        raise DomainError(
            "invalid",
            "terminal_folder_missing",
            "`cwd` is not a folder of the workspace. Leave it out, or make it first.",
        )
    return inside.as_posix()


def shell_command(shell: str, folder: str, command: str) -> list[str]:
    """What runs a command in a folder of the workspace; the command is the shell's last act in any case."""
    if folder == ".":
        return [shell, "-c", command]
    return [shell, "-c", 'cd -- "$1" && exec "$0" -c "$2"', shell, folder, command]


def find_shell() -> str:
    return shutil.which("bash") or "/bin/sh"


def _refused(detail: str) -> DomainError:
    return DomainError("forbidden", "terminal_not_contained", detail)
