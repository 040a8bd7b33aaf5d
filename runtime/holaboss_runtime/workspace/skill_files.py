"""One `SKILL.md`: front matter that says what a skill is for and what it opens, and a body of instructions.

Reading is lenient, so that a skill made for another program can be used; `problems` says what the Agent Skills
specification would object to. What is in such a file is never run here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import NotAFileError, open_regular, resolve_inside

SKILL_FILE = "SKILL.md"
MAX_SKILL_BYTES = 128 * 1024
MAX_DESCRIPTION_CHARS = 1024
MAX_GRANTS = 64
MAX_KEPT = 64
_MAX_FRONT_MATTER_CHARS = 16 * 1024
_PRIVATE = (".holaboss", ".git")
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_SPEC_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PLAIN_LINE = re.compile(
    r"^(name|description|license|compatibility):[ \t]+(?![\"'|>\[{&*!])(.+?)[ \t]*$", re.M
)
_TOOLS_KEYS = ("holaboss_granted_tools", "holaboss-tools", "capability_grants")
_COMMANDS_KEYS = ("holaboss_granted_commands",)

Origin = Literal["embedded", "workspace"]


class SkillError(Exception):
    """A skill cannot be used; the message says why, in words for people."""


@dataclass(frozen=True, slots=True)
class Skill:
    """`id` is the name of its folder. `granted_tools` are those it opens when it is invoked, `allowed_tools` those of
    the specification's `allowed-tools`. `problems` are what a strict reader would object to."""

    id: str
    name: str
    description: str
    folder: Path
    origin: Origin
    granted_tools: tuple[str, ...] = ()
    granted_commands: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_skill(folder: Path, *, root: Path, origin: Origin = "workspace") -> tuple[Skill, str]:
    """The skill in `folder` and its body. Nothing that leads out of `root` is read. Raises `SkillError`."""
    if origin == "workspace":
        return _read_skill(folder, root, origin)
    try:
        found = (folder / SKILL_FILE).stat()
    except OSError:
        return _read_skill(folder, root, origin)
    return _read_ours(folder, root, origin, (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=MAX_KEPT)
def _read_ours(folder: Path, root: Path, origin: Origin, _: tuple[int, ...]) -> tuple[Skill, str]:
    """What comes with Holaboss is read once, until its file is another one: every run needs it.

    What lies in a workspace is looked at each time: where its links lead can change while its file stays.
    """
    return _read_skill(folder, root, origin)


def _read_skill(folder: Path, root: Path, origin: Origin) -> tuple[Skill, str]:
    text = _read(folder, root)
    match = _FRONT_MATTER.match(text)
    if match is None or len(match[1]) > _MAX_FRONT_MATTER_CHARS:
        raise SkillError("its SKILL.md does not begin with front matter between two lines of ---")
    fields = _parse(match[1])
    if fields is None:
        raise SkillError("the front matter of its SKILL.md is not valid YAML")
    description = _text(fields.get("description"))
    if not description:
        raise SkillError("its front matter has no description")
    skill = Skill(
        folder.name,
        _text(fields.get("name"))[:200] or folder.name,
        description[:MAX_DESCRIPTION_CHARS],
        folder,
        origin,
        _granted(fields, _TOOLS_KEYS, "granted_tools"),
        _granted(fields, _COMMANDS_KEYS, "granted_commands"),
        tuple(name.partition("(")[0] for name in _names(fields.get("allowed-tools")))[:MAX_GRANTS],
        tuple(_problems(fields, folder.name)),
    )
    return skill, text[match.end() :].strip()


def _read(folder: Path, root: Path) -> str:
    try:
        path = resolve_inside(root, (folder / SKILL_FILE).relative_to(root).as_posix())
        if path.relative_to(root.resolve()).parts[0].casefold() in _PRIVATE:
            raise SkillError("it leads to where skills may not lie")
        with open_regular(path) as file:
            raw = file.read(MAX_SKILL_BYTES + 1)
    except FileNotFoundError as error:
        raise SkillError("it has no SKILL.md") from error
    except NotAFileError as error:
        raise SkillError("its SKILL.md is not a file") from error
    except (DomainError, ValueError) as error:
        raise SkillError("it leads out of where it belongs") from error
    except OSError as error:
        raise SkillError(f"its SKILL.md cannot be read: {error.strerror}") from error
    if len(raw) > MAX_SKILL_BYTES:
        raise SkillError(f"its SKILL.md is larger than {MAX_SKILL_BYTES // 1024} KiB")
    return raw.decode("utf-8", "replace").replace("\r\n", "\n")


@lru_cache(maxsize=256)
def _parse(front_matter: str) -> dict[str, Any] | None:
    """None for what is not a mapping. The answer is shared: it is not to be changed."""
    found = _load(front_matter)
    if found is None:  # a colon inside a plain sentence is the usual mistake
        found = _load(_PLAIN_LINE.sub(lambda line: f"{line[1]}: {json.dumps(line[2])}", front_matter))
    return found


def _load(text: str) -> dict[str, Any] | None:
    import yaml

    try:
        document: object = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return cast(dict[str, Any], document) if isinstance(document, dict) else None


def _granted(fields: dict[str, Any], keys: tuple[str, ...], nested: str) -> tuple[str, ...]:
    own: object = fields.get("holaboss")
    lists: list[object] = [fields.get(key) for key in keys]
    if isinstance(own, dict):
        lists.append(cast(dict[str, Any], own).get(nested))
    return tuple(dict.fromkeys(name for listed in lists for name in _names(listed)))[:MAX_GRANTS]


def _names(value: object) -> list[str]:
    """Of a list, or of a text with names between spaces or commas. What is between brackets belongs to its name."""
    if isinstance(value, str):
        return re.findall(r"[^\s,(]+(?:\([^)]*\))?", value[: MAX_GRANTS * 100])
    if isinstance(value, list):
        items = cast(list[object], value)[:MAX_GRANTS]
        return [item.strip()[:200] for item in items if isinstance(item, str) and item.strip()]
    return []


def _problems(fields: dict[str, Any], folder_name: str) -> list[str]:
    name, description = fields.get("name"), fields.get("description")
    problems: list[str] = []
    if not isinstance(name, str) or len(name) > 64 or not _SPEC_NAME.fullmatch(name):
        problems.append("`name` must be at most 64 lower-case letters, digits and single hyphens")
    if name != folder_name:
        problems.append("`name` must be the name of the folder")
    if not isinstance(description, str) or len(description) > MAX_DESCRIPTION_CHARS:
        problems.append(f"`description` must be a text of at most {MAX_DESCRIPTION_CHARS} characters")
    compatibility = fields.get("compatibility", "-")
    if not isinstance(compatibility, str) or not 0 < len(compatibility) <= 500:
        problems.append("`compatibility` must be a text of at most 500 characters")
    if not isinstance(fields.get("metadata", {}), dict):
        problems.append("`metadata` must be a mapping")
    if not isinstance(fields.get("allowed-tools", ""), str):
        problems.append("`allowed-tools` must be one text with spaces between the names")
    return problems


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
