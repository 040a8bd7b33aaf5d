"""The HTTP client for authorization servers: bounded answers, no redirects, and only addresses that make sense.

Where an authorization server is comes from the MCP server, which is not trusted: one that lies on the internet must
not make this computer ask its own loopback, or send a token without encryption.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncIterator

import httpx2
import truststore

ANSWER_BYTES = 256 * 1024
REQUEST_S = 15.0


class AddressRefusedError(httpx2.RequestError):
    """An address that credentials must not go to. The message is a sentence."""


def is_loopback(url: httpx2.URL) -> bool:
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def may_carry_tokens(url: str) -> bool:
    """Whether a token may be sent there: encrypted, or without leaving this computer."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return False
    return parsed.scheme == "https" or (parsed.scheme == "http" and is_loopback(parsed))


def check_address(url: httpx2.URL, server_url: str) -> None:
    """Raises `AddressRefusedError` for an address that the MCP server at `server_url` must not lead to."""
    if not may_carry_tokens(str(url)):
        raise AddressRefusedError(f"{url.scheme}://{url.host} is not encrypted, so no token is sent there.")
    if is_loopback(url) and not is_loopback(httpx2.URL(server_url)):
        raise AddressRefusedError("The server points to an authorization server on this very computer.")


def open_client(server_url: str, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """A client for one authorization. Whoever asks for it closes it."""
    return httpx2.AsyncClient(
        auth=auth,
        transport=_Bounded(server_url),
        timeout=REQUEST_S,
        follow_redirects=False,
        trust_env=False,
    )


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, server_url: str) -> None:
        self._server_url = server_url
        tls = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._inner = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        check_address(request.url, self._server_url)
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, request)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ANSWER_BYTES
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError("The answer is too large.", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
