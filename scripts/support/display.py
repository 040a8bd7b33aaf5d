"""Says whether a window can open here: exit code 0 when the display that the environment names answers.

Qt ends the program with a crash when it does not, and gives a wrong reason. Run by `scripts/run` on Linux, with
nothing installed. Where it cannot tell it answers yes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

PATIENCE_S = 5


def answers() -> bool:
    """Whether one of the displays that Qt would try takes a connection."""
    return _wayland_answers() or _x11_answers()


def _wayland_answers() -> bool:
    name = os.environ.get("WAYLAND_DISPLAY")
    if not name:
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(Path(os.environ.get("XDG_RUNTIME_DIR", "/"), name)))
        except OSError:
            return False
    return True


def _x11_answers() -> bool:
    if not os.environ.get("DISPLAY"):
        return False
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not failed


if __name__ == "__main__":
    signal.alarm(PATIENCE_S)  # a display behind a dead connection: to be ended is a "no" as well
    sys.exit(0 if answers() else 1)
