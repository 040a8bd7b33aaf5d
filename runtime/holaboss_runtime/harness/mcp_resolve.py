"""From the MCP servers of a plan to those a host can be given: placeholders filled in, as far as that is allowed.

A workspace file must not be able to read whatever the runtime knows: a name stands for a secret stored for this very
workspace, or for a variable that was opened to placeholders. A server with a name that stands for nothing is left out
and says so; the others are not touched by that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from holaboss_runtime.harness.contract import McpServer, McpServerConfig, McpToolRef
from holaboss_runtime.workspace.mcp_plan import PLACEHOLDER, McpPlan, PlannedServer, placeholders


class Values(Protocol):
    """What placeholders stand for."""

    def placeholder(self, workspace_id: str, name: str) -> str | None: ...

    def variable(self, name: str) -> str | None:
        """Without the stored secrets: what every process of the user may see."""
        ...


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A server that cannot be given to a host; `reason` is a sentence."""

    name: str
    reason: str
    needs_consent: bool = False


@dataclass(frozen=True, slots=True)
class McpAccess:
    """What a run may reach, in the order of the plan. `tool_refs` are of `servers` only."""

    servers: tuple[McpServer, ...] = ()
    tool_refs: tuple[McpToolRef, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()


class _MissingError(Exception):
    """The message is a sentence about a name that stands for nothing."""


def resolve(plan: McpPlan, workspace_id: str, values: Values) -> McpAccess:
    """Of the enabled servers."""
    servers: list[McpServer] = []
    unavailable: list[Unavailable] = []
    for planned in plan.servers:
        if not planned.enabled:
            continue
        try:
            servers.append(resolve_server(planned, workspace_id, values))
        except _MissingError as error:
            unavailable.append(Unavailable(planned.name, str(error)))
    names = {server.name for server in servers}
    return McpAccess(tuple(servers), tuple(_refs(plan, names)), tuple(unavailable))


def why_unavailable(planned: PlannedServer, workspace_id: str, values: Values) -> str | None:
    """The sentence that `resolve` would give for a server; None when it could be started."""
    try:
        resolve_server(planned, workspace_id, values)
    except _MissingError as error:
        return str(error)
    return None


def resolve_server(planned: PlannedServer, workspace_id: str, values: Values) -> McpServer:
    def secret(name: str) -> str:
        value = values.placeholder(workspace_id, name)
        if value is None:
            raise _MissingError(
                f"{name} is not there. Store it for this workspace, under mcp:{workspace_id}:{name}."
            )
        return value

    def seen_by_all(name: str) -> str:
        value = values.variable(name)
        if value is None:
            raise _MissingError(
                f"{name} stands in the command line, which every program of this computer can read, so no stored secret"
                " is put there. Use it under `environment`."
            )
        return value

    config = McpServerConfig(
        type=planned.type,
        command=[_filled(part, seen_by_all) for part in planned.command],
        environment=_each_filled(planned.environment, secret),
        url=None if planned.url is None else _filled(planned.url, secret),
        headers=_each_filled(planned.headers, secret),
        transport=planned.transport,
        timeout_s=planned.timeout_s,
    )
    if (
        any(not value.isprintable() for value in config.headers.values())
        or not (config.url or "").isprintable()
    ):
        raise _MissingError("A secret it needs has a line break in it. Store it again without one.")
    return McpServer(name=planned.name, config=config)


def _each_filled(texts: dict[str, str], value_of: Callable[[str], str]) -> dict[str, str]:
    return {name: _filled(text, value_of) for name, text in texts.items()}


def _filled(text: str, value_of: Callable[[str], str]) -> str:
    if not placeholders(text):
        return text
    return PLACEHOLDER.sub(lambda found: value_of(found[1]), text)


def _refs(plan: McpPlan, names: set[str]) -> list[McpToolRef]:
    split = [(tool_id, *tool_id.split(".", 1)) for tool_id in plan.tool_ids]
    return [
        McpToolRef(tool_id=tool_id, server_id=server, tool_name=tool)
        for tool_id, server, tool in split
        if server in names
    ]
