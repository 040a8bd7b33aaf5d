"""An authorization server, an MCP server that takes its tokens, and a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from holaboss_runtime.harness.host.asks import Asks
from holaboss_runtime.harness.host.mcp.oauth import Authorizations
from tests.runtime.mcp_oauth.secrets_in_memory import RuntimeEnd
from tests.support.authorization_server import AuthorizationServer
from tests.support.processes import PATIENCE_S
from tests.support.protected_mcp import ProtectedMcp


@pytest.fixture
def issuer() -> Iterator[AuthorizationServer]:
    with AuthorizationServer() as running:
        yield running


@pytest.fixture
def server(issuer: AuthorizationServer) -> Iterator[ProtectedMcp]:
    with ProtectedMcp(issuer) as running:
        yield running


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    """It follows redirects, as browsers do, and belongs to a person who agrees to everything."""
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def runtime_end() -> RuntimeEnd:
    return RuntimeEnd()


@pytest.fixture
def asks() -> Asks:
    return Asks()


@pytest.fixture
async def authorizations(runtime_end: RuntimeEnd, asks: Asks) -> AsyncIterator[Authorizations]:
    made = Authorizations(runtime_end.calls)
    made.register(asks)
    yield made
    await made.close()
