"""The application: every route in one place, without the gate (see `middleware`).

A server listens before it has loaded its services, so the routes come in two steps: `/healthz` at once, all others
when `Application.open` brings what they need. Requests for those wait meanwhile; nothing is refused or lost.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.types import Receive, Scope, Send

from holaboss_client import PRODUCT_VERSION
from holaboss_runtime.api import problems
from holaboss_runtime.api.middleware import OPEN_PATH
from holaboss_runtime.api.routes import health

if TYPE_CHECKING:
    from holaboss_runtime.api.state import RuntimeState


class Application:
    """Made on the event loop."""

    def __init__(self) -> None:
        self._app = _build_framework()
        self._opened = asyncio.Event()
        self._is_open = False

    def open(self, state: RuntimeState, routers: Sequence[APIRouter]) -> None:
        """Take in all further routes and let the requests through that have been waiting for them."""
        _include(self._app, routers)
        self._app.state.runtime = state
        self._is_open = True
        self._opened.set()

    def close(self) -> None:
        """Whoever still waits is told that nothing comes."""
        self._opened.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != OPEN_PATH:
            await self._opened.wait()
            if not self._is_open:
                detail = "The runtime stops before it was ready. Start it again."
                await problems.problem(503, "stopping", detail)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def build_routes() -> FastAPI:
    """All of them, without the services behind them."""
    from holaboss_runtime.api.families import ROUTERS

    app = _build_framework()
    _include(app, ROUTERS)
    return app


def _build_framework() -> FastAPI:
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
    app.state.routes = []
    problems.install(app)
    _include(app, [health.router])
    return app


def _include(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    for router in routers:
        app.include_router(_with_status(router))
        app.state.routes += [route for route in router.routes if isinstance(route, APIRoute)]


def _with_status(router: APIRouter) -> APIRouter:
    """FastAPI cannot describe a route whose response class names no status of its own, as a stream does."""
    for route in router.routes:
        if isinstance(route, APIRoute) and route.status_code is None:
            route.status_code = 200
    return router
