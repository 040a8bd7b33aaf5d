"""Whatever a stranger or a broken client sends, the answer is a problem and nothing has changed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.runtime.api.conftest import Reply
from tests.support.processes import PATIENCE_S
from tests.support.server import RuntimeProcess

Send = Callable[..., Reply]
CREATE = json.dumps({"name": "intruder"}).encode()


def chunked(total: int) -> Iterator[bytes]:
    piece = b" " * 65536
    for _ in range(total // len(piece) + 1):
        yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    yield b"0\r\n\r\n"


def state(send: Send) -> Any:
    return [
        send("GET", f"/api/v1/{path}").body
        for path in (
            "workspaces?include_deleted=true",
            "runtime/providers",
            "runtime/config",
            "runtime/profile",
        )
    ]


def refused(send: Send, reply: Reply, status: int, code: str) -> None:
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.body
    assert (body["status"], body["code"], body["type"]) == (status, code, "about:blank")
    assert body["title"]
    assert body["detail"].endswith(".")
    assert "access-control-allow-origin" not in reply.headers
    assert state(send)[0]["total"] == 0


@pytest.fixture
def port(runtime: RuntimeProcess) -> str:
    return runtime.url.rpartition(":")[2]


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x", "Bearer {short}",
     "Bearer {token} {token}", "Bearer \xe9"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/nowhere"])
def test_without_the_token_there_is_nothing(
    send: Send, runtime: RuntimeProcess, authorization: str | None, path: str
) -> None:
    if authorization is not None:
        authorization = authorization.format(token=runtime.token, short=runtime.token[:-1])
    reply = send("GET", path, {"authorization": authorization})
    refused(send, reply, 401, "unauthorized")
    assert reply.headers["www-authenticate"] == "Bearer"
    refused(
        send,
        send("POST", "/api/v1/workspaces", {"authorization": authorization}, CREATE),
        401,
        "unauthorized",
    )
    assert runtime.token.encode() not in reply.content


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost:{port}", "127.0.0.1.:{port}", "127.0.0.1:{port}.",
     "[::1]:{port}", "[::ffff:127.0.0.1]:{port}", "2130706433:{port}", "user@127.0.0.1:{port}",
     "127.0.0.1:{port}@evil.example", "127.0.0.1:0{port}", "127.0.0.1:{port}, evil.example", ""],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/healthz", "/api/v1/workspaces"])
def test_under_another_name_there_is_nothing(send: Send, port: str, host: str, path: str) -> None:
    reply = send("GET", path, {"host": host.format(port=port)})
    refused(send, reply, 421, "host_not_allowed")


def test_no_host_or_two_of_them_are_refused(runtime: RuntimeProcess, send: Send, port: str) -> None:
    address = ("127.0.0.1", int(port))
    right = f"Host: 127.0.0.1:{port}\r\n"
    for version, hosts in (("1.1", ""), ("1.1", f"{right}Host: evil.example\r\n"), ("1.0", "")):
        head = (
            f"GET /api/v1/workspaces HTTP/{version}\r\n{hosts}Authorization: Bearer {runtime.token}\r\n\r\n"
        )
        with socket.create_connection(address, timeout=PATIENCE_S) as raw:
            raw.sendall(head.encode())
            assert raw.recv(65536).split()[1] in (b"400", b"421")


def test_an_absolute_request_line_does_not_choose_the_host(runtime: RuntimeProcess, port: str) -> None:
    with socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE_S) as raw:
        raw.sendall(
            f"GET http://127.0.0.1:{port}/healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode()
        )
        assert raw.recv(65536).split()[1] == b"421"


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1:{port}", "file://", ""])
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/healthz"), ("GET", "/api/v1/workspaces"), ("OPTIONS", "/api/v1/workspaces")],
)
def test_any_origin_is_refused(send: Send, port: str, origin: str, method: str, path: str) -> None:
    refused(send, send(method, path, {"origin": origin.format(port=port)}), 403, "origin_not_allowed")


def test_a_websocket_is_opened_only_where_there_is_one(send: Send) -> None:
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    refused(send, send("GET", "/nowhere", upgrade), 404, "route_not_found")
    refused(send, send("GET", "/nowhere", upgrade | {"authorization": None}), 401, "unauthorized")
    refused(send, send("GET", "/nowhere", upgrade | {"host": "elsewhere"}), 421, "host_not_allowed")
    refused(send, send("GET", "/nowhere", upgrade | {"origin": "null"}), 403, "origin_not_allowed")


LIMIT = 10 * 1024 * 1024


def test_a_body_over_the_limit_is_refused_however_it_is_framed(send: Send) -> None:
    announced = {"content-length": str(LIMIT + 1), "content-type": "application/json"}
    refused(send, send("POST", "/api/v1/workspaces", announced), 413, "body_too_large")
    framed: dict[str, str | None] = {"transfer-encoding": "chunked", "content-type": "application/json"}
    refused(send, send("POST", "/api/v1/workspaces", framed, chunked(LIMIT)), 413, "body_too_large")
    refused(send, send("GET", "/api/v1/workspaces", announced), 413, "body_too_large")
    # A body of exactly the limit gets as far as the route.
    padded = CREATE[:-2] + b"x" * 1000 + CREATE[-2:]
    reply = send("POST", "/api/v1/workspaces", None, padded + b" " * (LIMIT - len(padded)))
    refused(send, reply, 422, "name_invalid")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None, "",
     "application/jsonp", "text/plain; application/json"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/v1/workspaces", "/api/v1/lifecycle/shutdown"])
def test_only_json_is_taken(send: Send, content_type: str | None, path: str) -> None:
    refused(send, send("POST", path, {"content-type": content_type}, CREATE), 415, "json_only")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'name': 1}",
        b'{"name": "x"} trailing',
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b"1" * 5_000,
        b'{"name": "\\ud800"}',
        b'{"name": NaN}',
        b'{"name": ' + b"[" * 500 + b"]" * 500 + b"}",
    ],
)
def test_malformed_json(send: Send, body: bytes) -> None:
    refused(send, send("POST", "/api/v1/workspaces", None, body), 400, "malformed_json")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/workspaces", {}),
        ("POST", "/api/v1/workspaces", []),
        ("POST", "/api/v1/workspaces", "name"),
        ("POST", "/api/v1/workspaces", {"name": 1}),
        ("POST", "/api/v1/workspaces", {"name": "x", "nmae": "x"}),
        ("POST", "/api/v1/workspaces", {"name": "x", "harness": None}),
        ("GET", "/api/v1/workspaces?limit=0", None),
        ("GET", "/api/v1/workspaces?limit=x", None),
        ("GET", "/api/v1/workspaces?offset=-1", None),
        ("GET", "/api/v1/workspaces?offset=99999999999999999999", None),
        ("PUT", "/api/v1/runtime/providers/openai_direct", {"kind": "nonsense"}),
        ("PUT", "/api/v1/runtime/providers/openai_direct", {"models": "gpt"}),
        ("PUT", "/api/v1/runtime/profile", {"name": "x", "name_source": "guess"}),
        ("PUT", "/api/v1/runtime/config", {"holaboss": 1}),
        ("POST", "/api/v1/agent-sessions/queue", {"text": "hi"}),
        ("POST", "/api/v1/agent-sessions/queue", {"workspace_id": "w", "text": "hi", "priority": 2**70}),
        ("POST", "/api/v1/agent-sessions/queue", {"workspace_id": "w", "text": "hi", "idempotency_key": ""}),
        ("GET", "/api/v1/agent-sessions?limit=x", None),
    ],
)
def test_fields_that_are_wrong(send: Send, method: str, path: str, body: Any) -> None:
    before = state(send)
    reply = send(method, path, None, None if body is None else json.dumps(body).encode())
    refused(send, reply, 422, "invalid_request")
    assert reply.body["errors"]
    assert set(reply.body["errors"][0]) == {"loc", "msg", "type"}
    assert state(send) == before


def test_a_missing_body_is_a_wrong_field(send: Send) -> None:
    refused(send, send("POST", "/api/v1/workspaces"), 422, "invalid_request")


def test_a_key_in_the_wrong_shape_is_not_echoed(send: Send, runtime: RuntimeProcess) -> None:
    marker = "sk-marker-" + "0123456789"
    body = json.dumps({"value": {"key": marker}, marker: 1}).encode()
    reply = send("PUT", "/api/v1/runtime/secrets/openai_direct", None, body)
    refused(send, reply, 422, "invalid_request")
    assert json.dumps({"key": marker}).encode() not in reply.content
    assert marker not in runtime.log


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/workspaces/nobody", "workspace_not_found"),
        ("DELETE", "/api/v1/workspaces/nobody", "workspace_not_found"),
        ("GET", "/api/v1/workspaces/nobody/folders", "workspace_not_found"),
        ("GET", "/api/v1/workspaces/nobody/files/x", "workspace_not_found"),
        ("POST", "/api/v1/workspaces/nobody/ensure-main-session", "workspace_not_found"),
        ("GET", "/api/v1/agent-sessions?workspace_id=nobody", "workspace_not_found"),
        ("DELETE", "/api/v1/runtime/providers/nobody", "provider_not_found"),
        ("POST", "/api/v1/runtime/secrets/nobody/hand-over", "no_key_in_file"),
        ("GET", "/", "route_not_found"),
        ("GET", "/docs", "route_not_found"),
        ("GET", "/openapi.json", "route_not_found"),
        ("GET", "/healthz/", "route_not_found"),
        ("GET", "/api/v1/workspaces/", "route_not_found"),
        ("GET", "/api/v1/%00", "route_not_found"),
        ("GET", "//healthz", "route_not_found"),
    ],
)
def test_what_is_not_there(send: Send, method: str, path: str, code: str) -> None:
    refused(send, send(method, path), 404, code)


def test_a_method_that_a_route_does_not_take(send: Send) -> None:
    reply = send("PATCH", "/api/v1/version")
    refused(send, reply, 405, "method_not_allowed")
    assert reply.headers["allow"] == "GET"


def test_health_needs_no_token_and_everything_else_is_served_with_it(
    send: Send, runtime: RuntimeProcess
) -> None:
    reply = send("GET", "/healthz", {"authorization": None})
    assert (reply.status, reply.body) == (200, {"ok": True})
    assert "server" not in reply.headers
    version = send("GET", "/api/v1/version").body
    assert (version["instance_id"], version["protocol"]) == (runtime.ready.instance_id, "1.0")
    assert "/api/v1/workspaces" in send("GET", "/api/v1/openapi.json").body["paths"]


def test_the_poke_token_opens_the_poke_route_and_no_other(send: Send, runtime: RuntimeProcess) -> None:
    note = json.loads((runtime.root / "state" / "server.json").read_text())
    poke = {"authorization": f"Bearer {note['poke_token']}"}
    assert send("POST", "/api/v1/lifecycle/poke", poke).status == 200
    for method, path in (("GET", "/api/v1/version"), ("POST", "/api/v1/lifecycle/shutdown")):
        refused(send, send(method, path, poke), 401, "unauthorized")


@pytest.mark.parametrize("position", ["-1", "1.0", "1e3", "9" * 19, "1" * 5000])
def test_a_place_in_a_stream_that_is_none(send: Send, position: str) -> None:
    refused(send, send("GET", "/api/v1/events", {"last-event-id": position}), 400, "last_event_id_invalid")


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("providers/abc%0A", {"base_url": "http://h/v1"}, "provider_id_invalid"),
        ("providers/abc", {"base_url": "http://h/v1", "headers": {"X-A": "v\n"}}, "header_invalid"),
        ("providers/abc", {"base_url": "http://h/v1", "headers": {"X-A\n": "v"}}, "header_invalid"),
    ],
)
def test_a_line_end_gets_into_no_name_and_no_header(send: Send, path: str, body: Any, code: str) -> None:
    refused(send, send("PUT", f"/api/v1/runtime/{path}", None, json.dumps(body).encode()), 422, code)
