"""A program between two bubblewraps: it listens inside the network of a command and hands the socket out.

The outer one has taken the network away, this opens a socket on the loopback that is left and passes it to the host,
and then it becomes the inner one, which holds the command. So whoever answers on that socket sits outside, and
nothing of ours runs or is visible inside.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence

PORT = 3128
BACKLOG = 64


def main(arguments: Sequence[str]) -> int:
    """`arguments`: the descriptor of a unix socket to send through, then the command to become."""
    channel, *command = arguments
    with (
        socket.socket(fileno=int(channel)) as outside,
        socket.create_server(("127.0.0.1", PORT), backlog=BACKLOG) as listener,
    ):
        socket.send_fds(outside, [b"\0"], [listener.fileno()])
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and what is ignored stays so in the command
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(command[0], command)
