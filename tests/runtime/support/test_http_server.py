"""The small HTTP server of the tests leaves nothing behind, whenever it is stopped."""

from __future__ import annotations

import contextlib
import gc
import socket

from tests.support.http_server import HttpServer, Request, Wire


async def answer(_request: Request, wire: Wire) -> None:
    wire.send(200, b"")


def test_a_client_that_comes_while_it_stops_is_let_go() -> None:
    """A warning about a socket that nobody closed is an error here."""
    for _ in range(100):
        with socket.socket() as client, HttpServer(answer) as server:
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(("127.0.0.1", server.port))
    gc.collect()
