"""Which hosts a list means, which addresses a name may lead to, and the proxy that keeps to both."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_runtime.containment import forwarder as forwarding
from holaboss_runtime.containment.forwarder import Forwarder
from holaboss_runtime.containment.network import HostList, is_public, plain_host

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("rule", "host", "port", "fits"),
    [
        ("example.org", "example.org", 443, True), ("example.org", "example.org", 80, True),
        ("example.org", "EXAMPLE.org.", 443, True), ("Example.ORG", "example.org", 443, True),
        ("example.org", "example.org", 8080, False), ("example.org", "example.org", 22, False),
        ("example.org:8080", "example.org", 8080, True), ("example.org:8080", "example.org", 443, False),
        ("example.org", "www.example.org", 443, False), ("example.org", "badexample.org", 443, False),
        ("example.org", "example.org.evil.net", 443, False), ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True), ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False), ("*.example.org:99", "a.example.org", 99, True),
        ("*", "example.org", 443, False), ("*.*", "example.org", 443, False), ("", "example.org", 443, False),
        ("ex*mple.org", "example.org", 443, False), ("https://example.org", "example.org", 443, False),
        ("bücher.de", "xn--bcher-kva.de", 443, True), ("xn--bcher-kva.de", "bücher.de", 443, True),
        ("127.0.0.1", "127.0.0.1", 80, True), ("127.0.0.1", "2130706433", 80, False),
        ("127.0.0.1", "0x7f.1", 80, False), ("[::1]:80", "::1", 80, True), ("::1", "0:0:0:0:0:0:0:1", 443, True),
        ("example.org:99999", "example.org", 99999, False), ("exa mple.org", "exa mple.org", 80, False),
        ("example.org", "example.org/../evil", 80, False), ("example.org", "example.org@evil.net", 80, False),
    ],
)  # fmt: skip
def test_a_rule_means_what_it_says(rule: str, host: str, port: int, fits: bool) -> None:
    assert HostList([rule]).allows(host, port) is fits


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.9.1", "10.0.0.1", "172.16.1.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "255.255.255.255", "224.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:db8::1",
        "192.0.2.1", "198.18.0.1",
    ],
)  # fmt: skip
def test_no_name_leads_to_a_private_address(address: str) -> None:
    assert not is_public(address)
    assert not HostList(["example.org", "*.org"]).may_connect("example.org", address)


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "64:ff9b::5db8:d822"])
def test_names_lead_to_the_open_internet(address: str) -> None:
    assert HostList(["example.org"]).may_connect("example.org", address)


def test_only_an_address_that_is_listed_itself_may_be_private() -> None:
    assert HostList(["192.168.1.5"]).may_connect("192.168.1.5", "192.168.1.5")
    assert not HostList(["192.168.1.5"]).may_connect("example.org", "192.168.1.5")
    assert HostList(["localhost"]).may_connect("localhost", "127.0.0.1")
    assert not HostList(["localhost"]).may_connect("localhost", "10.0.0.1")


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 70000))
def test_no_text_is_too_strange(rule: str, host: str, port: int) -> None:
    hosts = HostList([rule])
    if hosts.allows(host, port):
        assert plain_host(host) is not None


class Upstream:
    """A server that keeps what it was sent and answers with `answer` for each connection, then closes."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        self.port = 0
        self.until = b""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        piece = await reader.read(65536)
        self.received.append(piece)
        while not self.received[-1].endswith(self.until):
            self.received[-1] += await reader.read(65536)
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(upstream: Upstream) -> AsyncIterator[None]:
    server = await asyncio.start_server(upstream.take, "127.0.0.1", 0)
    upstream.port = server.sockets[0].getsockname()[1]
    async with server:
        yield


Ask = Callable[[bytes], "asyncio.Future[bytes]"]


