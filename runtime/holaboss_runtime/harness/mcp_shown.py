"""One MCP server as a screen gets it: what is written in the plan beside what was heard of it. Asks nobody.

What a host tells is read with care: the host is ours, but what it repeats comes from a server.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holaboss_client.mcp import McpAuthorization, McpConsent, McpServerView, McpState, McpTool
from holaboss_runtime.harness.mcp_consent import refusal
from holaboss_runtime.redaction import redact
from holaboss_runtime.workspace.mcp_plan import McpPlan, PlannedServer, placeholders

TOLD_TOOLS = 1_000


class Heard(BaseModel):
    """The state of one connection, as its host told it."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    name: str
    state: McpState = "idle"
    last_error: str | None = None
    transport: str | None = None
    protocol_revision: str | None = None
    pid: int | None = None
    tool_count: int | None = None
    tools: list[McpTool] = Field(default_factory=list[McpTool])
    context_tokens: int | None = None
    memory_bytes: int | None = None
    restarts: int = 0
    started_at: str | None = None
    stderr_tail: str = ""


class _Tokens(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    access_token: str = Field(default="", repr=False)
    expires_in: float | None = None


class _Kept(BaseModel):
    """What is looked at of a stored authorization."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    issuer: str | None = None
    obtained_at: float = 0.0
    tokens: _Tokens | None = None


def heard_of(answer: object) -> dict[str, Heard]:
    """By name. What cannot be understood is a server that failed."""
    listed: object = answer
    if isinstance(answer, dict):
        listed = cast("dict[str, object]", answer).get("servers")
    found: dict[str, Heard] = {}
    for one in cast("list[object]", listed) if isinstance(listed, list) else []:
        if not isinstance(one, dict):
            continue
        told = cast("dict[str, Any]", one)
        name = str(told.get("name", ""))
        try:
            found[name] = Heard.model_validate(told)
        except ValidationError:
            found[name] = Heard(name=name, state="failed", last_error="Its state cannot be understood.")
    return found


def remembered(heard: dict[str, Heard]) -> dict[str, Heard]:
    """What still holds while their executor is not there: no process of theirs lives."""
    return {
        name: Heard(
            name=name,
            state="stopped",
            last_error=one.last_error,
            tool_count=one.tool_count,
            tools=one.tools,
            context_tokens=one.context_tokens,
            stderr_tail=one.stderr_tail,
        )
        for name, one in heard.items()
    }


def shown_server(
    plan: McpPlan,
    server: PlannedServer,
    *,
    consent: McpConsent | None,
    missing: str | None,
    heard: Heard | None,
    kept: str | None,
    hidden: list[str],
) -> McpServerView:
    """`missing` is why it cannot be started, `kept` its stored authorization; `hidden` are secrets to take out."""
    state: McpState = "idle" if heard is None else heard.state
    error = heard.last_error if heard is not None else None
    if not server.enabled:
        state, error, heard = "disabled", None, None
    elif consent is not None and (refused := refusal(consent)) is not None:
        state, error, heard = "needs_consent", refused, None
    elif missing is not None:
        state, error, heard = "unavailable", missing, None
    heard = heard or Heard(name=server.name)
    return McpServerView(
        name=server.name,
        type=server.type,
        enabled=server.enabled,
        command=list(server.command),
        url=server.url,
        environment_names=list(server.environment),
        header_names=list(server.headers),
        placeholder_names=_placeholder_names(server),
        allowed_tools=_allowed(plan, server.name),
        state=state,
        last_error=None if error is None else redact(error, hidden),
        transport=heard.transport,
        protocol_revision=heard.protocol_revision,
        pid=heard.pid,
        tool_count=heard.tool_count,
        tools=heard.tools[:TOLD_TOOLS],
        context_tokens=heard.context_tokens,
        memory_bytes=heard.memory_bytes,
        restarts=heard.restarts,
        started_at=heard.started_at,
        consent=consent,
        authorization=_authorization(server, kept),
    )


def _allowed(plan: McpPlan, name: str) -> list[str] | None:
    split = [tool_id.split(".", 1) for tool_id in plan.tool_ids]
    return [tool for server, tool in split if server == name] or None


def _placeholder_names(server: PlannedServer) -> list[str]:
    texts = [*server.command, *server.environment.values(), server.url or "", *server.headers.values()]
    return sorted({name for text in texts for name in placeholders(text)})


def _authorization(server: PlannedServer, kept: str | None) -> McpAuthorization | None:
    if server.type != "remote" or any(name.lower() == "authorization" for name in server.headers):
        return None
    try:
        record = _Kept.model_validate_json(kept) if kept is not None else _Kept()
        return McpAuthorization(
            authorized=record.tokens is not None and bool(record.tokens.access_token),
            issuer=record.issuer,
            expires_at=_expires_at(record),
        )
    except (ValidationError, OverflowError, OSError, ValueError):
        return McpAuthorization()


def _expires_at(record: _Kept) -> str | None:
    if record.tokens is None or record.tokens.expires_in is None:
        return None
    moment = datetime.fromtimestamp(record.obtained_at + record.tokens.expires_in, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
