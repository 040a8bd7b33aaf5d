"""Keeps one runtime running: starts it, restarts it with growing pauses, gives up in words, and ends it.

Free of Qt and of HTTP routes. It does not poll: a crash is noticed by the end of the child, a stalled one
by whoever reads its change feed, who calls `degraded` and `recovered`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holaboss_app.services.profile import Profile
from holaboss_app.services.runtime_launch import runtime_command, runtime_environment
from holaboss_app.services.runtime_log import RuntimeLog
from holaboss_app.services.runtime_process import RuntimeProcess, StartError
from holaboss_app.services.tasks import Report, Tasks

BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
GIVE_UP_AFTER, WITHIN_S = 5, 120.0
HEALTHY_AGAIN_S = 60.0
READY_WITHIN_S = 30.0

HOPELESS_CODES = frozenset(
    {
        "not_found",
        "protocol_mismatch",
        "root_not_writable",
        "settings_invalid",
        "database_newer",
        "database_foreign",
        "database_damaged",
        "migration_failed",
        "handshake_invalid",
    }
)
"""Another try would end the same way; the person has to do something first."""


class Stage(StrEnum):
    STOPPED = "stopped"
    STARTING = "starting"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """Alive, but it does not answer."""
    STOPPING = "stopping"
    CRASHED = "crashed"
    BACKOFF = "backoff"
    GAVE_UP = "gave_up"


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach the runtime that runs now. `token` is as secret as a key."""

    url: str
    token: str
    instance_id: str
    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """What the window shows. `reason` is a sentence, `code` a stable word about it; `retry_in_s` with
    BACKOFF."""

    stage: Stage
    reason: str = ""
    code: str = ""
    retry_in_s: float | None = None
    connection: Connection | None = None


class RuntimeSupervisor:
    """One per profile. `on_change` is called on the loop with every new state; it may be set later."""

    def __init__(
        self,
        profile: Profile,
        on_change: Callable[[RuntimeState], None] | None,
        report: Report,
        *,
        command: Sequence[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        ready_within_s: float = READY_WITHIN_S,
    ) -> None:
        self.log = RuntimeLog(profile.log_dir / "runtime.log")
        self.state = RuntimeState(Stage.STOPPED)
        self.greeted = asyncio.Event()
        """Set once the first child has all it needs to start by itself, or could not be created."""
        self._profile = profile
        self.on_change = on_change
        self._report = report
        self._command = list(command) if command is not None else runtime_command()
        self._clock = clock
        self._pause = pause
        self._ready_within_s = ready_within_s
        self._crashes: deque[float] = deque(maxlen=GIVE_UP_AFTER)
        self._failures = 0
        self._child: RuntimeProcess | None = None
        self._tasks = Tasks(report)

    @property
    def root(self) -> Path:
        """The folder that the runtime owns."""
        return self._profile.sandbox_root

    def start(self) -> None:
        """Begin to keep a runtime running. Nothing happens when one is already being kept."""
        if self.state.stage in (Stage.STOPPED, Stage.GAVE_UP):
            self._forget_crashes()
            self._enter(RuntimeState(Stage.STARTING))
            self._tasks.start(self._keep_running(), key="run")

    async def restart(self) -> None:
        """End what runs, forget past crashes, and start again."""
        await self.stop()
        self.start()

    async def stop(self) -> None:
        """End the runtime and everything it started; within three seconds."""
        if self.state.stage == Stage.STOPPED:
            return
        self._enter(RuntimeState(Stage.STOPPING, connection=self.state.connection))
        await self._tasks.close()
        await self._end_child()
        self._enter(RuntimeState(Stage.STOPPED))
        self.log.close()

    def degraded(self, reason: str) -> None:
        """The runtime lives but does not answer."""
        if self.state.stage == Stage.HEALTHY:
            self._enter(RuntimeState(Stage.DEGRADED, reason, "silent", connection=self.state.connection))

    def recovered(self) -> None:
        """It answers again."""
        if self.state.stage == Stage.DEGRADED:
            self._enter(RuntimeState(Stage.HEALTHY, connection=self.state.connection))

    async def _keep_running(self) -> None:
        while True:
            code, reason = await self._one_life()
            await self._end_child()
            self._enter(RuntimeState(Stage.CRASHED, reason, code))
            self._crashes.append(self._clock())
            self._failures += 1
            if code in HOPELESS_CODES or self._too_many_crashes():
                self._enter(RuntimeState(Stage.GAVE_UP, reason, code))
                return
            delay = BACKOFF_S[min(self._failures, len(BACKOFF_S)) - 1]
            self._enter(RuntimeState(Stage.BACKOFF, reason, code, retry_in_s=delay))
            await self._pause(delay)
            self._enter(RuntimeState(Stage.STARTING))

    async def _one_life(self) -> tuple[str, str]:
        """From spawn to the end of the child: why it ended, as a code and a sentence."""
        try:
            environment = runtime_environment(self._profile.sandbox_root, os.environ)
            self._child = await RuntimeProcess.spawn(self._command, environment, self.log, self._report)
            await self._child.greet()
            self.greeted.set()
            ready = await self._child.ready(within_s=self._ready_within_s)
        except StartError as error:
            self.greeted.set()
            return error.code, str(error)
        started = self._clock()
        connection = Connection(ready.url, self._child.token, ready.instance_id, ready.pid, ready.version)
        self._enter(RuntimeState(Stage.HEALTHY, connection=connection))
        reason = await self._child.exited()
        if self._clock() - started >= HEALTHY_AGAIN_S:
            self._forget_crashes()
        return "crashed", reason

    def _forget_crashes(self) -> None:
        self._crashes.clear()
        self._failures = 0

    def _too_many_crashes(self) -> bool:
        return len(self._crashes) == GIVE_UP_AFTER and self._crashes[-1] - self._crashes[0] <= WITHIN_S

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.stop(self._ask_to_stop if self.state.connection is not None else None)

    async def _ask_to_stop(self) -> None:
        from holaboss_client.client import RuntimeClient
        from holaboss_client.problems import ProblemError, RuntimeUnreachableError

        connection = self.state.connection
        if connection is None:
            return
        async with RuntimeClient(connection.url, connection.token) as client:
            try:
                await client.shutdown()
            except (ProblemError, RuntimeUnreachableError):
                return  # the closed pipe tells it the same

    def _enter(self, state: RuntimeState) -> None:
        self.state = state
        if self.on_change is not None:
            self.on_change(state)
