"""A port for programs that have to be told one. Whoever can ask the system for any port does that instead."""

from __future__ import annotations

import random
import socket


def free_port() -> int:
    """One that nobody listens on now, below those that the system hands out: none of its own comes to be given away
    before it is used."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
