"""The native harness: a small pool of warm host processes, and the runs on them.

A workspace always goes to the same host. A host that dies takes only its own runs with it and is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from holaboss_client.events import DELTA_EVENTS, TERMINAL_EVENTS, RunEvent
from holaboss_runtime.harness.contract import (
    ASK_S,
    AdapterCapabilities,
    Cancellation,
    PrepPlan,
    RunnerEvent,
    RunPackage,
    RunResult,
    WireProtocol,
)
from holaboss_runtime.harness.frames import HostWarm
from holaboss_runtime.harness.host_process import CarriedRun, HostProcess
from holaboss_runtime.harness.services import HostAskError, HostServices
from holaboss_runtime.harness.toolbox import Toolbox
from holaboss_runtime.processes import become_subreaper, keep_what_is_ignored

logger = logging.getLogger(__name__)

TOOL_NAMES = (
    *("read", "write", "edit", "bash", "grep", "find", "ls"),
    *("todo", "skill", "question", "write_report", "scratchpad"),
    *("web_search", "download_url", "image_generate"),
)
"""Of the host's own tools, in the order the model sees them."""

BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
START_S = 60.0
CANCEL_S = 2.0
STALL_S = 30.0


class _Slot:
    """A place in the pool: the host that is there now, if there is one and it is warm."""

    def __init__(self) -> None:
        self.host: HostProcess | None = None
        self.filled = asyncio.Event()

    def fill(self, host: HostProcess) -> None:
        self.host = host
        self.filled.set()

    def clear(self) -> None:
        self.host = None
        self.filled.clear()


