"""The child behind the demo model: started when somebody first uses it, stopped with the runtime."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from dataclasses import dataclass, field

from holaboss_runtime.errors import DomainError
from holaboss_runtime.processes import child_environment, self_command, terminate_group

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 0.5
PACE = "HOLABOSS_DEMO_PACE_MS"  # milliseconds between two pieces of an answer; the child knows its default


@dataclass(frozen=True, slots=True)
class DemoEndpoint:
    base_url: str
    token: str = field(repr=False)


class DemoProvider:
    """At most one child at a time; a child that died is replaced on the next use."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._process: asyncio.subprocess.Process | None = None
        self._endpoint: DemoEndpoint | None = None
        self._starting = asyncio.Lock()

    async def endpoint(self) -> DemoEndpoint:
        """Where the demo model listens. Raises `DomainError` `demo_provider_failed`."""
        async with self._starting:
            alive = self._process is not None and self._process.returncode is None
            if self._endpoint is None or not alive:
                await self._stop()
                self._endpoint = DemoEndpoint(await self._start(), self.token)
            return self._endpoint

    async def close(self) -> None:
        async with self._starting:
            await self._stop()

    async def _start(self) -> str:
        process = await asyncio.create_subprocess_exec(
            *self_command("demo-provider"),
            env=child_environment(**_pace()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"token": self.token}).encode() + b"\n")
            async with asyncio.timeout(START_TIMEOUT_S):
                ready = json.loads(await process.stdout.readline())
            return str(ready["url"])
        except (OSError, TimeoutError, ValueError, KeyError, TypeError) as error:
            await self._stop()
            raise DomainError(
                "unavailable",
                "demo_provider_failed",
                "The demo model could not be started. Restart Holaboss.",
            ) from error

    async def _stop(self) -> None:
        process, self._process, self._endpoint = self._process, None, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()  # the end of its input is the order to stop
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            await terminate_group(process, STOP_TIMEOUT_S)


def _pace() -> dict[str, str]:
    return {PACE: os.environ[PACE]} if PACE in os.environ else {}
