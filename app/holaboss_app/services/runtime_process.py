"""One life of the runtime: spawned, greeted over its pipes, watched, and ended with everything it started.

Knows nothing of restarts, HTTP routes or windows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from holaboss_app.services.runtime_log import RuntimeLog
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client import PROTOCOL_VERSION

if TYPE_CHECKING:
    from holaboss_client.handshake import Ready

LONGEST_HANDSHAKE = 1 << 20
POLITE_S, CLOSED_S, TERMINATED_S = 0.7, 1.5, 0.5
"""Patience with each step of a stop: the request, the closed pipe, the signal. Together less than three
seconds."""


class StartError(Exception):
    """The runtime did not come up. `code` is a `StartFailure` code, or one of `not_found`, `no_answer`,
    `exited`, `protocol_mismatch`. The text is a sentence for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RuntimeProcess:
    """Create with `spawn`, then await `greet`, `ready`, `exited`, and in the end `stop`."""

    def __init__(self, process: asyncio.subprocess.Process, log: RuntimeLog, report: Report) -> None:
        self.token = secrets.token_hex(32)
        self._process = process
        self._log = log
        self._tasks = Tasks(report)
        self._errors = self._tasks.start(self._drain(process.stderr))

    @classmethod
    async def spawn(
        cls, command: Sequence[str], environment: Mapping[str, str], log: RuntimeLog, report: Report
    ) -> RuntimeProcess:
        """Start the child in a process group of its own.

        Raises:
            StartError: the program is not there or cannot be run.
        """
        new_group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(environment),
                limit=LONGEST_HANDSHAKE,
                start_new_session=sys.platform != "win32",
                creationflags=new_group,
            )
        except OSError as error:
            words = _tr("The runtime could not be started: {program} ({why}). Install Holaboss again.")
            message = words.format(program=command[0], why=error.strerror)
            raise StartError("not_found", message) from error
        return cls(process, log, report)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def greet(self) -> None:
        """Send the token; the child may be gone already, then its last words say why."""
        assert self._process.stdin is not None
        # A `Hello`, spelt by hand: its model is loaded later, and the first window must not wait for that.
        hello = json.dumps({"token": self.token, "secrets": {}})
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(hello.encode() + b"\n")
            await self._process.stdin.drain()

    async def ready(self, *, within_s: float) -> Ready:
        """Wait for the answer to the greeting.

        Raises:
            StartError: it refused, ended, stayed silent, or speaks another protocol.
        """
        try:
            async with asyncio.timeout(within_s):
                line = await self._first_line()
        except TimeoutError as error:
            message = _tr("The runtime did not answer within {seconds} seconds.").format(
                seconds=round(within_s)
            )
            raise StartError("no_answer", message) from error
        ready = await self._understood(line)
        if ready.protocol.partition(".")[0] != PROTOCOL_VERSION.partition(".")[0]:
            words = _tr(
                "This window speaks protocol {ours}, the runtime {version} speaks {theirs}. Install both from the "
                "same release."
            )
            message = words.format(ours=PROTOCOL_VERSION, version=ready.version, theirs=ready.protocol)
            raise StartError("protocol_mismatch", message)
        self._tasks.start(self._drain(self._process.stdout))
        return ready

    async def exited(self) -> str:
        """Wait for the end of the child; a sentence about how it ended."""
        code = await self._process.wait()
        await asyncio.wait([self._errors], timeout=POLITE_S)
        if code < 0:
            name = signal.Signals(-code).name if -code in {int(s) for s in signal.Signals} else str(-code)
            return _tr("The runtime was stopped from outside ({name}).").format(name=name)
        return _tr("The runtime ended unexpectedly (exit status {code}).").format(code=code)

    async def stop(self, ask: Callable[[], Awaitable[None]] | None) -> None:
        """End the child and its group within three seconds: `ask` it, close its pipe, signal it, kill it."""
        if ask is not None and self._process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLITE_S):
                    await ask()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self._ended_within(CLOSED_S):
            self._signal(signal.SIGTERM)
            await self._ended_within(TERMINATED_S)
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        await self._process.wait()
        await asyncio.wait([self._errors], timeout=POLITE_S)
        await self._tasks.close()

    async def _first_line(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readline()
        except ValueError:  # longer than any handshake
            return b""

    async def _understood(self, line: bytes) -> Ready:
        from pydantic import ValidationError

        from holaboss_client.handshake import Ready, StartFailure

        if not line:
            raise StartError("exited", await self.exited())
        try:
            return Ready.model_validate_json(line)
        except ValidationError:
            pass
        try:
            failure = StartFailure.model_validate_json(line)
        except ValidationError as error:
            message = _tr(
                "The program beside this window did not answer like a runtime. Install Holaboss again."
            )
            raise StartError("handshake_invalid", message) from error
        raise StartError(failure.code, failure.message)

    async def _drain(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while chunk := await stream.read(65_536):
            self._log.append(chunk)

    async def _ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def _signal(self, number: int) -> None:
        """To the whole group where there are groups; the group outlives its leader."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform != "win32":
                os.killpg(self._process.pid, number)
            elif self._process.returncode is None:
                self._process.terminate()


def _tr(text: str) -> str:
    return QCoreApplication.translate("RuntimeProcess", text)
