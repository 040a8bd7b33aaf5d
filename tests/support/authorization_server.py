"""A real OAuth authorization server (RFC 8414, 7591, 7636, 7009, 9207) that a test holds in its hand.

It answers an authorization at once, as if a person had agreed. Its knobs make it expire tokens, refuse them, or lie.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.support.http_server import HttpServer, Request, Wire

MARKER = "marker-secret-"
"""Every token, code and client secret has it, so that a test can look for leaks."""


@dataclass
class Token:
    client_id: str
    resource: str | None
    expires_at: float
    refresh: str
    revoked: bool = False


class AuthorizationServer:
    """`with AuthorizationServer() as issuer: issuer.url`."""

    def __init__(self) -> None:
        self.lifetime_s = 3600
        self.claimed_issuer: str | None = None
        """What `iss` of an answer says instead of the truth."""
        self.rotates = True
        self.token_status: int | None = None
        """A status every token request is answered with."""
        self.registrations: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, Token] = {}
        self.refreshes: dict[str, str] = {}
        self.requests: list[str] = []
        self.issued: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._server = HttpServer(self._handle)

    @property
    def url(self) -> str:
        return self._server.url

    def count(self, path: str) -> int:
        return len([request for request in self.requests if request == path])

    def accepts(self, access_token: str, resource: str) -> bool:
        token = self.tokens.get(access_token)
        if token is None or token.revoked or time.time() >= token.expires_at:
            return False
        return token.resource in (None, resource)

    def expire_all(self) -> None:
        """Access tokens end now; refreshes go on."""
        for token in self.tokens.values():
            token.expires_at = 0.0

    def revoke_all(self) -> None:
        for token in self.tokens.values():
            token.revoked = True
        self.refreshes.clear()

    def __enter__(self) -> AuthorizationServer:
        self._server.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.__exit__(*exc)  # type: ignore[arg-type]

    async def _handle(self, request: Request, wire: Wire) -> None:
        self.requests.append(request.path)
        if request.path == "/.well-known/oauth-authorization-server":
            wire.send_json(200, self._metadata())
        elif request.path == "/register":
            self._register(request, wire)
        elif request.path == "/authorize":
            self._authorize(request, wire)
        elif request.path == "/token":
            self._token(dict(parse_qsl(request.content.decode())), wire)
        elif request.path == "/revoke":
            self._revoke(dict(parse_qsl(request.content.decode())), wire)
        else:
            wire.send_json(404, {})

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
            "scopes_supported": ["tools"],
        }

    def _register(self, request: Request, wire: Wire) -> None:
        client_id = f"client-{len(self.registrations) + 1}-{secrets.token_hex(4)}"
        self.registrations[client_id] = dict(request.body)
        wire.send_json(201, dict(request.body) | {"client_id": client_id})

    def _authorize(self, request: Request, wire: Wire) -> None:
        asked = dict(parse_qsl(request.query))
        client = self.registrations.get(asked.get("client_id", ""))
        redirect = asked.get("redirect_uri", "")
        if (
            client is None
            or redirect not in client["redirect_uris"]
            or asked["code_challenge_method"] != "S256"
        ):
            wire.send_json(400, {"error": "invalid_request"})
            return
        code = self._new("code")
        self._codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": self.claimed_issuer or self.url}
        wire.send(302, b"", {"location": f"{redirect}?{urlencode(answer)}"})

    def _token(self, form: dict[str, str], wire: Wire) -> None:
        if self.token_status is not None:
            wire.send_json(self.token_status, {"error": "temporarily_unavailable"})
            return
        if form["grant_type"] == "authorization_code":
            asked = self._codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            good = (
                asked is not None
                and asked["code_challenge"] == challenge
                and asked["client_id"] == form["client_id"]
                and asked["redirect_uri"] == form["redirect_uri"]
            )
        else:
            refreshed = self.refreshes.get(form["refresh_token"])
            good = refreshed is not None and self.tokens[refreshed].client_id == form["client_id"]
            if good and self.rotates:
                del self.refreshes[form["refresh_token"]]
        if not good:
            wire.send_json(400, {"error": "invalid_grant"})
            return
        wire.send_json(200, self._issue(form))

    def _issue(self, form: dict[str, str]) -> dict[str, Any]:
        access, refresh = self._new("access"), self._new("refresh")
        expires_at = time.time() + self.lifetime_s
        self.tokens[access] = Token(form["client_id"], form.get("resource"), expires_at, refresh)
        self.refreshes[refresh] = access
        return {
            "access_token": access,
            "refresh_token": refresh,
            "token_type": "Bearer",
            "expires_in": self.lifetime_s,
            "scope": "tools",
        }

    def _revoke(self, form: dict[str, str], wire: Wire) -> None:
        for access, token in self.tokens.items():
            if form["token"] in (access, token.refresh):
                token.revoked = True
                self.refreshes.pop(token.refresh, None)
        wire.send(200, b"")

    def _new(self, kind: str) -> str:
        value = f"{MARKER}{kind}-{secrets.token_urlsafe(16)}"
        self.issued.append(value)
        return value
