"""What this machine can really do to hold a command, found out once, at start, by doing it."""

from __future__ import annotations

import asyncio
import shutil
import sys

from holaboss_runtime.containment.bubblewrap import Bubblewrap
from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.keyring import leave_session_keyring
from holaboss_runtime.containment.seatbelt import Seatbelt
from holaboss_runtime.containment.trial import holds
from holaboss_runtime.containment.view import NetworkMode


async def probe() -> Containment:
    """The strongest way that works here; one that holds nothing where none does.

    Commands are to be started by the thread that asks: it leaves what a command must not inherit.
    """
    if sys.platform.startswith("linux") and (program := shutil.which("bwrap")) is not None:
        leave_session_keyring()
        candidate = Bubblewrap(program)
        online, offline = await asyncio.gather(holds(candidate, "on"), holds(candidate, "off"))
        modes: set[NetworkMode] = {"on", "off"} if offline else {"on"}
        return Bubblewrap(program, frozenset(modes)) if online else Containment()
    if sys.platform == "darwin" and (program := shutil.which("sandbox-exec")) is not None:
        seatbelt = Seatbelt(program)
        return seatbelt if await holds(seatbelt, "on") else Containment()
    return Containment()