class NativeHarness:
    """`hosts` processes; one that carries runs and is silent for `stall_s` seconds is given up.

    `toolbox` holds the tools that run on this side, `services` what hosts may ask for outside a run.
    """

    name = "native"
    capabilities = AdapterCapabilities(supports_waiting_user=True, supports_skills=True, supports_mcp=True)
    tool_names = TOOL_NAMES

    def __init__(
        self,
        *,
        hosts: int = 1,
        stall_s: float = STALL_S,
        toolbox: Toolbox | None = None,
        services: HostServices | None = None,
    ) -> None:
        self.toolbox = toolbox or Toolbox()
        self.services = services or HostServices()
        self._slots = [_Slot() for _ in range(max(1, hosts))]
        self._stall_s = stall_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._protocols: set[WireProtocol] = set()
        self._closing = False

    @property
    def ready(self) -> bool:
        return all(slot.filled.is_set() for slot in self._slots)

    def prep_plan(self, session_kind: str) -> PrepPlan:
        """The host reads skills where they are and knows no command files."""
        return PrepPlan(
            prepare_mcp_tooling=True, start_workspace_mcp_sidecar=True, bootstrap_resolved_applications=True
        )

    @property
    def containment(self) -> str | None:
        hosts = (slot.host for slot in self._slots)
        return next((host.containment for host in hosts if host is not None), None)

    async def start(self) -> None:
        """Returns at once; the hosts warm up on their own."""
        become_subreaper()
        keep_what_is_ignored()
        for slot in self._slots:
            self._own(self._keep(slot))

    async def close(self) -> None:
        self._closing = True
        await asyncio.gather(*(slot.host.close() for slot in self._slots if slot.host))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def warm(self, protocol: WireProtocol) -> None:
        """Make every host load what this protocol needs, now and after a restart.

        For protocols of configured providers: it saves their first run the import.
        """
        if protocol not in self._protocols:
            self._protocols.add(protocol)
            for slot in self._slots:
                if slot.host is not None:
                    slot.host.send(HostWarm(protocol=protocol))

    async def run(self, package: RunPackage, cancel: Cancellation) -> AsyncIterator[RunnerEvent]:
        slot = self._slot_of(package.workspace_id)
        host = await self._host_in(slot, cancel)
        told = _Told()
        if host is None:
            yield _paused(told) if cancel.reason is not None else _lost(package, told)
            return
        try:
            run = host.open(package)
        except ValueError:
            yield _too_large(package)
            return
        # An approved call is made first of all, and what was told of it may be lost with the host.
        told.anything = any(decision.outcome == "approved" for decision in package.decisions)
        stopper = self._own(self._stop_when_told(host, run, cancel))
        try:
            while not told.ended and (event := await run.get()) is not None:
                told.hear(event)
                yield event
            if not told.ended:
                yield _paused(told) if cancel.reason is not None else _lost(package, told)
        finally:
            stopper.cancel()
            host.forget(run)

    async def ask(
        self, workspace_id: str, name: str, arguments: dict[str, Any], *, timeout_s: float = ASK_S
    ) -> Any:  # noqa: ANN401
        """What the host of a workspace says outside any run. Raises `HostAskError`."""
        slot = self._slot_of(workspace_id)
        try:
            async with asyncio.timeout(START_S):
                await slot.filled.wait()
        except TimeoutError as error:
            raise HostAskError("host_not_ready", "The executor does not start.") from error
        if slot.host is None:
            raise HostAskError("host_lost", "The executor was lost.")
        return await slot.host.ask(name, arguments, timeout_s)

    async def ask_all(self, name: str, arguments: dict[str, Any], *, timeout_s: float = ASK_S) -> list[Any]:
        """The answers of all hosts that are there; one that fails is left out."""
        hosts = [slot.host for slot in self._slots if slot.host is not None]
        answers = await asyncio.gather(
            *(host.ask(name, arguments, timeout_s) for host in hosts), return_exceptions=True
        )
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    def _slot_of(self, workspace_id: str) -> _Slot:
        return self._slots[zlib.crc32(workspace_id.encode()) % len(self._slots)]

    async def _host_in(self, slot: _Slot, cancel: Cancellation) -> HostProcess | None:
        """The host of a slot once it is warm; None when the run is cancelled first or none comes up."""
        if cancel.reason is not None:
            return None
        if slot.host is None:
            waits = [asyncio.ensure_future(slot.filled.wait()), asyncio.ensure_future(cancel.wait())]
            try:
                await asyncio.wait(waits, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        return slot.host if cancel.reason is None else None

    async def _stop_when_told(self, host: HostProcess, run: CarriedRun, cancel: Cancellation) -> None:
        await cancel.wait()
        host.cancel(run, cancel.reason or "cancelled")
        await asyncio.sleep(
            CANCEL_S
        )  # this task is cancelled when the run ends, which it normally does at once
        logger.error("a run did not stop within %g s; its host is killed", CANCEL_S)
        host.kill()

    async def _keep(self, slot: _Slot) -> None:
        """Keep a host in the slot for as long as the harness is open."""
        failures = 0
        while not self._closing:
            await asyncio.sleep(BACKOFF_S[min(failures, len(BACKOFF_S) - 1)])
            try:
                host = await HostProcess.spawn(self.toolbox, self.services)
            except OSError as error:
                logger.error("the harness host cannot be started: %s", error)
                failures += 1
                continue
            try:
                became_warm = await self._attend(slot, host)
            except Exception:  # the boundary: a supervisor outlives whatever it supervises
                logger.exception("looking after harness host %s failed", host.pid)
                became_warm = False
            failures = 0 if became_warm else failures + 1

    async def _attend(self, slot: _Slot, host: HostProcess) -> bool:
        """From spawn to burial; True if it had become warm."""
        try:
            async with asyncio.TaskGroup() as tasks:
                greeting = tasks.create_task(self._greet(slot, host))
                await host.serve(self._stall_s)
                greeting.cancel()
        finally:
            slot.clear()
            await host.close()
        if not self._closing:
            logger.info("harness host %s is gone; another one is started", host.pid)
        return host.ready.is_set()

    async def _greet(self, slot: _Slot, host: HostProcess) -> None:
        await host.ready.wait()
        for protocol in sorted(self._protocols):
            host.send(HostWarm(protocol=protocol))
        slot.fill(host)

    def _own(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Told:
    """What a run has told so far, for the case that its end has to be told by us."""

    def __init__(self) -> None:
        self.ended = False
        self.anything = False
        self._texts: dict[int, list[str]] = {}

    def hear(self, event: RunnerEvent) -> None:
        self.ended = event.event_type in TERMINAL_EVENTS
        if event.event_type in DELTA_EVENTS or event.event_type == RunEvent.TOOL_CALL:
            self.anything = True
        if event.event_type == RunEvent.OUTPUT_DELTA:
            self._texts.setdefault(event.payload["content_index"], []).append(event.payload["delta"])

    def result(self) -> RunResult:
        return RunResult(assistant_text="\n\n".join("".join(pieces) for pieces in self._texts.values()))


def _paused(told: _Told) -> RunnerEvent:
    payload: dict[str, Any] = {"status": "paused", "usage": {}}
    return RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload=payload, result=told.result())


def _lost(package: RunPackage, told: _Told) -> RunnerEvent:
    message = "The process that carried this run was lost. Send “continue” to go on."
    return _failed(package, "host_lost", message, told.result(), retryable=not told.anything)


def _too_large(package: RunPackage) -> RunnerEvent:
    message = f"The conversation is too large to be sent to {package.model_id}. Start a new session."
    return _failed(package, "request_too_large", message, RunResult(), retryable=False)


def _failed(
    package: RunPackage, kind: str, message: str, result: RunResult, *, retryable: bool
) -> RunnerEvent:
    payload = {
        "type": kind,
        "message": message,
        "provider_id": package.provider_id,
        "model_id": package.model_id,
        "retryable": retryable,
    }
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload, result=result)
