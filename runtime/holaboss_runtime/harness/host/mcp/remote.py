"""Servers at an address: Streamable HTTP, and the older way with server-sent events.

Nothing of the environment counts (no proxies), certificates are those the system trusts, answers are bounded, and a
redirect is followed within one origin only, so that headers and tokens stay where they belong.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import truststore
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from holaboss_runtime.harness.contract import McpServerConfig

CONNECT_S = 10.0
SILENCE_S = 300.0
LONGEST_ANSWER = 8 * 1024 * 1024
# With these, what answered is no endpoint of the newer kind.
NOT_STREAMABLE = frozenset({400, 404, 405})

Kind = Literal["http", "sse"]


class Line:
    """A client for one connection, and the status of the newest answer."""

    def __init__(self, config: McpServerConfig, auth: httpx2.Auth | None, tls: ssl.SSLContext) -> None:
        self.status: int | None = None
        self._config = config
        self._auth = auth
        self._tls = tls

    @asynccontextmanager
    async def streams(self, kind: Kind) -> AsyncGenerator[tuple[Any, Any]]:
        """A reading and a writing stream of the SDK. Enter and leave it in one task."""
        url = self._config.url or ""
        client = self._client()

        def factory(*_: object, **__: object) -> httpx2.AsyncClient:
            return client

        if kind == "sse":
            async with sse_client(url, httpx_client_factory=factory) as pair:
                yield pair
        else:
            async with (
                client,
                streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_ANSWER) as pair,
            ):
                yield pair

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=self._config.headers
            | {"Accept-Encoding": "identity"},  # nothing that grows when unpacked
            auth=self._auth,
            timeout=httpx2.Timeout(CONNECT_S, read=SILENCE_S),
            transport=_Bounded(httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False)),
            trust_env=False,
            follow_redirects=False,  # the SDK follows within the origin by itself
            event_hooks={"response": [self._note]},
        )

    async def _note(self, response: httpx2.Response) -> None:
        self.status = response.status_code


def trusted() -> ssl.SSLContext:
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _TooLargeError(httpx2.StreamError):
    """The SDK makes a failed request of it, not a failed connection."""


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncHTTPTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Counted(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = LONGEST_ANSWER
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise _TooLargeError(f"The answer has more than {LONGEST_ANSWER // 1024 // 1024} MB.")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
