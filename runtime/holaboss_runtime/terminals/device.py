"""One pseudo-terminal: a pair of devices, its size, what is typed into it and what comes out, and whom its keys reach.

For systems with POSIX terminals only; whoever imports this module has checked that. It starts no process.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress

from holaboss_runtime.containment.view import ContainmentName

READ_BYTES = 16 * 1024
_IUTF8 = 0x4000  # of the input flags: so that erasing a character takes all its bytes. Linux and macOS.
_TIOCGSID = 0x5429 if sys.platform.startswith("linux") else 0x40047463
_SMALLEST_GROUP = 2
_TAKE_BY_OPENING = ': <"$0"; exec "$@"'


class Device:
    """`inside` is the end the program gets; `release` closes ours of it once the program runs."""

    def __init__(self, cols: int, rows: int) -> None:
        self._master, self.inside = os.openpty()
        os.set_blocking(self._master, False)
        self.name = os.ttyname(self.inside)
        flags = termios.tcgetattr(self.inside)
        flags[0] |= _IUTF8
        termios.tcsetattr(self.inside, termios.TCSANOW, flags)
        self._released = False
        self._reading = False
        self.is_open = True
        self.resize(cols, rows)

    def resize(self, cols: int, rows: int) -> None:
        """The programs in it are told."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def release(self) -> None:
        if not self._released:
            self._released = True
            os.close(self.inside)

    def close(self) -> None:
        """Whatever still uses it is hung up on."""
        self.release()
        if self.is_open:
            self.pause()
            self.is_open = False
            os.close(self._master)

    def listen(self, heard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """Call `heard` with what comes out, and `ended` once nobody can write any more."""

        def readable() -> None:
            try:
                chunk = os.read(self._master, READ_BYTES)
            except BlockingIOError:
                return
            except OSError:  # EIO: the last program closed its end
                chunk = b""
            if chunk:
                heard(chunk)
            else:
                self.pause()
                ended()

        self._readable = readable
        self.go_on()

    def pause(self) -> None:
        """Read nothing; who writes too much has to wait then."""
        if self._reading:
            self._reading = False
            asyncio.get_running_loop().remove_reader(self._master)

    def go_on(self) -> None:
        if self.is_open and not self._reading:
            self._reading = True
            asyncio.get_running_loop().add_reader(self._master, self._readable)

    async def write(self, data: bytes) -> None:
        """Type. Waits while the program reads nothing and the device is full. Raises `OSError` for a closed one."""
        while data:
            if not self.is_open:
                raise OSError(errno.EIO, "the terminal is closed")
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await self._writable()

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        # A descriptor of its own: the device may be closed, and its number be used again, while this waits.
        own = os.dup(self._master)
        try:
            loop.add_writer(own, lambda: ready.done() or ready.set_result(None))
            await ready
        finally:
            loop.remove_writer(own)
            os.close(own)

    def signal_foreground(self, number: signal.Signals) -> bool:
        """Send a signal to whom a key would reach; False when there is nobody."""
        return self._send(self._group(os.tcgetpgrp), number)

    def signal_session(self, number: signal.Signals) -> None:
        """Send a signal to the program the terminal was opened for, and to what runs in front of it."""
        leader = self._group(_session_of)
        self._send(leader, number)
        if (front := self._group(os.tcgetpgrp)) != leader:
            self._send(front, number)

    def _group(self, ask: Callable[[int], int]) -> int:
        """A group of this terminal's own session; 0 for none."""
        if not self.is_open:
            return 0
        with suppress(OSError):
            return ask(self._master)
        return 0

    @staticmethod
    def _send(group: int, number: signal.Signals) -> bool:
        if group < _SMALLEST_GROUP or group == os.getpgrp():
            return False
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _session_of(master: int) -> int:
    return struct.unpack("i", fcntl.ioctl(master, _TIOCGSID, bytes(4)))[0]


def inside_command(held_by: ContainmentName, setsid: str | None, arguments: Sequence[str]) -> list[str]:
    """What to hold, so that the program gets the terminal as its own. With bubblewrap that has to happen inside: the
    program that holds must not be in the terminal's session, or a key would reach it."""
    return [setsid, "-c", *arguments] if held_by == "bubblewrap" and setsid is not None else list(arguments)


def outside_command(held_by: ContainmentName, device: str, arguments: Sequence[str]) -> list[str]:
    """What to start in a session of its own, so that the program gets the terminal as its own: the first it opens."""
    if held_by == "bubblewrap":
        return list(arguments)
    return ["/bin/sh", "-c", _TAKE_BY_OPENING, device, *arguments]
