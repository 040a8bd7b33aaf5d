"""Which skills a workspace has: those that come with Holaboss, those in `skills/`, and those in `.agents/skills/`.

A folder that cannot be used is skipped and named; it never keeps a run from starting. Where two have the same id, what
comes with Holaboss wins, then `skills/`. `skills:` in `workspace.yaml` says which of them a run has, and in what order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import resolve_inside
from holaboss_runtime.workspace.skill_files import Origin, Skill, SkillError, read_skill

EMBEDDED_VARIABLE = "HOLABOSS_EMBEDDED_SKILLS_DIR"
WORKSPACE_FOLDERS = ("skills", ".agents/skills")
MAX_SKILLS = 64
"""Of one run; what is beyond is named and left out."""

MAX_NOTICES = 20
_MAX_ENTRIES = 1000
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class SkillCatalog:
    """`skills` are in the order of the run; `notices` are sentences about what was left out, and why."""

    skills: tuple[Skill, ...] = ()
    notices: tuple[str, ...] = ()


def embedded_skills_folder() -> Path:
    """Where the skills lie that come with Holaboss; another folder may be named in the environment."""
    named = os.environ.get(EMBEDDED_VARIABLE, "").strip()
    return Path(named).expanduser() if named else Path(__file__).parent / "embedded_skills"


def find_skills(
    workspace: Path, embedded: Path | None = None, enabled: Sequence[str] | None = None
) -> SkillCatalog:
    """`enabled` are ids or names in the wanted order; None means all. Reads the disk."""
    notices: list[str] = []
    ours = _found_in(embedded.resolve(), "", "embedded", notices) if embedded is not None else []
    theirs = [_found_in(workspace, each, "workspace", notices) for each in WORKSPACE_FOLDERS]
    by_id: dict[str, Skill] = {}
    for skill in (*ours, *theirs[0], *theirs[1]):
        if (first := by_id.setdefault(skill.id.casefold(), skill)) is not skill:
            where = "comes with Holaboss" if first.origin == "embedded" else "is in skills/"
            notices.append(
                f"The skill in {_shown(skill, workspace)} is not used: another {skill.id} {where}."
            )
    known = sorted(by_id.values(), key=lambda skill: skill.origin == "embedded")
    chosen = known if enabled is None else _chosen(known, enabled, notices)
    if len(chosen) > MAX_SKILLS:
        notices.append(f"Only the first {MAX_SKILLS} of {len(chosen)} skills are used.")
    return SkillCatalog(tuple(chosen[:MAX_SKILLS]), tuple(notices[:MAX_NOTICES]))


def named(skills: Sequence[Skill], name: str) -> Skill | None:
    """The skill with this id, else with this name, whatever its case."""
    wanted = name.strip().casefold()
    by_id = next((skill for skill in skills if skill.id.casefold() == wanted), None)
    return by_id or next((skill for skill in skills if skill.name.casefold() == wanted), None)


def _chosen(known: Sequence[Skill], enabled: Sequence[str], notices: list[str]) -> list[Skill]:
    chosen: dict[str, Skill] = {}
    for name in enabled:
        skill = named(known, name)
        if skill is None:
            notices.append(f"workspace.yaml names the skill {name[:80]!r}, which is not there.")
        else:
            chosen[skill.id] = skill
    return list(chosen.values())


def _found_in(root: Path, below: str, origin: Origin, notices: list[str]) -> list[Skill]:
    found: list[Skill] = []
    for folder in _folders(root, below):
        try:
            if not _ID.fullmatch(folder.name):
                raise SkillError(
                    "the name of its folder may have letters, digits, hyphens and underscores only"
                )
            found.append(read_skill(folder, root=root, origin=origin)[0])
        except SkillError as error:
            shown = folder.relative_to(root).as_posix()[:120]
            notices.append(f"The skill in {shown!r} is not used: {error}.")
    return found


def _folders(root: Path, below: str) -> Iterator[Path]:
    """The folders in it by name, links to folders included: where those lead is seen when they are read."""
    parent = root / below
    try:
        resolve_inside(root, below)
        with os.scandir(parent) as entries:
            names = [entry.name for entry in islice(entries, _MAX_ENTRIES) if entry.is_dir()]
    except (OSError, DomainError):
        return iter(())
    return (parent / name for name in sorted(names) if not name.startswith("."))


def _shown(skill: Skill, workspace: Path) -> str:
    return repr(skill.folder.relative_to(workspace).as_posix())
