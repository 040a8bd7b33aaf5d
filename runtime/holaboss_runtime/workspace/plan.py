"""`workspace.yaml` and `AGENTS.md`: what a workspace says about itself, checked before a run uses it.

The runtime reads these files and never writes them after creation.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.errors import DomainError
from holaboss_runtime.permissions.model import PermissionRule
from holaboss_runtime.workspace.mcp_plan import McpPlan, read_mcp
from holaboss_runtime.workspace.paths import open_regular, resolve_inside
from holaboss_runtime.workspace.plan_permissions import SECTION as PERMISSIONS
from holaboss_runtime.workspace.plan_permissions import read_rules

PLAN_FILE = "workspace.yaml"
POLICY_FILE = "AGENTS.md"
MAX_BYTES = 1024 * 1024
KEPT_PLANS = 16

Section = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """`model` is the workspace default. `checksum` is the sha256 of the raw file."""

    name: str | None
    model: str | None
    checksum: str
    permissions: tuple[PermissionRule, ...] = ()
    """What the file wants refused or asked about; it can allow nothing."""
    skills: tuple[str, ...] | None = None
    """The skills a run has, in this order; None means all."""
    mcp: McpPlan = field(default_factory=McpPlan)


def load_plan(folder: Path) -> WorkspacePlan:
    """Read and check `workspace.yaml`; a missing file is an empty plan.

    Raises `DomainError` (`unprocessable`) with a code of the workspace contract, and `path` and `hint` as
    context.
    """
    return _plan_of(_read(folder, PLAN_FILE))


@lru_cache(maxsize=KEPT_PLANS)
def _plan_of(raw: bytes) -> WorkspacePlan:
    """Every run reads the file, and few runs find another one than the run before."""
    checksum = hashlib.sha256(raw).hexdigest()
    document = _parse(raw)
    if not document:
        return WorkspacePlan(None, None, checksum)
    agent = _agent(document)
    _check_tools(document)
    rules = read_rules(document.get(PERMISSIONS))
    return WorkspacePlan(
        _text(document.get("name")),
        _text(agent.get("model")),
        checksum,
        permissions=rules,
        skills=_skills(document),
        mcp=read_mcp(document),
    )


def read_policy(folder: Path) -> str:
    """The text of `AGENTS.md`, which is part of every prompt; `""` when there is none."""
    return _read(folder, POLICY_FILE).decode("utf-8", "replace").removeprefix("\ufeff")


def _read(folder: Path, name: str) -> bytes:
    """What an agent can write must not lead out of the workspace either: a link could put any file into a prompt."""
    try:
        with open_regular(resolve_inside(folder, name)) as file:
            content = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except (OSError, DomainError) as error:
        reason = getattr(error, "strerror", None) or "it leads out of the workspace"
        raise _invalid(
            "workspace_config_unreadable",
            name,
            f"The file cannot be read: {reason}.",
            "Check what is there and its permissions.",
        ) from error
    if len(content) > MAX_BYTES:
        raise _invalid("workspace_config_too_large", name, "The file is larger than 1 MiB.", "Shorten it.")
    return content


def _parse(raw: bytes) -> Section:
    import yaml

    try:
        document: object = yaml.load(raw, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise _invalid(
            "workspace_config_invalid_yaml",
            PLAN_FILE,
            f"This is not valid YAML{where}.",
            "Correct the syntax.",
        ) from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise _invalid(
            "workspace_config_invalid_yaml",
            PLAN_FILE,
            "The file must be a mapping of keys to values.",
            "Start it with `name:`.",
        )
    return cast(Section, document)


def _agent(document: Section) -> Section:
    agents = document.get("agents")
    if not isinstance(agents, dict) or "general" in agents:
        raise _invalid(
            "workspace_general_missing",
            "agents",
            "`agents` must be one mapping with the `id` and `model` of the agent.",
            "Write `agents:` and below it `id: workspace.general`.",
        )
    agent = cast(Section, agents)
    if "prompt" in agent:
        raise _invalid(
            "workspace_prompt_inline_not_allowed",
            "agents.prompt",
            "Instructions do not belong in workspace.yaml.",
            "Move them to AGENTS.md.",
        )
    if agent.get("schema_id") and agent.get("schema_module_path"):
        raise _invalid(
            "workspace_schema_field_conflict",
            "agents",
            "Only one of `schema_id` and `schema_module_path` may be set.",
            "Remove one of them.",
        )
    return agent


def _skills(document: Section) -> tuple[str, ...] | None:
    listed: object = document.get("skills")
    if listed is None:
        return None
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in cast(list[object], listed)):
        raise _invalid(
            "workspace_config_invalid",
            "skills",
            "This must be a list of skill ids.",
            "Write one id per line, each behind a hyphen, or remove the key to have all skills.",
        )
    return tuple(cast(list[str], listed))


def _check_tools(document: Section) -> None:
    if "tool_registry" in document:
        raise _invalid(
            "workspace_tool_registry_unsupported",
            "tool_registry",
            "`tool_registry` is not supported.",
            "Declare tools through `mcp_registry`.",
        )


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _invalid(code: str, path: str, sentence: str, hint: str) -> DomainError:
    return DomainError("unprocessable", code, f"{path}: {sentence} {hint}", path=path, hint=hint)