@asynccontextmanager
async def proxy(
    *rules: str, names: dict[str, list[str]] | None = None
) -> AsyncIterator[tuple[Forwarder, int]]:
    async def resolver(host: str, port: int) -> list[str]:
        found = (names or {}).get(host, [host])
        if not found:
            raise OSError("no such name")
        return found

    forwarder = Forwarder(HostList(rules), resolver)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    await forwarder.serve(listener)
    try:
        yield forwarder, port
    finally:
        await forwarder.close()


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_plain_request_is_passed_on_alone() -> None:
    upstream = Upstream()
    async with serving(upstream):
        here = f"127.0.0.1:{upstream.port}"
        async with proxy(here) as (forwarder, port):
            first = f"GET http://{here}/a?b=c HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\nX-Y: z\r\n\r\n"
            second = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
            answer = await ask(port, first.encode() + second)
            assert answer.endswith(b"ok")
            sent = f"GET /a?b=c HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\nX-Y: z\r\n\r\n"
            assert upstream.received == [sent.encode()]
            assert forwarder.refused == []


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"Content-Length: 6\r\n\r\n", b"abcdef"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"3\r\nabc\r\n3;x=y\r\ndef\r\n0\r\n\r\n"),
    ],
)
async def test_a_body_is_passed_on_and_nothing_behind_it(head: bytes, body: bytes) -> None:
    upstream = Upstream()
    async with serving(upstream):
        here = f"127.0.0.1:{upstream.port}"
        async with proxy(here) as (_, port):
            upstream.until = body
            request = f"POST http://{here}/ HTTP/1.1\r\n".encode() + head + body
            answer = await ask(port, request + b"GET http://evil/ HTTP/1.1\r\n\r\n")
            assert answer.endswith(b"ok")
    assert upstream.received[0].endswith(b"\r\n\r\n" + body)


async def test_a_tunnel_carries_both_ways() -> None:
    upstream = Upstream()
    upstream.answer = b"\x00pong"
    async with serving(upstream):
        here = f"127.0.0.1:{upstream.port}"
        async with proxy(here) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT {here} HTTP/1.1\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.write(b"\x16\x03ping")
            assert await reader.read() == b"\x00pong"
            writer.close()
            await writer.wait_closed()
    assert upstream.received == [b"\x16\x03ping"]


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("CONNECT evil.example:443", 403), ("GET http://evil.example/", 403), ("CONNECT listed.example:22", 403),
        ("GET http://listed.example:8080/", 403), ("CONNECT private.example:443", 403),
        ("GET http://private.example/", 403), ("CONNECT mixed.example:443", 403), ("CONNECT gone.example:443", 502),
        ("GET ftp://listed.example/", 400), ("GET https://listed.example/", 400), ("GET / HTTP/1.1", 400),
        ("CONNECT listed.example", 400), ("CONNECT listed.example:99999", 400), ("CONNECT 127.0.0.1:443", 403),
        ("CONNECT [::1]:443", 403), ("CONNECT localhost:443", 403), ("GET file:///etc/passwd", 400), ("nonsense", 400),
        ("GET http://listed.example@evil.example/", 403), ("GET http://evil.example#listed.example/", 403),
        ("GET http://[/", 400),
    ],
)  # fmt: skip
async def test_what_is_refused_gets_a_sentence(request_line: str, status: int) -> None:
    names = {
        "private.example": ["10.0.0.1", "127.0.0.1"], "mixed.example": ["169.254.169.254"], "gone.example": [],
        "listed.example": ["127.0.0.1"],
    }  # fmt: skip
    listed = ["listed.example", "private.example", "mixed.example", "gone.example"]
    async with proxy(*listed, names=names) as (forwarder, port):
        answer = (
            await ask(port, f"{request_line} HTTP/1.1\r\nHost: listed.example\r\n\r\n".encode())
        ).decode()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    head, _, sentence = answer.partition("\r\n\r\n")
    assert f"Content-Length: {len(sentence)}" in head
    assert sentence.endswith(".\n")
    assert bool(forwarder.refused) == (status == 403)


async def test_a_head_that_does_not_end_is_not_kept() -> None:
    async with proxy() as (_, port):
        answer = await ask(port, b"GET http://x/ HTTP/1.1\r\n" + b"X: y\r\n" * 20_000)
        assert answer.startswith(b"HTTP/1.1 400") or answer == b""


async def test_there_are_only_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MAX_CONNECTIONS", 2)
    async with proxy() as (_, port):
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        assert (await ask(port, b"CONNECT x:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 503")
        for _, writer in idle:
            writer.close()
            await writer.wait_closed()


async def test_closing_ends_what_still_runs() -> None:
    upstream = Upstream()
    async with serving(upstream):
        here = f"127.0.0.1:{upstream.port}"
        async with proxy(here) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT {here} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_a_connection_that_breaks_before_anything_is_sent_leaves_nothing_behind() -> None:
    sent: list[str] = []

    async def send() -> None:
        sent.append("something")

    async def receive() -> None:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await forwarding._both(send, receive())
    assert sent == []
