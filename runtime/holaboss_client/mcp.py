"""MCP servers of a workspace, as they travel: what is configured, without any secret, and how each one is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel

McpState = Literal[
    "disabled",
    "needs_consent",
    "unavailable",
    "idle",
    "starting",
    "ready",
    "needs_authorization",
    "failed",
    "stopped",
]
"""`idle`: nobody needed it yet. `unavailable`: something it needs is not there; `last_error` says what.
`needs_consent`: a person has to allow its command first; `consent` has the command."""


class McpTool(WireModel):
    name: str
    description: str = ""


class McpAuthorization(WireModel):
    """`authorized`: a token is kept. `expires_at` is when it has to be renewed, which needs no person."""

    authorized: bool = False
    issuer: str | None = None
    expires_at: str | None = None


class McpConsent(WireModel):
    """Whether a person allowed the command of a local server. `changed`: they allowed another one, which was
    `earlier_command_text`; `trusted`: this server was told to start everything.

    `command_text` is what would be started, in one line. Of its variables the names are shown, and the values of those
    that decide what runs. `fingerprint` is of that, and is what is allowed.
    """

    state: Literal["needed", "changed", "allowed", "trusted"]
    fingerprint: str
    command_text: str
    earlier_command_text: str | None = None
    allowed_at: str | None = None


class GiveMcpConsent(RequestModel):
    """`POST …/mcp-servers/{server}/consent`: the fingerprint of the command that the person looked at."""

    fingerprint: str = Field(min_length=1, max_length=128)


class McpServerView(WireModel):
    """One server of `workspace.yaml`. `command` and `url` stand as they are written there, placeholders and all;
    of `environment` and `headers` only the names are shown.

    What is measured (`pid`, `memory_bytes`, …) is null while it is not connected; `memory_bytes` counts its processes,
    `context_tokens` is an estimate of what its tools cost in a prompt. `allowed_tools` is null when all are let in.
    """

    name: str
    type: Literal["local", "remote"]
    enabled: bool
    command: list[str] = Field(default_factory=list[str])
    url: str | None = None
    environment_names: list[str] = Field(default_factory=list[str])
    header_names: list[str] = Field(default_factory=list[str])
    placeholder_names: list[str] = Field(default_factory=list[str])
    allowed_tools: list[str] | None = None
    state: McpState
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
    consent: McpConsent | None = None
    """Null for a remote server: it runs nothing here."""
    authorization: McpAuthorization | None = None
    """Null where there can be none: a local server, or one with an Authorization header of the person's own."""


class McpServerList(WireModel):
    """`GET /api/v1/workspaces/{id}/mcp-servers`, in the order of the file. `live` is false when the executor could not
    be asked; what is shown of each server is then what was known last."""

    items: list[McpServerView]
    live: bool = True


class McpAuthorizationStart(WireModel):
    """`POST …/mcp-servers/{server}/authorize`: where the person's browser is to go. Nothing opens it but a client."""

    authorization_url: str


class McpServerLog(WireModel):
    """`GET …/mcp-servers/{server}/log`: the end of what it wrote to its standard error."""

    text: str
