"""What a connection needs of its host, and what can be seen of it from outside."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.host.mcp.child import Announce
from holaboss_runtime.harness.host.mcp.offers import Offer

if TYPE_CHECKING:
    import httpx2

State = Literal["starting", "ready", "needs_authorization", "failed", "stopped"]

AuthFactory = Callable[[str, McpServer, Callable[[], None]], "httpx2.Auth | None"]
"""What puts credentials on the requests to a remote server, by workspace and server; asked anew for each connection.
The callback is for a refusal that only a person can cure."""


@dataclass(frozen=True)
class Surroundings:
    """What a connection needs of its host."""

    workspace_id: str
    folder: Path
    announce: Announce
    owner: Callable[[], str]
    news: Callable[[McpServer, Health], None]
    logs: Callable[[str, str], Path | None]
    auth: AuthFactory
    tls: Callable[[], ssl.SSLContext]


@dataclass
class Health:
    """What can be seen of a connection from outside."""

    state: State = "starting"
    pid: int | None = None
    transport: str = ""
    protocol_revision: str | None = None
    restarts: int = 0
    last_error: str | None = None
    started_at: str | None = None
    offers: tuple[Offer, ...] = field(default=())
