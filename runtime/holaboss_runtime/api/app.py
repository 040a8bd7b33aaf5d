"""The application: every route in one place, without the gate (see `middleware`)."""

from __future__ import annotations

import warnings

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.types import ASGIApp

from holaboss_client import PRODUCT_VERSION
from holaboss_runtime.api import problems
from holaboss_runtime.api.middleware import Access, Gate
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
from holaboss_runtime.api.state import RuntimeState


def build_routes() -> FastAPI:
    """No documentation pages, no redirects, no CORS; the schema is served by a route of ours, behind the
    token.
    """
    # FastAPI silences this warning while it builds a body model; ours are built on first use, outside of
    # that.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    app = FastAPI(
        title="Holaboss runtime",
        version=PRODUCT_VERSION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    problems.install(app)
    families = (
        runtime,
        workspaces,
        undo,
        permissions,
        mcp,
        agents,
        sessions,
        session_core,
        subagents,
        terminals,
        streams,
    )
    for router in (runtime.health, mcp.secrets_router, *(family.router for family in families)):
        app.include_router(_with_status(router))
    return app


def _with_status(router: APIRouter) -> APIRouter:
    """FastAPI cannot describe a route whose response class names no status of its own, as a stream does."""
    for route in router.routes:
        if isinstance(route, APIRoute) and route.status_code is None:
            route.status_code = 200
    return router


def build_app(state: RuntimeState, access: Access) -> ASGIApp:
    app = build_routes()
    app.state.runtime = state
    return Gate(app, access)
