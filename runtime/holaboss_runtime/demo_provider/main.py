"""The child process `holaboss-runtime demo-provider`.

Its first stdin line is `{"token": "…"}`; it answers with one stdout line,
`{"event": "ready", "url": "…/v1"}`, and stops when stdin ends. `HOLABOSS_DEMO_PACE_MS` sets the pause between
two pieces of an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable

PACE_VARIABLE = "HOLABOSS_DEMO_PACE_MS"
DEFAULT_PACE_MS = 12.0
CHUNK = 65_536
STDIN, STDOUT = 0, 1


def main() -> int:
    """Serve until stdin ends; returns the exit status, 2 for a first line that is not what was agreed."""
    try:
        token = str(json.loads(_read_line())["token"])
        pace_s = float(os.environ.get(PACE_VARIABLE, DEFAULT_PACE_MS)) / 1000
    except (ValueError, KeyError, TypeError) as reason:
        sys.stderr.write(f"demo-provider: the first line of stdin must be {{'token': …}} ({reason!r}).\n")
        return 2
    listener = _listen()
    ready = {"event": "ready", "url": f"http://127.0.0.1:{listener.getsockname()[1]}/v1"}
    # The socket listens already: a client that is quicker than the server below waits in its backlog.
    try:
        os.write(STDOUT, json.dumps(ready).encode() + b"\n")
    except BrokenPipeError:  # whoever started it is gone already
        return 0
    asyncio.run(_serve(listener, token, pace_s))
    return 0


def _listen() -> socket.socket:
    # The protocol is named because asyncio switches Nagle's algorithm off for a socket only when it says TCP; with
    # it on, every piece of an answer waits 40 ms for the acknowledgement of the one before.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


async def _serve(listener: socket.socket, token: str, pace_s: float) -> None:
    from uvicorn.config import Config
    from uvicorn.server import Server

    from holaboss_runtime.demo_provider.app import create_app

    config = Config(
        create_app(token, pace_s),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    config.load()
    server = Server(config)
    server.lifespan = config.lifespan_class(config)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_wait_for_end, args=(loop, stopping.set), daemon=True, name="stdin").start()
    # Only the two halves of the server are used: its own loop would wake ten times a second for nothing.
    await server.startup(sockets=[listener])
    await stopping.wait()
    server.force_exit = True  # nothing is kept, so an answer that still streams is not waited for
    await server.shutdown(sockets=[listener])


def _wait_for_end(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    # A thread, because waiting for a pipe on the loop is not portable; os.read, because a buffered reader
    # that still waits when the interpreter ends would abort it.
    while os.read(STDIN, CHUNK):
        pass
    with contextlib.suppress(RuntimeError):  # the loop may have ended first
        loop.call_soon_threadsafe(stop)


def _read_line() -> bytes:
    """The first line of stdin, or what came before it ended."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(STDIN, 1)):
        line += byte
    return line
