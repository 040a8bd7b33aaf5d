"""What every test must leave behind: nothing. Each rule is a context manager that fails when broken.

`tests/conftest.py` wraps every test in all of them.
"""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tests.support.processes import descendants, wait_until_gone

FOREIGN_VARIABLES = (
    "HOLABOSS_",
    "HB_",
    "SANDBOX_",
    "PROACTIVE_",
    "OPENAI_",
    "ANTHROPIC_",
    "OPENROUTER_",
    "GEMINI_",
)
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy")
POOL_THREADS = ("asyncio_", "AnyIO worker thread")
"""Threads of an executor live as long as their loop, which may belong to a wider fixture than the test."""

GRACE_S = 1.0


class NetworkUseError(AssertionError):
    """A test wanted to leave the machine."""


class LogWatch(logging.Handler):
    """Collects what is logged at WARNING and above, and knows what a test has announced."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._records: list[logging.LogRecord] = []
        self._allowed: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)

    def allow(self, logger: str, substring: str = "") -> None:
        """Expect records of `logger` (or one below it) whose message contains `substring`."""
        self._allowed.append((logger, substring))

    def unexpected(self) -> list[str]:
        return [
            f"{record.levelname} {record.name}: {record.getMessage()}"
            for record in self._records
            if not any(_matches(record, logger, substring) for logger, substring in self._allowed)
        ]


def _matches(record: logging.LogRecord, logger: str, substring: str) -> bool:
    return f"{record.name}.".startswith(f"{logger}.") and substring in record.getMessage()


@contextlib.contextmanager
def no_unexpected_logs() -> Generator[LogWatch]:
    watch = LogWatch()
    root = logging.getLogger()
    root.addHandler(watch)
    try:
        yield watch
        # A task or socket nobody closed complains when it is collected: let it blame the right test.
        gc.collect()
    finally:
        root.removeHandler(watch)
    if logging.root.manager.disable:
        logging.disable(logging.NOTSET)
        pytest.fail("logging was switched off for the whole process", pytrace=False)
    if unexpected := watch.unexpected():
        pytest.fail("unexpected log records:\n  " + "\n  ".join(unexpected), pytrace=False)


@contextlib.contextmanager
def no_leaked_threads() -> Generator[None]:
    before = set(threading.enumerate())
    yield
    leaked = [thread for thread in threading.enumerate() if thread not in before and _is_ours(thread)]
    for thread in leaked:
        thread.join(timeout=GRACE_S)
    if names := [thread.name for thread in leaked if thread.is_alive()]:
        pytest.fail(f"leaked threads: {', '.join(names)}", pytrace=False)


def _is_ours(thread: threading.Thread) -> bool:
    foreign = type(thread).__name__ == "_DummyThread"  # a thread of Qt that once ran Python code
    return not foreign and not thread.name.startswith(POOL_THREADS)


@contextlib.contextmanager
def no_leaked_children() -> Generator[None]:
    """Children of a fixture wider than the test may come and go; the test's own may not outlive it."""
    before = {process.pid for process in descendants(os.getpid())}
    yield
    left = {process.pid: process.command for process in descendants(os.getpid(), without=before)}
    if not left or not (alive := wait_until_gone(left, timeout_s=GRACE_S)):
        return
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    pytest.fail("leaked processes:\n  " + "\n  ".join(f"{pid}: {left[pid]}" for pid in alive), pytrace=False)


@contextlib.contextmanager
def isolated_home() -> Generator[Path]:
    """A home of its own in a short path (sockets live in it), without the variables that steer us."""
    with (
        tempfile.TemporaryDirectory(prefix="holaboss-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        home = Path(folder)
        for name in list(os.environ):
            if name.startswith(FOREIGN_VARIABLES) or name.lower() in PROXY_VARIABLES:
                patch.delenv(name)
        patch.setenv("HOME", folder)
        for variable, name in (
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local"),
            ("XDG_STATE_HOME", ".state"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_RUNTIME_DIR", ".run"),
        ):
            (home / name).mkdir(mode=0o700)
            patch.setenv(variable, str(home / name))
        yield home


def forbid_network() -> None:
    """From now on this process reaches loopback only. There is no way back, as with every audit hook."""
    sys.addaudithook(_only_loopback)


def _only_loopback(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = cast("tuple[object, ...]", address)[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if isinstance(host, str) and not is_loopback(host):
        raise NetworkUseError(f"tests use loopback only, not {host!r}")


def is_loopback(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
