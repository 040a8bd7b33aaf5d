"""`workspace.yaml` and `AGENTS.md`: what a workspace says about itself, checked before a run uses it.

The runtime reads these files and never writes them after creation.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import open_regular, resolve_inside

PLAN_FILE = "workspace.yaml"
POLICY_FILE = "AGENTS.md"
MAX_BYTES = 1024 * 1024
_TOOL_ID = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+")
_CATALOG_SERVER = "workspace"

Section = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """`model` is the workspace default. `checksum` is the sha256 of the raw file."""

    name: str | None
    model: str | None
    checksum: str


def load_plan(folder: Path) -> WorkspacePlan:
    """Read and check `workspace.yaml`; a missing file is an empty plan.

    Raises `DomainError` (`unprocessable`) with a code of the workspace contract, and `path` and `hint` as
    context.
    """
    raw = _read(folder, PLAN_FILE)
    checksum = hashlib.sha256(raw).hexdigest()
    document = _parse(raw)
    if not document:
        return WorkspacePlan(None, None, checksum)
    agent = _agent(document)
    _check_tools(document)
    return WorkspacePlan(_text(document.get("name")), _text(agent.get("model")), checksum)


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


def _check_tools(document: Section) -> None:
    if "tool_registry" in document:
        raise _invalid(
            "workspace_tool_registry_unsupported",
            "tool_registry",
            "`tool_registry` is not supported.",
            "Declare tools through `mcp_registry`.",
        )
    registry = _section(document, "mcp_registry")
    servers = _section(registry, "servers", "mcp_registry.servers")
    listed: object = _section(registry, "allowlist", "mcp_registry.allowlist").get("tool_ids") or []
    if not isinstance(listed, list):
        raise _bad_tool(listed, "`tool_ids` must be a list")
    seen: set[str] = set()
    for tool in cast(list[object], listed):
        if not isinstance(tool, str) or not _TOOL_ID.fullmatch(tool):
            raise _bad_tool(tool, "A tool id looks like `server.tool`")
        if tool in seen:
            raise _bad_tool(tool, "A tool is listed twice")
        seen.add(tool)
        server = tool.partition(".")[0]
        if server not in servers and server != _CATALOG_SERVER:
            raise _invalid(
                "workspace_mcp_server_unknown",
                "mcp_registry.allowlist.tool_ids",
                f"`{tool}` names the server `{server}`, which is not under `mcp_registry.servers`.",
                "Add the server or remove the tool.",
            )


def _section(parent: Section, key: str, path: str | None = None) -> Section:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _invalid(
            "workspace_config_invalid",
            path or key,
            "This must be a mapping.",
            "Write keys and values below it.",
        )
    return cast(Section, value)


def _bad_tool(tool: object, sentence: str) -> DomainError:
    return _invalid(
        "workspace_mcp_tool_id_invalid",
        "mcp_registry.allowlist.tool_ids",
        f"{sentence}; found {str(tool)[:80]!r}.",
        "Correct the entry.",
    )


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _invalid(code: str, path: str, sentence: str, hint: str) -> DomainError:
    return DomainError("unprocessable", code, f"{path}: {sentence} {hint}", path=path, hint=hint)
