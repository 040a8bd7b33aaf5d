"""The gate in front of every route: who asks, through which name, and how much they send.

Pure ASGI. Loopback is not a boundary: any program and any web page on the machine can reach the port, so the
Host must be ours (against DNS rebinding), there is no Origin a browser could send that is welcome, and the
token decides.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holaboss_runtime.api.problems import ProblemResponse, problem, unexpected

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 10 * 1024 * 1024
OPEN_PATH = "/healthz"
HTTP_PORT = 80
POKE_PATH = "/api/v1/lifecycle/poke"
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_NOT_VALID = 1008
_NOT_FOUND = (404, "route_not_found", "There is no WebSocket at this address.")


class RefusedBody(Exception):
    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.answer = problem(status, code, detail, headers=headers)


class ClientGone(Exception):
    """Nobody is there to be answered."""


@dataclass(frozen=True, slots=True)
class Access:
    """`hosts` are the exact values of the Host header that are answered. `poke_token` opens the poke route
    only.
    """

    token: str = field(repr=False)
    poke_token: str = field(repr=False)
    hosts: frozenset[str]


class Gate:
    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        refusal = self._refusal(scope)
        if scope["type"] == "websocket":
            await (refusal(scope, receive, send) if refusal else self._open(scope, receive, send))
            return
        if refusal is None:
            try:
                receive = await _bounded(scope, receive)
            except RefusedBody as error:
                refusal = error.answer
            except ClientGone:
                return
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._answer(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket: what the application closes before it was open is answered with a problem."""
        opened = False

        async def watched(message: Message) -> None:
            nonlocal opened
            opened = opened or message["type"] != "websocket.close"
            if opened:
                await send(message)
                return
            found = message.get("code") == _NOT_VALID
            what = (422, "invalid_request", "The address is not valid.") if found else _NOT_FOUND
            await problem(*what)(scope, receive, send)

        await self._app(scope, receive, watched)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = finished = False

        async def watched(message: Message) -> None:
            nonlocal started, finished
            started = True
            finished = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:  # the boundary of a request: whatever went wrong is ours, not the client's
            log.exception("%s %s failed", scope["method"], scope["path"])
            if finished:
                return  # the application has said so itself
            if started:
                raise  # the server cuts the connection, so that half an answer is not taken for a whole one
            await unexpected()(scope, receive, send)

    def _refusal(self, scope: Scope) -> ProblemResponse | None:
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._access.hosts:
            return problem(421, "host_not_allowed", "This server does not answer under that host name.")
        if any(name == b"origin" for name, _ in scope["headers"]):
            return problem(403, "origin_not_allowed", "Web pages may not use this server.")
        if scope["path"] == OPEN_PATH or self._authorised(scope):
            return None
        challenge = {"www-authenticate": "Bearer"}
        return problem(401, "unauthorized", "A valid bearer token is needed.", headers=challenge)

    def _authorised(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1 or given[0][:7].lower() != b"bearer ":
            return False
        token = given[0][7:].strip()
        allowed = hmac.compare_digest(token, self._access.token.encode())
        if scope["path"] == POKE_PATH:
            allowed |= hmac.compare_digest(token, self._access.poke_token.encode())
        return allowed


def allowed_hosts(host: str, port: int, extra: Iterable[str]) -> frozenset[str]:
    """What the Host header may say: the loopback address, the bound one, and the names a deployment lists.

    An extra name without a port stands for itself with and without the port of this server. Clients leave port 80 out.
    """
    bound = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host.lower())
    own = {"127.0.0.1", f"[{bound}]" if ":" in bound else bound}
    names = {f"{name}:{port}" for name in own}
    if port == HTTP_PORT:
        names |= own
    for name in filter(None, (item.strip().lower() for item in extra)):
        has_port = name.rpartition("]")[2].rpartition(":")[1] != ""
        names |= {name} if has_port else {name, f"{name}:{port}"}
    return frozenset(names)


async def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Read the body of a write, at most `MAX_BODY_BYTES` however it is framed, check that it is JSON, and hand it on.

    Raises `RefusedBody`, and `ClientGone` when it went in the middle. Stricter than the parser behind it: no NaN, no
    lone surrogates, no nesting without end, which nobody after us could store or send again.
    """
    headers = dict(scope["headers"])
    if b"content-length" in headers and b"transfer-encoding" in headers:
        # Two programs could disagree on where this request ends, so nothing that follows it is read.
        detail = "A request has either a Content-Length or a Transfer-Encoding, not both."
        raise RefusedBody(400, "malformed_request", detail, {"connection": "close"})
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise _too_large()
    if scope["method"] not in _WRITES:
        return receive
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    if body and headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise RefusedBody(415, "json_only", "A request body must be application/json.")
    try:
        from_json(body or b"null", allow_inf_nan=False, cache_strings="none")
    except ValueError as error:
        raise RefusedBody(400, "malformed_json", "The request body is not valid JSON.") from error
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


def _too_large() -> RefusedBody:
    return RefusedBody(413, "body_too_large", "A request body may have at most 10 MiB.")
