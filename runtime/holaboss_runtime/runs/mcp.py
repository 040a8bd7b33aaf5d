"""The MCP servers of a run: what its package carries of them, and what its prompt says of them.

A local server whose command nobody allowed is left out here, before anything of it is looked up or started.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from holaboss_runtime.harness.mcp_consent import NEEDED
from holaboss_runtime.harness.mcp_resolve import McpAccess, Unavailable, Values, resolve
from holaboss_runtime.workspace.mcp_plan import McpPlan, PlannedServer


class SecretValues(Values, Protocol):
    """What a run needs of the stored secrets: ready to be read, and what placeholders stand for."""

    async def open(self) -> None: ...


class Consents(Protocol):
    """What a person allowed to be started."""

    def why_not(self, workspace_id: str, server: PlannedServer) -> str | None:
        """A sentence; None when it may be started."""
        ...


async def access_of(
    plan: McpPlan, workspace_id: str, secrets: SecretValues | None, consents: Consents | None
) -> McpAccess:
    """Without a store of secrets nothing stands behind a placeholder; where nobody can be asked, nothing is allowed."""
    if not plan.servers:
        return McpAccess()
    if secrets is not None:
        await secrets.open()
    consents = consents or _Nobody()
    refused = {
        server.name: reason
        for server in plan.servers
        if server.enabled and (reason := consents.why_not(workspace_id, server)) is not None
    }
    allowed = replace(plan, servers=tuple(each for each in plan.servers if each.name not in refused))
    access = resolve(allowed, workspace_id, secrets or _Nothing())
    left_out = [Unavailable(name, reason, needs_consent=True) for name, reason in refused.items()]
    return replace(access, unavailable=(*access.unavailable, *left_out))


def package_fields(access: McpAccess) -> dict[str, Any]:
    """The fields of a `RunPackage`."""
    return {"mcp_servers": list(access.servers), "mcp_tool_refs": list(access.tool_refs)}


def described(access: McpAccess) -> str:
    """What a model may know before any tool is known; `""` when there is nothing to say."""
    told: list[str] = []
    if access.servers:
        names = ", ".join(server.name for server in access.servers)
        told.append(
            f"These MCP servers are connected: {names}. Their tools are called mcp__<server>__<tool>, and which there"
            " are is known once a server has answered."
        )
    for one in access.unavailable:
        how = "is not allowed yet" if one.needs_consent else "is not available"
        told.append(f"The MCP server {one.name} {how}: {one.reason}")
    return "\n".join(told)


def notices(access: McpAccess) -> list[dict[str, Any]]:
    """What the person should know of servers that this run cannot have: payloads of RUN_NOTICE."""
    return [_notice(one) for one in access.unavailable]


def _notice(one: Unavailable) -> dict[str, Any]:
    return {
        "code": "mcp_needs_consent" if one.needs_consent else "mcp_server_unavailable",
        "message": f"The MCP server {one.name} is left out of this run. {one.reason}",
        "mcp_server_id": one.name,
        "state": "needs_consent" if one.needs_consent else "unavailable",
    }


class _Nobody:
    def why_not(self, workspace_id: str, server: PlannedServer) -> str | None:
        return NEEDED if server.type == "local" else None


class _Nothing:
    def placeholder(self, workspace_id: str, name: str) -> str | None:
        return None

    def variable(self, name: str) -> str | None:
        return None
