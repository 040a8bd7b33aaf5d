"""Copies of skills and commands for executors that look for them in a folder of their own.

Only what a prep plan asks for is copied, into `.holaboss/staged/<harness>/{skills,commands}`, anew for each run: what
was staged before is gone. A command is a `commands/<id>.md` of the workspace.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import resolve_inside

COMMANDS = "commands"
SKILLS = "skills"
MOST_COMMANDS = 200
MOST_BYTES = 256 * 1024
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Staged:
    """Where the copies are, and which commands are among them."""

    folder: Path
    commands: tuple[str, ...] = ()


def stage(workspace: Path, harness: str, *, skills: Sequence[Path] | None, commands: bool) -> Staged:
    """Copy what was asked for; `skills` are folders, or None for none. Raises `OSError`.

    Nothing is followed out of the workspace: a command that is a link elsewhere is left out.
    """
    folder = resolve_inside(workspace, ".holaboss") / "staged" / harness
    if folder.parent.is_symlink() or folder.is_symlink():
        raise OSError(f"{folder} is a link")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    for skill in skills or ():
        shutil.copytree(skill, folder / SKILLS / skill.name, symlinks=True, dirs_exist_ok=True)
    names = tuple(_copied(_commands(workspace), folder / COMMANDS)) if commands else ()
    return Staged(folder, names)


def _commands(workspace: Path) -> list[Path]:
    names = sorted(path.name for path in (workspace / COMMANDS).glob("*.md"))
    found = (_inside(workspace, f"{COMMANDS}/{name}") for name in names)
    return [path for path in found if path is not None and _ID.fullmatch(path.stem)][:MOST_COMMANDS]


def _inside(workspace: Path, path: str) -> Path | None:
    try:
        real = resolve_inside(workspace, path)
    except DomainError:
        return None
    return real if real.is_file() else None


def _copied(files: Iterable[Path], target: Path) -> Iterable[str]:
    for file in files:
        if file.stat().st_size <= MOST_BYTES:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / file.name)
            yield file.stem
