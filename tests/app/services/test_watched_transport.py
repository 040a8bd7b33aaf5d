"""A silent runtime is noticed while a request still waits, over a real connection."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from holaboss_app.services import watched_transport
from holaboss_app.services.watched_transport import WatchedTransport
from holaboss_client.client import RuntimeClient

pytestmark = pytest.mark.anyio
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


async def test_silence_is_told_once_and_the_request_goes_on() -> None:
    silent, told = asyncio.Event(), list[str]()

    def on_silence() -> None:
        told.append("silent")
        silent.set()

    async def answer_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await silent.wait()
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer_late, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with RuntimeClient(
            url, "token", transport=WatchedTransport(on_silence, after_s=0.05)
        ) as client:
            assert await client.healthy()
    assert told == ["silent"]


async def test_an_answer_in_time_is_nothing_to_tell() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        watched = WatchedTransport(lambda: pytest.fail("it did answer"), after_s=3600.0)
        async with RuntimeClient(url, "token", transport=watched) as client:
            assert await client.healthy()


def test_a_client_of_a_plain_address_trusts_no_certificate() -> None:
    transport = watched_transport._plain()
    context = transport._pool._ssl_context
    assert context is not None
    assert context.cert_store_stats()["x509_ca"] == 0
    assert context.verify_mode is ssl.CERT_REQUIRED
