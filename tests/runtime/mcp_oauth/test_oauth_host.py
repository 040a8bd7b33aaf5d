"""Tokens in the host: how a person gets one, how it is renewed, and what is refused."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import httpx2
import pytest

from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.frames import HostAnswer, HostAsk
from holaboss_runtime.harness.host.asks import Asks
from holaboss_runtime.harness.host.mcp.oauth import Authorizations, secret_name
from holaboss_runtime.harness.host.mcp.redirect import OneShotRedirect
from tests.runtime.mcp_oauth.secrets_in_memory import RuntimeEnd, remote
from tests.support.authorization_server import AuthorizationServer
from tests.support.http_server import HttpServer, Request, Wire
from tests.support.ports import free_port
from tests.support.processes import PATIENCE_S
from tests.support.protected_mcp import ProtectedMcp

pytestmark = pytest.mark.anyio

NAME = secret_name("w1", "protected")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


async def ask(asks: Asks, name: str, server: McpServer) -> HostAnswer:
    arguments = {"workspace_id": "w1", "server": server.model_dump()}
    return await asks.answer(HostAsk(ask_id="1", name=name, arguments=arguments))


async def address(asks: Asks, server: McpServer) -> str:
    answer = await ask(asks, "mcp.authorize", server)
    assert answer.error is None, answer
    return answer.result["authorization_url"]


async def authorize(asks: Asks, server: McpServer, browser: httpx.AsyncClient) -> httpx.Response:
    return await browser.get(await address(asks, server))


class Connection:
    """Requests as a connection of the host makes them; `refused` counts how often a person was needed."""

    def __init__(self, authorizations: Authorizations, server: McpServer) -> None:
        self.refused = 0
        self.url = str(server.config.url)
        self.auth = authorizations.auth("w1", server, self._needed)

    async def ping(self) -> int:
        async with httpx2.AsyncClient(auth=self.auth, trust_env=False, timeout=PATIENCE_S) as client:
            return (await client.post(self.url, json=PING, headers=ACCEPT)).status_code

    def _needed(self) -> None:
        self.refused += 1


def record(runtime_end: RuntimeEnd) -> dict[str, Any]:
    return json.loads(runtime_end.secrets[NAME])


async def test_a_person_authorizes_a_server_and_nothing_is_asked_before(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    changed: list[tuple[str, str]] = []
    authorizations.changed = lambda *key: changed.append(key)
    config = remote(server.url)
    connection = Connection(authorizations, config)
    assert await connection.ping() == 401
    assert connection.refused == 1
    assert issuer.requests == []
    page = await authorize(asks, config, browser)
    assert page.status_code == 200
    assert "Connected" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert changed == [("w1", "protected")]
    assert await connection.ping() != 401
    assert connection.refused == 1
    kept = record(runtime_end)
    assert kept["issuer"].rstrip("/") == issuer.url
    assert kept["tokens"]["access_token"] in issuer.tokens
    registered = next(iter(issuer.registrations.values()))
    assert registered["application_type"] == "native"
    assert registered["token_endpoint_auth_method"] == "none"
    assert registered["redirect_uris"][0].startswith("http://127.0.0.1:")


async def test_the_address_asks_with_a_challenge_a_long_state_and_the_resource(
    authorizations: Authorizations, asks: Asks, server: ProtectedMcp
) -> None:
    query = parse_qs(urlsplit(await address(asks, remote(server.url))).query)
    assert query["code_challenge_method"] == ["S256"]
    assert len(query["state"][0]) >= 43
    assert query["resource"] == [server.url]
    again = await address(asks, remote(server.url))
    assert parse_qs(urlsplit(again).query)["state"] == query["state"]


async def test_an_expired_token_is_renewed_without_a_person(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    config = remote(server.url)
    await authorize(asks, config, browser)
    first = record(runtime_end)["tokens"]["access_token"]
    issuer.expire_all()
    connection = Connection(authorizations, config)
    assert await connection.ping() != 401
    assert connection.refused == 0
    assert record(runtime_end)["tokens"]["access_token"] != first
    assert issuer.count("/authorize") == 1


async def test_a_token_whose_time_is_over_is_renewed_before_it_is_refused_also_after_a_restart(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    config = remote(server.url)
    await authorize(asks, config, browser)
    runtime_end.secrets[NAME] = json.dumps(record(runtime_end) | {"obtained_at": time.time() - 7200})
    restarted = Authorizations(runtime_end.calls)
    connection = Connection(restarted, config)
    assert await connection.ping() != 401
    assert issuer.count("/token") == 2
    await restarted.close()


async def test_a_burst_of_refusals_renews_once(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
) -> None:
    config = remote(server.url)
    await authorize(asks, config, browser)
    issuer.expire_all()
    connection = Connection(authorizations, config)
    answers = await asyncio.gather(*(connection.ping() for _ in range(12)))
    assert 401 not in answers
    assert issuer.count("/token") == 2


async def test_a_caller_that_goes_away_does_not_lose_the_new_token(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    config = remote(server.url)
    await authorize(asks, config, browser)
    issuer.expire_all()
    credentials = authorizations._of("w1", config)
    old = record(runtime_end)["tokens"]["access_token"]
    waiting = asyncio.ensure_future(credentials.renewed(old))
    for _ in range(5):
        await asyncio.sleep(0)
    assert credentials._renewing is not None
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await credentials._renewing
    assert record(runtime_end)["tokens"]["access_token"] != old


async def test_revoked_means_that_a_person_is_needed_again(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def open_on(preferred_port: int | None = None) -> OneShotRedirect:
        return await opened(preferred_port or free_port())

    opened = OneShotRedirect.open
    monkeypatch.setattr(
        OneShotRedirect, "open", open_on
    )  # the system may give any of its own ports away meanwhile
    config = remote(server.url)
    await authorize(asks, config, browser)
    issuer.revoke_all()
    connection = Connection(authorizations, config)
    assert await connection.ping() == 401
    assert connection.refused == 1
    assert "tokens" not in record(runtime_end)
    asked = issuer.count("/token")
    assert await connection.ping() == 401
    assert issuer.count("/token") == asked  # nothing is left to try
    await authorize(asks, config, browser)
    assert await connection.ping() != 401
    assert len(issuer.registrations) == 1  # the registration is used again where its port is free


async def test_a_server_that_is_down_costs_no_token(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    config = remote(server.url)
    await authorize(asks, config, browser)
    issuer.expire_all()
    issuer.token_status = 503
    connection = Connection(authorizations, config)
    with pytest.raises(httpx2.RequestError):
        await connection.ping()
    assert connection.refused == 0
    issuer.token_status = None
    assert await connection.ping() != 401


async def test_a_wrong_state_changes_nothing_and_a_second_answer_finds_nobody(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    url = await address(asks, remote(server.url))
    query = parse_qs(urlsplit(url).query)
    callback, state = query["redirect_uri"][0], query["state"][0]
    forged = await browser.get(f"{callback}?{urlencode({'code': 'x', 'state': 'guess'})}")
    assert forged.status_code == 400
    doubled = await browser.get(f"{callback}?{urlencode([('code', 'x'), ('code', 'y'), ('state', state)])}")
    assert doubled.status_code == 400
    renamed = await browser.get(
        f"{callback}?{urlencode({'code': 'x', 'state': state})}", headers={"host": "evil.example"}
    )
    assert renamed.status_code == 400
    assert (await browser.post(f"{callback}?{urlencode({'code': 'x', 'state': state})}")).status_code == 405
    assert (await browser.get(callback.replace("/callback", "/other"))).status_code == 404
    assert NAME not in runtime_end.secrets
    page = await browser.get(url)
    assert "Connected" in page.text
    with pytest.raises(httpx.ConnectError):
        await browser.get(str(page.url))


async def test_an_answer_in_the_name_of_another_issuer_is_refused(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    issuer.claimed_issuer = "https://issuer.example"
    page = await authorize(asks, remote(server.url), browser)
    assert "Not connected" in page.text
    assert NAME not in runtime_end.secrets
    assert issuer.count("/token") == 0
    assert [(name, told["code"]) for name, told in runtime_end.news] == [
        ("mcp.authorization", "authorization_invalid")
    ]


async def test_another_issuer_means_another_registration_and_no_old_token(
    authorizations: Authorizations,
    asks: Asks,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    with AuthorizationServer() as other:
        where = issuer

        async def handle(request: Request, wire: Wire) -> None:
            if request.path.startswith("/.well-known/oauth-protected-resource"):
                wire.send_json(200, {"resource": f"{resource.url}/mcp", "authorization_servers": [where.url]})
                return
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            wire.send_json(200 if where.accepts(token, f"{resource.url}/mcp") else 401, {})

        with HttpServer(handle) as resource:
            config = remote(f"{resource.url}/mcp")
            await authorize(asks, config, browser)
            where = other
            connection = Connection(authorizations, config)
            assert await connection.ping() == 401
            assert connection.refused == 1
            await authorize(asks, config, browser)
            assert await connection.ping() == 200
        assert len(other.registrations) == 1
        assert record(runtime_end)["issuer"].rstrip("/") == other.url
        old = {token.client_id for token in issuer.tokens.values()}
        assert not old & {token.client_id for token in other.tokens.values()}


async def test_a_server_that_moved_gets_no_token_of_the_old_address(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    browser: httpx.AsyncClient,
) -> None:
    await authorize(asks, remote(server.url), browser)
    seen: list[str | None] = []

    async def handle(request: Request, wire: Wire) -> None:
        seen.append(request.headers.get("authorization"))
        wire.send_json(401, {})

    with HttpServer(handle) as elsewhere:
        connection = Connection(authorizations, remote(f"{elsewhere.url}/mcp"))
        assert await connection.ping() == 401
    assert seen == [None]


async def test_forgetting_revokes_and_forgets(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    issuer: AuthorizationServer,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    config = remote(server.url)
    await authorize(asks, config, browser)
    assert (await ask(asks, "mcp.forget_authorization", config)).error is None
    assert NAME not in runtime_end.secrets
    assert issuer.refreshes == {}
    assert all(token.revoked for token in issuer.tokens.values())
    assert await Connection(authorizations, config).ping() == 401


async def test_a_person_who_does_not_come_is_not_waited_for(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("holaboss_runtime.harness.host.mcp.oauth_flow.PERSON_S", 0.05)
    url = await address(asks, remote(server.url))
    for task, _ in list(authorizations._open.values()):
        await asyncio.wait([task])
    assert [told["code"] for _, told in runtime_end.news] == ["authorization_abandoned"]
    with pytest.raises(httpx.ConnectError):
        await browser.get(parse_qs(urlsplit(url).query)["redirect_uri"][0])


async def test_a_person_who_declines_is_told_so(
    authorizations: Authorizations,
    asks: Asks,
    server: ProtectedMcp,
    browser: httpx.AsyncClient,
    runtime_end: RuntimeEnd,
) -> None:
    query = parse_qs(urlsplit(await address(asks, remote(server.url))).query)
    answer = urlencode({"error": "access_denied", "state": query["state"][0]})
    page = await browser.get(f"{query['redirect_uri'][0]}?{answer}")
    assert "declined" in page.text
    assert [told["code"] for _, told in runtime_end.news] == ["authorization_denied"]


async def test_headers_of_the_server_stay_with_the_server(asks: Asks, authorizations: Authorizations) -> None:
    seen: dict[str, str | None] = {}

    async def handle(request: Request, wire: Wire) -> None:
        seen[request.path] = request.headers.get("x-team")
        wire.send_json(401 if request.path == "/mcp" else 404, {})

    with HttpServer(handle) as picky:
        await ask(asks, "mcp.authorize", remote(f"{picky.url}/mcp", headers={"X-Team": "blue"}))
    assert seen.pop("/mcp") == "blue"
    assert set(seen.values()) == {None}


async def test_a_server_that_asks_for_nothing_says_so(asks: Asks, authorizations: Authorizations) -> None:
    async def handle(_: Request, wire: Wire) -> None:
        wire.send_json(200, {})

    with HttpServer(handle) as open_to_all:
        answer = await ask(asks, "mcp.authorize", remote(f"{open_to_all.url}/mcp"))
    assert answer.code == "authorization_not_needed"


@pytest.mark.parametrize(
    ("status", "payload", "code"),
    [
        (404, {}, "registration_refused"),
        (200, {"nonsense": True}, "registration_refused"),
        (500, {}, "authorization_invalid"),
    ],
)
async def test_a_server_that_answers_nonsense_is_an_error_in_words(
    asks: Asks, authorizations: Authorizations, status: int, payload: dict[str, Any], code: str
) -> None:
    async def handle(request: Request, wire: Wire) -> None:
        if request.path == "/mcp":
            wire.send_json(401, {})
        else:
            wire.send_json(status, payload)

    with HttpServer(handle) as broken:
        answer = await ask(asks, "mcp.authorize", remote(f"{broken.url}/mcp"))
    assert answer.code == code
    assert answer.error
    assert answer.error.endswith(".")


async def test_an_endless_answer_is_cut_off(asks: Asks, authorizations: Authorizations) -> None:
    async def handle(request: Request, wire: Wire) -> None:
        if request.path == "/mcp":
            wire.send_json(401, {})
            return
        wire.send(200, b" " * 400_000)

    with HttpServer(handle) as flooding:
        answer = await ask(asks, "mcp.authorize", remote(f"{flooding.url}/mcp"))
    assert answer.code == "authorization_unreachable"


def test_tokens_go_only_where_they_may(runtime_end: RuntimeEnd) -> None:
    async def check() -> None:
        authorizations = Authorizations(runtime_end.calls)

        def auth(config: McpServer) -> object:
            return authorizations.auth("w1", config, lambda: None)

        assert auth(remote("https://mcp.example/mcp")) is not None
        assert auth(remote("http://mcp.example/mcp")) is None
        assert auth(remote("https://mcp.example/mcp", headers={"authorization": "Bearer x"})) is None
        assert auth(McpServer.model_validate({"name": "l", "config": {"type": "local"}})) is None

    asyncio.run(check())


def test_a_server_on_the_internet_does_not_make_us_ask_this_computer() -> None:
    from holaboss_runtime.harness.host.mcp.oauth_http import AddressRefusedError, check_address

    with pytest.raises(AddressRefusedError):
        check_address(httpx2.URL("http://127.0.0.1:9/token"), "https://mcp.example/mcp")
    with pytest.raises(AddressRefusedError):
        check_address(httpx2.URL("https://localhost/token"), "https://mcp.example/mcp")
    with pytest.raises(AddressRefusedError):
        check_address(httpx2.URL("http://auth.example/token"), "https://mcp.example/mcp")
    check_address(httpx2.URL("https://auth.example/token"), "https://mcp.example/mcp")
