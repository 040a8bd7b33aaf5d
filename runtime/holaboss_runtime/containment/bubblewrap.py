"""Wrapping a command in bubblewrap: it sees the workspace and the system, and nothing of the person's home.

A probe decides once, at start, whether this machine can do it; only what the probe saw work is claimed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PROBE_S = 10.0
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_READABLE = (
    "/opt",
    "/nix",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/tls",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
_ISOLATION = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--disable-userns",  # without it the inside can make a namespace where it has every capability again
    "--die-with-parent",
    "--new-session",
)


@dataclass(frozen=True, slots=True)
class View:
    """What a command gets to see beside the system: a folder, in which it starts, or one file."""

    place: Path
    writable: bool = True

    @property
    def folder(self) -> Path:
        return self.place if self.place.is_dir() else self.place.parent


class Containment:
    """Either bubblewrap (`program` is its path) or nothing. The network stays reachable in both."""

    def __init__(self, program: str | None) -> None:
        self._program = program

    @property
    def active(self) -> bool:
        return self._program is not None

    @property
    def name(self) -> Literal["bubblewrap", "none"]:
        return "bubblewrap" if self.active else "none"

    @classmethod
    async def probe(cls) -> Containment:
        """Try it for real, with every flag that will be used."""
        program = shutil.which("bwrap") if sys.platform.startswith("linux") else None
        if program is None:
            return cls(None)
        candidate = cls(program)
        process = await asyncio.create_subprocess_exec(
            *candidate.wrap(None, ["/bin/sh", "-c", "exit 42"], {}),
            env={},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            works = await asyncio.wait_for(process.wait(), PROBE_S) == 42
        except TimeoutError:
            process.kill()
            works = False
        return candidate if works else cls(None)

    def wrap(self, view: View | None, arguments: list[str], environment: dict[str, str]) -> list[str]:
        """The command line that runs `arguments` inside; unchanged where there is no containment.

        bubblewrap itself is to be started without an environment worth reading: whoever is inside can read it.
        """
        if self._program is None:
            return arguments
        variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
        places = _system() + _home(environment) + (_seen(view) if view else [])
        return [self._program, *_ISOLATION, *places, *variables, "--", *arguments]


def _system() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for folder in map(Path, _SYSTEM_FOLDERS):
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            words += ["--ro-bind", str(folder), str(folder)]
    for path in _READABLE:
        words += ["--ro-bind-try", path, path]
    resolver = Path("/etc/resolv.conf")
    return [*words, "--ro-bind-try", str(resolver.resolve()), str(resolver)]


def _home(environment: dict[str, str]) -> list[str]:
    home = environment.get("HOME", "")
    return ["--tmpfs", home] if home.startswith("/") and home != "/" else []


def _seen(view: View) -> list[str]:
    """The folder, with the runtime's own part of it hidden; what git would execute is never writable."""
    place = str(view.place)
    words = ["--bind" if view.writable else "--ro-bind", place, place, "--chdir", str(view.folder)]
    private = view.place / ".holaboss"
    if private.is_dir() and not private.is_symlink():
        words += ["--tmpfs", str(private), "--remount-ro", str(private)]
    return [*words, *_git(view.place / ".git")] if view.writable else words


def _git(git: Path) -> list[str]:
    if git.is_symlink() or not git.exists():
        return []
    if not git.is_dir():
        return ["--ro-bind", str(git), str(git)]
    words = ["--bind", str(git), str(git)]  # a mount point cannot be renamed away and replaced
    for name in ("hooks", "config"):
        protected = git / name
        if not os.path.lexists(protected):
            protected.mkdir() if name == "hooks" else protected.touch()
        if not protected.is_symlink():
            words += ["--ro-bind", str(protected), str(protected)]
    return words
