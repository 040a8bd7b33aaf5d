"""Every family of routes but health. To import this module is to load them all, with the services they use."""

from __future__ import annotations

from holaboss_runtime.api.routes import (
    agents,
    mcp,
    permissions,
    runtime,
    session_core,
    sessions,
    streams,
    subagents,
    terminals,
    undo,
    workspaces,
)

ROUTERS = (
    mcp.secrets_router,
    runtime.router,
    workspaces.router,
    undo.router,
    permissions.router,
    mcp.router,
    agents.router,
    sessions.router,
    session_core.router,
    subagents.router,
    terminals.router,
    streams.router,
)
"""In the order in which they are asked."""
