"""The local repository of a workspace: checkpoints for the agent, never pushed and never required."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from pathlib import Path

from holaboss_runtime.processes import child_environment, terminate_group

log = logging.getLogger(__name__)

TIMEOUT_S = 15.0
_IDENTITY = ("-c", "user.name=Holaboss Agent", "-c", "user.email=agent@holaboss.local")
_EXCLUDED = (
    ".DS_Store",
    ".holaboss/",
    ".openboa/",
    ".output/",
    ".turbo/",
    "build/",
    "coverage/",
    "dist/",
    "node_modules/",
)


async def initialise(folder: Path) -> bool:
    """Make a repository with one commit of what is there; False when git is missing or refuses, which is no
    error.
    """
    git = shutil.which("git")
    if git is None or (folder / ".git").exists():
        return False
    steps = (
        ("init", "--quiet", "--initial-branch", "main", "--template", ""),
        ("config", "user.name", "Holaboss Agent"),
        ("config", "user.email", "agent@holaboss.local"),
        ("add", "--all"),
        (*_IDENTITY, "commit", "--quiet", "--no-verify", "--message", "agent: initialize workspace"),
    )
    for step in steps:
        if not await _git(git, folder, *step):
            return False
        if step[0] == "init":
            await asyncio.to_thread(_write_excludes, folder)
    return True


def _write_excludes(folder: Path) -> None:
    info = folder / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text("\n".join(_EXCLUDED) + "\n", "utf-8")


async def _git(git: str, folder: Path, *arguments: str) -> bool:
    # The person's own git configuration stays out of it: hooks, signing and templates must not run here.
    environment = child_environment(
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_TERMINAL_PROMPT="0",
        GIT_CEILING_DIRECTORIES=str(folder.parent),
    )
    try:
        process = await asyncio.create_subprocess_exec(
            git,
            *arguments,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        log.warning("git cannot be started (%s); the workspace has no repository", error.strerror)
        return False
    try:
        async with asyncio.timeout(TIMEOUT_S):
            _, stderr = await process.communicate()
    except TimeoutError:
        log.warning(
            "git %s did not finish in %.0f s; the workspace has no repository", arguments[0], TIMEOUT_S
        )
        return False
    finally:
        if process.returncode is None:
            await terminate_group(process, 0.5)
    if process.returncode != 0:
        log.warning("git %s failed: %s", arguments[0], stderr.decode("utf-8", "replace").strip()[:300])
    return process.returncode == 0
