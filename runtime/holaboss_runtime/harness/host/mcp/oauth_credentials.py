"""What this host may show to one MCP server: its tokens, where they came from, and how they are renewed.

A record belongs to one address and one issuer. It is read from and written to the runtime's secret store, never to a
file. Renewing happens once at a time, in a task of its own, so that neither a burst of refusals nor a caller that goes
away in the middle can lose a token that the server has exchanged already.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from holaboss_runtime.harness.host.mcp.oauth_http import open_client

logger = logging.getLogger(__name__)

EARLY_S = 30.0
"""A token is renewed this long before it ends, or a tenth of its life before where that is shorter."""

_FINAL = frozenset({400, 401, 403})
"""Answers of a token endpoint that no repetition can change."""


class Record(BaseModel):
    """As it is kept. Without `tokens` only the registration is known."""

    model_config = ConfigDict(extra="ignore")

    version: int = 1
    server_url: str
    issuer: str | None = None
    client: OAuthClientInformationFull | None = None
    tokens: OAuthToken | None = None
    obtained_at: float = 0.0
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    protocol_version: str | None = None

    @property
    def expires_at(self) -> float | None:
        if self.tokens is None or self.tokens.expires_in is None:
            return None
        return self.obtained_at + self.tokens.expires_in


class SecretPlace:
    """One named secret of the runtime."""

    def __init__(
        self,
        get: Callable[[], Awaitable[str | None]],
        put: Callable[[str], Awaitable[None]],
        delete: Callable[[], Awaitable[None]],
    ) -> None:
        self.get = get
        self.put = put
        self.delete = delete


class Credentials:
    """Those of one server of one workspace."""

    def __init__(self, server_url: str, place: SecretPlace) -> None:
        self.server_url = server_url
        self._place = place
        self._record: Record | None = None
        self._loading = asyncio.Lock()
        self._loaded = False
        self._renewing: asyncio.Task[str | None] | None = None

    async def record(self) -> Record:
        async with self._loading:
            if not self._loaded:
                self._record = _read(await self._place.get(), self.server_url)
                self._loaded = True
        return self._record or Record(server_url=self.server_url)

    def reread(self) -> None:
        """Ask the runtime again at the next use."""
        self._record, self._loaded = None, False

    async def save(self, record: Record) -> None:
        self._record, self._loaded = record, True
        await self._place.put(record.model_dump_json(exclude_none=True))

    async def forget(self) -> None:
        """Away with everything, also the registration."""
        if self._renewing is not None:
            self._renewing.cancel()
        self._record, self._loaded = None, True
        await self._place.delete()

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def usable(self) -> str | None:
        """A token to send, renewed where its time is over. None without one.

        Raises `httpx2.RequestError` when it must be renewed and nobody answers.
        """
        record = await self.record()
        if record.tokens is None:
            return None
        if record.expires_at is not None and time.time() >= record.expires_at - _early(record):
            return await self.renewed(record.tokens.access_token)
        return record.tokens.access_token

    async def renewed(self, refused: str | None) -> str | None:
        """Another token than `refused`; None when there can be none without a person."""
        record = await self.record()
        current = record.tokens.access_token if record.tokens else None
        if current is not None and current != refused:
            return current
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.get_running_loop().create_task(self._renew(record))
            self._renewing.add_done_callback(_heard)
        return await asyncio.shield(self._renewing)

    async def _renew(self, record: Record) -> str | None:
        if record.tokens is None:
            return None
        if record.tokens.refresh_token is None or record.client is None:
            await self.save(record.model_copy(update={"tokens": None}))
            return None
        async with open_client(self.server_url) as client:
            response = await client.send(await Provider(record).refresh_request())
        if response.status_code != 200:
            if response.status_code not in _FINAL:
                raise httpx2.RequestError("The authorization server does not answer at the moment.")
            logger.info("a refresh was refused with %d", response.status_code)
            await self.save(record.model_copy(update={"tokens": None}))
            return None
        tokens = _carried_on(response.content, record.tokens)
        await self.save(record.model_copy(update={"tokens": tokens, "obtained_at": time.time()}))
        return tokens.access_token


class Provider(OAuthClientProvider):
    """The SDK's provider, with what is known already."""

    def __init__(self, record: Record) -> None:
        super().__init__(record.server_url, OAuthClientMetadata(redirect_uris=_REDIRECTS), _NoStorage())
        self.context.current_tokens = record.tokens
        self.context.client_info = record.client
        self.context.oauth_metadata = record.metadata
        self.context.protected_resource_metadata = record.resource
        self.context.protocol_version = record.protocol_version

    async def refresh_request(self) -> httpx2.Request:
        return await self._refresh_token()


class _NoStorage:
    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


_REDIRECTS = OAuthClientInformationFull.model_validate(
    {"client_id": "-", "redirect_uris": ["http://127.0.0.1/callback"]}
).redirect_uris


class CarryToken(httpx2.Auth):
    """Puts the token on each request; a refused one is renewed and the request sent once more.

    What cannot be cured is told to `needed`, and the refusal goes to whoever asked.
    """

    def __init__(self, credentials: Credentials, needed: Callable[[], None]) -> None:
        self._credentials = credentials
        self._needed = needed

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._credentials.usable()
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code != 401:
            return
        fresh = await self._credentials.renewed(token) if token is not None else None
        if fresh is not None:
            request.headers["Authorization"] = f"Bearer {fresh}"
            response = yield request
        if response.status_code == 401:
            self._needed()


def _read(text: str | None, server_url: str) -> Record | None:
    """What was kept, if it is for this address: a server that moved gets nothing of the old one."""
    if text is None:
        return None
    try:
        record = Record.model_validate_json(text)
    except ValidationError:
        logger.warning("kept credentials of a server cannot be understood and are not used")
        return None
    return record if record.version == 1 and record.server_url == server_url else None


def _carried_on(content: bytes, old: OAuthToken) -> OAuthToken:
    """The new tokens; what the answer leaves out stays as it was. Raises `httpx2.RequestError`."""
    try:
        new = OAuthToken.model_validate_json(content)
    except ValidationError as error:
        raise httpx2.RequestError("The authorization server answers nonsense.") from error
    return new.model_copy(
        update={
            "scope": new.scope if new.scope is not None else old.scope,
            "refresh_token": new.refresh_token or old.refresh_token,
        }
    )


def _early(record: Record) -> float:
    assert record.tokens is not None
    return min(EARLY_S, (record.tokens.expires_in or 0) / 10)


def _heard(task: asyncio.Task[str | None]) -> None:
    """An error that nobody waits for any more is not unheard."""
    if not task.cancelled():
        task.exception()
