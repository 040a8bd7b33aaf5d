"""One authorization by a person: from the address the browser opens to the token, or to a sentence why not.

The protocol (discovery, registration, PKCE, the check of the issuer) is the SDK's. What is different here: nothing is
kept before everything went well, and the answer comes through a listener of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from typing import cast
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from holaboss_runtime.harness.host.mcp.oauth_credentials import Credentials, Record
from holaboss_runtime.harness.host.mcp.oauth_http import AddressRefusedError, check_address, open_client
from holaboss_runtime.harness.host.mcp.redirect import PATH, OneShotRedirect, RedirectError

PERSON_S = 300.0
CLIENT_NAME = "Holaboss"
_PROBE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}

# What goes wrong is told in a sentence; the SDK would also log it, with answers of the server in it.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)


class AuthorizationError(Exception):
    """It did not work. The message is a sentence, `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Authorization:
    """Made for one authorization. `url` is there once the person can be asked; `run` returns the outcome.

    `headers` are those that the server itself wants; nobody else gets them.
    """

    def __init__(self, credentials: Credentials, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)
        self._credentials = credentials
        self._server_url = credentials.server_url
        self._redirect: OneShotRedirect | None = None
        self._provider: _Provider | None = None
        self.url: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def run(self) -> Record:
        """Raises `AuthorizationError`. `finish` must be called with the outcome."""
        try:
            known = (await self._credentials.record()).client
            self._redirect = await OneShotRedirect.open(_registered_port(known))
            return await self._ask(self._redirect, known)
        except AuthorizationError:
            raise
        except RedirectError as error:
            raise AuthorizationError("authorization_abandoned", str(error)) from error
        except AddressRefusedError as error:
            raise AuthorizationError("authorization_server_refused", str(error)) from error
        except OAuthRegistrationError as error:
            message = "The authorization server does not let Holaboss register itself."
            raise AuthorizationError("registration_refused", message) from error
        except OAuthTokenError as error:
            message = "The authorization server gave no token for its own answer. Try again."
            raise AuthorizationError("token_refused", message) from error
        except (OAuthFlowError, ValidationError) as error:
            message = (
                "The authorization server does not keep to the protocol, so nothing was accepted from it."
            )
            raise AuthorizationError("authorization_invalid", message) from error
        except httpx2.RequestError as error:
            message = "The server or its authorization server does not answer. Try again later."
            raise AuthorizationError("authorization_unreachable", message) from error

    async def finish(self, done: bool, sentence: str) -> None:
        """Tell the browser how it went, and stop listening."""
        if not self.url.done():
            self.url.cancel()
        if self._redirect is not None:
            self._redirect.settle(done, sentence)
            await self._redirect.close()

    async def _ask(self, redirect: OneShotRedirect, known: OAuthClientInformationFull | None) -> Record:
        storage = _Staged(_usable_registration(known, redirect.uri))
        provider = _Provider(
            self._server_url,
            OAuthClientMetadata(
                client_name=CLIENT_NAME,
                redirect_uris=[AnyUrl(redirect.uri)],
                token_endpoint_auth_method="none",  # a program on somebody's computer can keep no secret of its own
                application_type="native",
            ),
            storage,
            redirect_handler=self._open,
            callback_handler=self._wait,
        )
        self._provider = provider
        await self._provoke(provider, storage)
        context = provider.context
        return Record(
            server_url=self._server_url,
            issuer=str(context.oauth_metadata.issuer) if context.oauth_metadata else context.auth_server_url,
            client=storage.client,
            tokens=storage.tokens,
            obtained_at=storage.obtained_at,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
            protocol_version=context.protocol_version,
        )

    async def _provoke(self, provider: OAuthClientProvider, storage: _Staged) -> None:
        """Make the server refuse a request, which starts the SDK's flow; afterwards `storage` has tokens."""
        status = 0
        try:
            async with open_client(self._server_url, provider) as client:
                probe = client.stream("POST", self._server_url, json=_PROBE, headers=self._headers | _ACCEPT)
                async with probe as response:  # unread: what it says to a ping matters to nobody
                    status = response.status_code
        except httpx2.RequestError:
            if storage.tokens is None:  # else the probe itself failed when all was done
                raise
        if storage.tokens is None:
            message = f"The server did not ask for an authorization (it answered {status})."
            raise AuthorizationError("authorization_not_needed", message)

    async def _open(self, url: str) -> None:
        check_address(httpx2.URL(url), self._server_url)
        assert self._redirect is not None
        self._redirect.expect(parse_qs(urlsplit(url).query)["state"][0])
        if not self.url.done():
            self.url.set_result(url)

    async def _wait(self) -> AuthorizationCodeResult:
        assert self._redirect is not None
        answer = await self._redirect.answer(PERSON_S)
        if answer.code is None:
            refused = answer.error == "access_denied"
            message = "The authorization was declined." if refused else "The authorization server refused."
            raise AuthorizationError("authorization_denied", message)
        assert self._provider is not None
        return AuthorizationCodeResult(
            code=answer.code, state=answer.state, iss=self._provider.as_expected(answer.iss)
        )


class _Provider(OAuthClientProvider):
    """The SDK's, which takes an issuer without a path and the same with a slash for two.

    It reads the address of an authorization server with a slash and compares it, letter by letter, with what that
    server calls itself; most call themselves without one. Here a name that differs in nothing else is read as expected.
    """

    _named: str | None = None

    def as_expected(self, iss: str | None) -> str | None:
        """The issuer of an answer as the SDK compares it: only the very name of the metadata counts."""
        return self._expected_issuer() if iss is not None and iss == self._named else iss

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        try:
            outgoing = await flow.__anext__()
            while True:
                response = yield outgoing
                if outgoing is not request and "/.well-known/" in outgoing.url.path:
                    response = await self._with_expected_issuer(outgoing, response)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _with_expected_issuer(
        self, request: httpx2.Request, response: httpx2.Response
    ) -> httpx2.Response:
        if response.status_code != 200:
            return response
        try:
            document: object = json.loads(await response.aread())
        except ValueError:
            return response
        fields = cast("dict[str, object]", document) if isinstance(document, dict) else {}
        named, expected = fields.get("issuer"), self._expected_issuer()
        if not isinstance(named, str) or named == expected or not issuers_match(named, expected):
            return response
        self._named = named
        return httpx2.Response(200, json=fields | {"issuer": expected}, request=request)


class _Staged:
    """The SDK's storage for the length of one authorization. It starts without tokens: new ones are wanted."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None
        self.obtained_at = 0.0

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens, self.obtained_at = tokens, time.time()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def _registered_port(client: OAuthClientInformationFull | None) -> int | None:
    for uri in (client.redirect_uris or []) if client else []:
        if uri.host == "127.0.0.1" and uri.path == PATH:
            return uri.port
    return None


def _usable_registration(
    client: OAuthClientInformationFull | None, redirect_uri: str
) -> OAuthClientInformationFull | None:
    """The registration of before, unless it is for another redirect, of nobody known, or over."""
    if client is None or client.issuer is None or _registered_port(client) is None:
        return None
    if redirect_uri not in map(str, client.redirect_uris or []):
        return None
    expires = client.client_secret_expires_at
    return None if expires and expires <= time.time() else client
