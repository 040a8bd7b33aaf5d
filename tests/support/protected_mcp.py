"""A real MCP server over Streamable HTTP that takes tokens of an authorization server, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl

from tests.support.authorization_server import AuthorizationServer
from tests.support.processes import PATIENCE_S


class ProtectedMcp:
    """`with ProtectedMcp(issuer) as server: server.url`; `issuer` may be changed while it runs.

    It has one tool, `echo`, and counts how often it ran.
    """

    def __init__(self, issuer: AuthorizationServer) -> None:
        self.issuer = issuer
        self.calls = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/mcp"
        self._server: uvicorn.Server | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="protected-mcp", daemon=True)

    async def verify_token(self, token: str) -> AccessToken | None:
        known = self.issuer.tokens.get(token)
        if known is None or not self.issuer.accepts(token, self.url):
            return None
        return AccessToken(token=token, client_id=known.client_id, scopes=["tools"], resource=self.url)

    def __enter__(self) -> ProtectedMcp:
        self._thread.start()
        assert self._started.wait(PATIENCE_S), "the server was not started"
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = MCPServer(
            "protected",
            token_verifier=self,
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(self.issuer.url),
                resource_server_url=AnyHttpUrl(self.url),
                required_scopes=["tools"],
                validate_token_resource=True,
            ),
            log_level="ERROR",
        )

        @server.tool()
        def echo(said: str) -> str:
            """Say it again."""
            self.calls += 1
            return f"echo: {said}"

        app = server.streamable_http_app()
        config = uvicorn.Config(app, log_config=None, ws="none", lifespan="on", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._started.set()
        await self._server.serve(sockets=[self._listener])
