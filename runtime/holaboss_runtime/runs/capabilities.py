"""What a run can do, evaluated once when it starts: the tools it is given, and the manifest that says so.

Both come from the same package the executor gets, so nothing can be promised that does not exist. A tool that is
forbidden whatever its arguments is taken out; one that may be refused for some arguments stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.permissions.model import Permission
from holaboss_runtime.permissions.standing import Standing
from holaboss_runtime.runs import fingerprint

Kind = Literal["builtin_tool", "runtime_tool", "mcp_tool", "custom_tool", "skill"]
Policy = Literal["inspect", "mutate", "coordinate"]
Record = dict[str, Any]

_INSPECT = frozenset({"read", "grep", "find", "ls", "web_search"})
_COORDINATE = frozenset({"todo", "skill", "question", "scratchpad"})


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The package without what is forbidden, and its manifest: `document` is JSON, `fingerprint` names it."""

    package: RunPackage
    document: Record
    fingerprint: str


def evaluate(
    package: RunPackage, *, harness: str, skills: Mapping[str, str], withheld: Mapping[str, str] | None = None
) -> Evaluated:
    """`skills` are names by id; `withheld` are tools that exist and are not given to this run, with the reason."""
    standing = Standing(package.permissions)
    own: dict[str, Permission] = {name: standing.of(name) for name in package.tools}
    runtime: dict[str, Permission] = {tool.name: standing.of(tool.name) for tool in package.runtime_tools}
    custom: dict[str, Permission] = {tool.name: standing.of(tool.name) for tool in package.custom_tools}
    given = package.model_copy(
        update={
            "tools": [name for name in package.tools if own[name] != "deny"],
            "runtime_tools": [tool for tool in package.runtime_tools if runtime[tool.name] != "deny"],
            "custom_tools": [tool for tool in package.custom_tools if custom[tool.name] != "deny"],
        }
    )
    mutating = {tool.name for tool in package.runtime_tools if tool.mutates}
    capabilities = [
        *(_tool(name, "builtin_tool", _policy(name), allowed) for name, allowed in own.items()),
        *(
            _tool(name, "runtime_tool", "mutate" if name in mutating else "inspect", allowed)
            for name, allowed in runtime.items()
        ),
        *(_tool(name, "custom_tool", "mutate", allowed) for name, allowed in custom.items()),
        *(_mcp_tool(ref.tool_id, ref.server_id, ref.tool_name, standing) for ref in package.mcp_tool_refs),
        *(_skill(skill_id, name) for skill_id, name in skills.items()),
        *(_withheld(name, reason) for name, reason in (withheld or {}).items()),
    ]
    document = _document(package, harness, capabilities)
    return Evaluated(given, document, document["fingerprint"])


def _document(package: RunPackage, harness: str, capabilities: list[Record]) -> Record:
    print_of_all = fingerprint.of_value(capabilities)
    listed = [capability for capability in capabilities if capability["callable"]]
    return {
        "context": {
            "harness_id": harness,
            "session_kind": package.session_kind,
            "permission_profile": package.permissions.profile,
            "mcp_server_ids": [server.name for server in package.mcp_servers],
            "mcp_tools_available": bool(package.mcp_servers),
            "workspace_skills_available": any(one["kind"] == "skill" for one in capabilities),
        },
        "capabilities": capabilities,
        **{policy: _ids(listed, policy) for policy in ("inspect", "mutate", "coordinate")},
        "refresh_semantics": {
            "evaluation_scope": "per_run",
            "skills_resolved_at": "run_start",
            "supports_live_deltas": False,
        },
        "fingerprint": print_of_all,
    }


def _ids(capabilities: list[Record], policy: str) -> list[str]:
    return [capability["id"] for capability in capabilities if capability["policy"] == policy]


def _policy(name: str) -> Policy:
    if name in _COORDINATE:
        return "coordinate"
    return "inspect" if name in _INSPECT else "mutate"


def _tool(name: str, kind: Kind, policy: Policy, permission: Permission) -> Record:
    allowed = permission != "deny"
    return {
        "id": name,
        "kind": kind,
        "policy": policy,
        "callable_name": name,
        "visible_to_model": allowed,
        "callable": allowed,
        "permission": permission,
        "requires_user_confirmation": permission == "always_ask",
        "execution_mode": "tool_call",
        "trust_level": "system" if kind != "custom_tool" else "external",
        "unavailable_reason": None if allowed else "permission_denied",
    }


def _mcp_tool(tool_id: str, server_id: str, tool_name: str, standing: Standing) -> Record:
    callable_name = f"mcp__{server_id}__{tool_name}"
    record = _tool(tool_id, "mcp_tool", "mutate", standing.of(callable_name))
    more = {"callable_name": callable_name, "trust_level": "external"}
    return record | more | {"server_id": server_id, "tool_name": tool_name}


def _skill(skill_id: str, name: str) -> Record:
    return {
        "id": f"skill:{skill_id}",
        "kind": "skill",
        "policy": "coordinate",
        "title": name,
        "callable_name": "skill",
        "visible_to_model": True,
        "callable": True,
        "permission": "always_allow",
        "requires_user_confirmation": False,
        "execution_mode": "skill_reference",
        "trust_level": "workspace",
        "unavailable_reason": None,
    }


def _withheld(name: str, reason: str) -> Record:
    absent = {"visible_to_model": False, "callable": False, "unavailable_reason": reason}
    return _tool(name, "builtin_tool", _policy(name), "deny") | absent
