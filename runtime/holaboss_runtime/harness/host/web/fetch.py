"""Fetching one address of the web: public hosts only, each redirect checked anew, bounded in bytes and in time.

The address a name had when it was checked is the one that is connected to; certificates are checked against the name.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from holaboss_runtime.harness.host.web.addresses import Address, AddressError, resolve
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.http import open_client

MAX_BYTES = 50 * 1024 * 1024
TIMEOUT_S = 120.0
SILENCE_S = 30.0
MAX_REDIRECTS = 5
MAX_URL_CHARS = 4_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ENCODINGS = frozenset({"", "identity", "gzip"})  # gzip cannot grow by more than a known factor per chunk
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_HEADERS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "Holaboss"}

CheckHost = Callable[[str], None]
"""Raises for a host that a redirect must not lead to; what it raises is passed on."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer whose body is still to come. `media_type` is in lower case and without parameters."""

    url: str
    media_type: str
    disposition: str
    chunks: AsyncIterator[bytes]


class Fetcher:
    """`loopback` lets it reach this machine, for tests of it."""

    def __init__(
        self, *, loopback: bool = False, max_bytes: int = MAX_BYTES, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._loopback = loopback
        self._max_bytes = max_bytes
        self.timeout_s = timeout_s

    @asynccontextmanager
    async def open(self, url: str, check_host: CheckHost) -> AsyncGenerator[Fetched]:
        """Raises `WebError`. The caller bounds the time."""
        async with open_client(SILENCE_S) as client:
            try:
                response, shown = await self._follow(client, web_address(url), check_host)
                try:
                    yield self._fetched(response, shown)
                finally:
                    await response.aclose()
            except AddressError as error:
                raise WebError(str(error)) from error
            except httpx2.TimeoutException as error:
                raise WebError("The server does not answer. Try again later.") from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise WebError("The server broke off or cannot be reached.") from error

    async def _follow(
        self, client: httpx2.AsyncClient, url: httpx2.URL, check_host: CheckHost
    ) -> tuple[httpx2.Response, httpx2.URL]:
        first = url.host
        for _ in range(MAX_REDIRECTS + 1):
            if url.host != first:
                check_host(url.host)
            port = url.port or (443 if url.scheme == "https" else 80)
            address = await resolve(url.host, port, loopback=self._loopback)
            response = await client.send(_pinned(client, url, address), stream=True)
            if response.status_code not in _REDIRECTS or "location" not in response.headers:
                return response, url
            target = response.headers["location"]
            await response.aclose()
            url = web_address(str(url.join(target[:MAX_URL_CHARS])))
        raise WebError(f"The server redirects more than {MAX_REDIRECTS} times.")

    def _fetched(self, response: httpx2.Response, url: httpx2.URL) -> Fetched:
        if response.status_code != 200:
            raise WebError(f"{url.host} answers {response.status_code}: there is nothing to download.")
        if response.headers.get("content-encoding", "").strip().lower() not in _ENCODINGS:
            raise WebError(f"{url.host} sends a compression nobody asked for.")
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._max_bytes:
            raise self._too_large()
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        disposition = response.headers.get("content-disposition", "")
        return Fetched(str(url), media_type, disposition, self._chunks(response))

    async def _chunks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in response.aiter_bytes():
            received += len(chunk)
            if received > self._max_bytes:
                raise self._too_large()
            yield chunk

    def _too_large(self) -> WebError:
        return WebError(f"It is larger than {self._max_bytes // 1024 // 1024} MB.")


def web_address(url: str) -> httpx2.URL:
    """Raises `WebError` for everything but an http or https address without a name and password in it."""
    try:
        found = httpx2.URL(url.strip()[: MAX_URL_CHARS + 1])
        host = found.raw_host.decode("ascii")
        usable = found.scheme in ("http", "https") and bool(_HOST.fullmatch(host)) and not found.userinfo
    except (httpx2.InvalidURL, ValueError, UnicodeError) as error:
        raise WebError("This is not a valid address.") from error
    if not usable or len(url) > MAX_URL_CHARS:
        raise WebError("This is not a valid address. It has to be http:// or https:// and a host.")
    return found


def _pinned(client: httpx2.AsyncClient, url: httpx2.URL, address: Address) -> httpx2.Request:
    """A request that connects to `address` and speaks to the host of `url`."""
    host = url.netloc.decode("ascii")
    return client.build_request(
        "GET",
        url.copy_with(host=str(address)),
        headers=_HEADERS | {"host": host},
        extensions={"sni_hostname": url.host},
    )
