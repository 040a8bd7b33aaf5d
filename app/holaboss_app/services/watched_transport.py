"""Notices that a runtime is silent long before a request gives up on it.

It changes nothing about a request: whoever is told finds out by itself whether the runtime is only busy.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

import httpx

from holaboss_client.transport import LIMITS

SILENT_AFTER_S = 5.0


class WatchedTransport(httpx.AsyncBaseTransport):
    """Calls `on_silence` once for each request whose answer has not begun after `after_s` seconds."""

    def __init__(
        self,
        on_silence: Callable[[], object],
        *,
        after_s: float = SILENT_AFTER_S,
        inner: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._on_silence = on_silence
        self._after_s = after_s
        self._inner = inner or _plain()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timer = asyncio.get_running_loop().call_later(self._after_s, self._on_silence)
        try:
            return await self._inner.handle_async_request(request)
        finally:
            timer.cancel()

    async def aclose(self) -> None:
        await self._inner.aclose()


def _plain() -> httpx.AsyncHTTPTransport:
    """As the client would make it: no proxy for loopback traffic, and a connection for every open stream.

    A runtime of ours has a plain address. Loading the certificates it does not need costs 3 MB and 20 ms; without them
    no other address could be trusted by mistake.
    """
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncHTTPTransport(verify=nobody, trust_env=False, limits=LIMITS)
