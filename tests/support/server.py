"""A real embedded runtime server as a child process, with the handshake its desktop would hold."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from holaboss_client.client import RuntimeClient
from holaboss_client.handshake import Hello, Ready, StartFailure
from tests.support.processes import PATIENCE_S, Process, descendants, wait_until_gone

COMMAND = (sys.executable, "-m", "holaboss_runtime", "serve")


class RuntimeStartError(AssertionError):
    """The server said that it cannot start (`failure`), or ended without a word (`failure` is None)."""

    def __init__(self, message: str, failure: StartFailure | None = None) -> None:
        super().__init__(message)
        self.failure = failure


class RuntimeProcess:
    """`with RuntimeProcess(root) as runtime:`, also as `async with`; `root` is the sandbox root,
    `keys` maps provider ids to secrets.

    Leaving the block stops it politely and fails when one of its descendants survives.
    """

    def __init__(
        self,
        root: Path,
        *,
        keys: dict[str, str] | None = None,
        environment: dict[str, str] | None = None,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self.root = root
        self.token = secrets.token_hex(32)
        self.ready: Ready
        self._hello = Hello(token=self.token, secrets=keys or {})
        self._environment = environment or {}
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def url(self) -> str:
        return self.ready.url

    @property
    def log(self) -> str:
        """What it wrote to stderr so far."""
        return self._log_path.read_text("utf-8", "replace")

    @property
    def _log_path(self) -> Path:
        return self.root.with_name(f"{self.root.name}.stderr.log")

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the runtime was not started"
        return self._process

    def start(self, *, timeout_s: float = PATIENCE_S) -> Ready:
        """Spawn it and wait for its first line. Raises `RuntimeStartError`."""
        self.root.mkdir(parents=True, exist_ok=True)
        self._log = self._log_path.open("ab")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=self._child_environment(),
            start_new_session=True,
        )
        try:
            self.ready = self._shake_hands(timeout_s)
        except BaseException:
            self._release(self._process)
            raise
        return self.ready

    def client(self) -> RuntimeClient:
        """A new client; whoever asks for it closes it."""
        return RuntimeClient(self.url, self.token)

    def descendants(self) -> list[Process]:
        """Its harness hosts, their shells, and what those have started."""
        return descendants(self.pid)

    def stop(self, *, timeout_s: float = PATIENCE_S) -> int:
        """Close its stdin, as a desktop that quits does, and return the exit status."""
        stdin = self._running.stdin
        assert stdin is not None
        return self._end(stdin.close, timeout_s)

    def kill(self) -> None:
        """`kill -9`; what it started has to notice by itself."""
        self._end(self._running.kill, PATIENCE_S)

    def _end(self, order: Callable[[], None], timeout_s: float) -> int:
        process = self._running
        if process.poll() is not None:
            self._release(process)
        else:
            family = [child.pid for child in self.descendants()]
            order()
            late = wait_until_gone([process.pid, *family], timeout_s)
            for pid in late:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            wait_until_gone(late)
            self._release(process)
            assert not late, (
                f"still running {timeout_s} s after the order to stop: {late}\n{self.log[-4000:]}"
            )
        return process.wait()

    def _child_environment(self) -> dict[str, str]:
        return (
            dict(os.environ)
            | {
                "HOLABOSS_EMBEDDED_RUNTIME": "1",
                "HB_SANDBOX_ROOT": str(self.root),
                "SANDBOX_AGENT_BIND_HOST": "127.0.0.1",
                "SANDBOX_AGENT_BIND_PORT": "0",
                "SANDBOX_AGENT_HARNESS": "native",
            }
            | self._environment
        )

    def _shake_hands(self, timeout_s: float) -> Ready:
        stdin = self._running.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended already; its log says why
            stdin.write(self._hello.model_dump_json().encode() + b"\n")
            stdin.flush()
        line = self._first_line(timeout_s)
        if b'"ready"' in line:
            return Ready.model_validate_json(line)
        if not line:
            raise RuntimeStartError(f"the runtime ended before it was ready:\n{self.log[-4000:]}")
        failure = StartFailure.model_validate_json(line)
        raise RuntimeStartError(f"{failure.code}: {failure.message}", failure)

    def _first_line(self, timeout_s: float) -> bytes:
        stdout = self._running.stdout
        assert stdout is not None
        line, deadline = b"", time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(stdout, select.POLLIN | select.POLLHUP)
        while not line.endswith(b"\n"):
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise RuntimeStartError(f"the runtime is not ready after {timeout_s} s:\n{self.log[-4000:]}")
            byte = os.read(stdout.fileno(), 1)
            if not byte:
                break
            line += byte
        return line

    def _release(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)
