"""Holding a command for real, once, to learn whether a way of doing it works on this machine."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.view import Network, NetworkMode, View
from holaboss_runtime.processes import OWNER_VARIABLE, owner_of, sweep

TRIAL_S = 15.0
_PROOF = ("/bin/sh", "-c", "exit 42")
_EXPECTED = 42


async def holds(containment: Containment, mode: NetworkMode) -> bool:
    """Whether a command with this network runs to its end, with every flag that will be used."""
    view = View(Path("/usr"), writable=False)
    # One mark for each: several are tried at once, and none may end another.
    marked = {OWNER_VARIABLE: f"{owner_of(os.getpid())}trial-{secrets.token_hex(8)}"}
    try:
        async with containment.hold(view, _PROOF, marked, Network(mode)) as held:
            process = await asyncio.create_subprocess_exec(
                *held.arguments,
                env=held.environment,
                cwd=held.cwd,
                pass_fds=held.inherited,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            held.started()
            return await _proved(process)
    except OSError:
        return False
    finally:
        await asyncio.to_thread(sweep, marked[OWNER_VARIABLE])


async def _proved(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(TRIAL_S):
            return await process.wait() == _EXPECTED
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
