"""The tools of a run that servers carry out, as the gate and the agent loop know them.

Order and names depend on the settings and the lists of the servers alone, so that the start of a prompt stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holaboss_runtime.harness.contract import McpToolRef
from holaboss_runtime.harness.host.mcp.names import tool_names
from holaboss_runtime.harness.host.mcp.offers import Offer
from holaboss_runtime.harness.host.mcp.server import ServerConnection
from holaboss_runtime.harness.host.tools.base import HostTool, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts

MAX_VISIBLE = 25
"""The rest is found by tool search: every visible tool costs context in each request."""


def wanted_of(refs: Iterable[McpToolRef]) -> dict[str, frozenset[str]]:
    """The tools a run may see, by server; a server that is missing here is taken with all it offers."""
    wanted: dict[str, frozenset[str]] = {}
    for ref in refs:
        wanted[ref.server_id] = wanted.get(ref.server_id, frozenset()) | {ref.tool_name}
    return wanted


def tools_of(connections: Iterable[ServerConnection], wanted: dict[str, frozenset[str]]) -> list[HostTool]:
    """By server in the order of the settings, then by name."""
    tools: list[HostTool] = []
    for connection in connections:
        called = tool_names(connection.name, (offer.name for offer in connection.health.offers))
        allowed = wanted.get(connection.name)
        for offer in connection.health.offers:
            if allowed is None or offer.name in allowed:
                hidden = len(tools) >= MAX_VISIBLE
                tools.append(_tool(connection, offer, called[offer.name], hidden=hidden))
    return tools


def context_tokens(offers: Iterable[Offer]) -> int:
    """About what the tools take of a model's context: four characters for a token."""
    return sum(len(offer.name) + len(offer.description) + len(str(offer.schema)) for offer in offers) // 4


def _tool(connection: ServerConnection, offer: Offer, name: str, *, hidden: bool) -> HostTool:
    async def call(workspace: Workspace, arguments: dict[str, Any]) -> ToolOutcome:
        pictures = workspace.package.model_facts.takes_images
        return await connection.call(offer.name, arguments, pictures=pictures)

    facts = CallFacts(name, server=connection.name, read_only=offer.read_only, destructive=offer.destructive)
    return HostTool(
        name,
        offer.description or f"{offer.name} of the MCP server {connection.name}.",
        None,
        call,
        alone=offer.read_only is not True,
        about=lambda _: facts,
        hidden=hidden,
        origin={
            "source": "mcp",
            "mcp_server_id": connection.name,
            "tool_id": f"{connection.name}.{offer.name}",
        },
        schema=offer.schema,
    )
