"""`skill`: the instructions of one skill, for the work that follows. Which there are is decided before a run begins."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pydantic import Field

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.text import valid_text
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace.skill_files import SKILL_FILE, Origin, Skill, SkillError, read_skill
from holaboss_runtime.workspace.skills import named

SKILL_TOOL = "skill"
MAX_FILES = 60
_MAX_FOLDERS = 200
_MAX_NAMED = 40


class SkillInput(ToolInput):
    name: str = Field(max_length=200, description="Id or name of the skill")
    args: str = Field(
        default="", max_length=20_000, description="What the skill is to be used for, when it asks"
    )


async def skill(workspace: Workspace, request: SkillInput) -> ToolOutcome:
    return await asyncio.to_thread(_skill, workspace, request)


def _skill(workspace: Workspace, request: SkillInput) -> ToolOutcome:
    skills = run_skills(workspace.package)
    found = named([each for each, _ in skills], request.name)
    if found is None:
        known = ", ".join(each.id for each, _ in skills[:_MAX_NAMED]) or "none"
        raise ToolError(
            f"There is no skill {request.name[:80]!r} in this run. The skills are: {known}. One that was written just"
            " now is there from the next message on."
        )
    body = next(body for each, body in skills if each is found)
    shown = location(workspace.package, found.folder)
    parts = [skill_block(found, shown, body)]
    if files := _files(found.folder):
        parts.append("Files of this skill:\n" + "\n".join(f"- {name}" for name in files))
    if request.args.strip():
        parts.append(request.args.strip())
    told = {
        "id": found.id,
        "name": found.name,
        "location": shown,
        "origin": found.origin,
        "problems": list(found.problems),
    }
    return ToolOutcome("\n\n".join(parts), details={"skill": told})


def run_skills(package: RunPackage) -> list[tuple[Skill, str]]:
    """The skills of a run with their bodies, in order. One that cannot be read any more is left out. Reads the disk."""
    found: dict[str, tuple[Skill, str]] = {}
    for name in package.workspace_skill_dirs:
        folder, workspace = Path(name), Path(package.workspace_dir)
        inside = folder.is_relative_to(workspace)
        origin: Origin = "workspace" if inside else "embedded"
        try:
            read = read_skill(folder, root=workspace if inside else folder.parent, origin=origin)
        except SkillError:
            continue
        found.setdefault(folder.name.casefold(), read)
    return list(found.values())


def location(package: RunPackage, folder: Path) -> str:
    """Where a model finds the SKILL.md of a skill: in the workspace, or where its folder is mounted."""
    workspace = Path(package.workspace_dir)
    if folder.is_relative_to(workspace):
        return f"{folder.relative_to(workspace).as_posix()}/{SKILL_FILE}"
    mounted = (mount.mount_path for mount in package.mounts if mount.source == str(folder))
    return f"{next(mounted, f'/skills/{folder.name}')}/{SKILL_FILE}"


def skill_block(skill: Skill, shown: str, body: str) -> str:
    """The form in which a model reads a skill, quoted or invoked."""
    return (
        f"<skill name={quoteattr(skill.name)} location={quoteattr(shown)}>\n"
        f"Paths in this skill are relative to {shown.removesuffix(f'/{SKILL_FILE}')}.\n\n{valid_text(body)}\n</skill>"
    )


def _files(folder: Path) -> list[str]:
    """Relative paths, hidden ones and links left out; at most `MAX_FILES`."""
    found: list[str] = []
    waiting = [folder]
    for _ in range(_MAX_FOLDERS):
        if not waiting or len(found) > MAX_FILES:
            break
        at = waiting.pop(0)
        with os.scandir(at) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(at / entry.name)
            elif entry.is_file(follow_symlinks=False) and not (at == folder and entry.name == SKILL_FILE):
                found.append((at / entry.name).relative_to(folder).as_posix())
    return [*found[:MAX_FILES], "… and more"] if len(found) > MAX_FILES else found


def _about(_: dict[str, object]) -> CallFacts:
    return CallFacts(SKILL_TOOL, read_only=True)


SKILL = HostTool(
    SKILL_TOOL,
    "Load the instructions of a skill before doing the kind of work it is for. It opens tools that only this skill may"
    " use.",
    SkillInput,
    skill,
    about=_about,
)
