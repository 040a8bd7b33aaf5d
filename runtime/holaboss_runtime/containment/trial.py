"""Holding a command for real, once, to learn whether a way of doing it works on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.view import Network, NetworkMode, View

TRIAL_S = 15.0
_PROOF = ("/bin/sh", "-c", "exit 42")
_EXPECTED = 42


async def holds(containment: Containment, mode: NetworkMode) -> bool:
    """Whether a command with this network runs to its end, with every flag that will be used."""
    view = View(Path("/usr"), writable=False)
    try:
        async with containment.hold(view, _PROOF, {}, Network(mode)) as held:
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


async def _proved(process: asyncio.subprocess.Process) -> bool:
    try:
        return await asyncio.wait_for(process.wait(), TRIAL_S) == _EXPECTED
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
