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
import stat
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tests.support.processes import descendants, has_children, wait_until_gone

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
XDG_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local",
    "XDG_STATE_HOME": ".state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": ".run",
}
POOL_THREADS = ("asyncio_", "AnyIO worker thread")
"""Threads of an executor live as long as their loop, which may belong to a wider fixture than the test."""

FEW_MODULES = 20
GRACE_S = 5.0


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
        KEPT.collect()
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
    before = {process.pid for process in descendants(os.getpid())} if has_children() else set[int]()
    yield
    if not has_children():
        return
    left = {process.pid: process.command for process in descendants(os.getpid(), without=before)}
    if not left or not (alive := wait_until_gone(left, timeout_s=GRACE_S)):
        return
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    pytest.fail("leaked processes:\n  " + "\n  ".join(f"{pid}: {left[pid]}" for pid in alive), pytrace=False)


class KeptObjects:
    """What imports leave in memory, set aside so that the collection after each test stays cheap.

    Without it, a library that a test imports makes every later collection a hundred times as long. What is set aside
    is looked at again with each new library and when the tests are over, so that nothing unclosed is overlooked.
    """

    def __init__(self) -> None:
        self._modules = 0

    def collect(self) -> None:
        gc.collect()
        if len(sys.modules) > self._modules + FEW_MODULES:
            self.look_again()
            gc.freeze()
            self._modules = len(sys.modules)

    def look_again(self) -> None:
        gc.unfreeze()
        gc.collect()


KEPT = KeptObjects()


class Homes:
    """Home directories in a short path (sockets live in them). One that a test left as it was is lent again."""

    def __init__(self) -> None:
        self._untouched: tempfile.TemporaryDirectory[str] | None = None

    @contextlib.contextmanager
    def lend(self) -> Generator[Path]:
        folder, self._untouched = self._untouched or _new_home(), None
        try:
            yield Path(folder.name)
        finally:
            if _is_untouched(Path(folder.name)):
                self._untouched = folder
            else:
                folder.cleanup()

    def close(self) -> None:
        if self._untouched is not None:
            self._untouched.cleanup()


def _new_home() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="holaboss-", ignore_cleanup_errors=True)
    for name in XDG_FOLDERS.values():
        (Path(folder.name) / name).mkdir(mode=0o700)
    return folder


def _is_untouched(home: Path) -> bool:
    """Whether nothing but the empty folders of a new home is there, as private as they were."""
    try:
        if sorted(entry.name for entry in home.iterdir()) != sorted(XDG_FOLDERS.values()):
            return False
        folders = [home, *home.iterdir()]
        private = all(stat.S_IMODE(folder.lstat().st_mode) == 0o700 for folder in folders)
        return private and not any(any(folder.iterdir()) for folder in folders[1:])
    except OSError:
        return False  # gone, or a link, or closed to us: not what it was


@contextlib.contextmanager
def isolated_home(homes: Homes) -> Generator[Path]:
    """A home of its own, without the variables that steer us and without the model servers of this computer."""
    with homes.lend() as home, pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN_VARIABLES) or name.lower() in PROXY_VARIABLES:
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        for variable, name in XDG_FOLDERS.items():
            patch.setenv(variable, str(home / name))
        patch.setenv("HOLABOSS_LOCAL_SERVER_PORTS", "")
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
