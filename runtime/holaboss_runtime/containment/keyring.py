"""Leaving the kernel's session keyring: no namespace separates it, and a command would inherit the person's keys."""

from __future__ import annotations

import ctypes
import platform
import sys
from contextlib import suppress

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION_KEYRING = 1


def leave_session_keyring() -> None:
    """Give the calling thread, and whatever it starts from now on, a new and empty one. Linux; nothing elsewhere."""
    number = _KEYCTL.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).syscall(number, _JOIN_SESSION_KEYRING, None)
