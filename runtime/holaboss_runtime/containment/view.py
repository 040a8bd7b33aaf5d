"""What a held command gets to see: one folder or file beside the system, and what of it cannot be changed.

Only says what is wanted; the modules of each way of holding carry it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ContainmentName = Literal["bubblewrap", "seatbelt", "none"]
NetworkMode = Literal["on", "off", "listed"]

PRIVATE_FOLDERS = (".holaboss", ".openboa")


@dataclass(frozen=True, slots=True)
class View:
    """A folder, in which the command starts, or one file. `place` is real and absolute.

    `read_only` are names in the folder that stay as they are, whether they exist or not: a name with a suffix is
    taken for a file, one without for a folder. What belongs to the runtime is hidden in any case, and what git would
    execute is never writable.
    """

    place: Path
    writable: bool = True
    read_only: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.place if self.place.is_dir() else self.place.parent


@dataclass(frozen=True, slots=True)
class Network:
    """What a command may reach. With `listed` only `hosts`, through the proxy its environment names."""

    mode: NetworkMode = "on"
    hosts: tuple[str, ...] = ()
