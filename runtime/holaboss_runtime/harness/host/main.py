"""The host process: reads frames, carries runs, and takes everything with it when its input ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from threading import Timer
from typing import TYPE_CHECKING, Any

from holaboss_client.events import RunEvent
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.harness.contract import (
    CONTRACT_VERSION,
    ContractModel,
    RunnerEvent,
    RunPackage,
    RunResult,
    WireProtocol,
)
from holaboss_runtime.harness.frames import (
    HostAnswer,
    HostAsk,
    HostEvent,
    HostHello,
    HostPing,
    HostPong,
    ProcessGroup,
    RunCancel,
    RunDone,
    RunStart,
    ServiceResult,
    ToHostFrame,
    ToolResult,
)
from holaboss_runtime.harness.host.asks import Asks
from holaboss_runtime.harness.host.background import run_name
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.mcp.oauth import Authorizations
from holaboss_runtime.harness.host.mcp.problems import McpToolMissingError
from holaboss_runtime.harness.host.mcp.servers import McpServers, Served, missing_tool_event
from holaboss_runtime.harness.host.pipes import FrameWriter, claim_standard_streams, start_reading
from holaboss_runtime.harness.host.recorder import Recorders
from holaboss_runtime.harness.host.runtime_calls import RuntimeCalls
from holaboss_runtime.processes import (
    become_subreaper,
    die_with_parent,
    end_marked,
    is_ending,
    keep_what_is_ignored,
    sweep,
    terminal_owner_of,
)

if TYPE_CHECKING:
    from holaboss_runtime.harness.host.models import ModelClients

logger = logging.getLogger(__name__)

ORDERLY_END_S = 0.6
NEW_OBJECTS = 10_000
"""Until the next look for garbage: several requests to a model, of which nearly nothing stays."""
_RUNTIME = os.getppid()


def main() -> int:
    """Serve until standard input ends. Never returns normally: the process is gone afterwards."""
    gc.disable()  # until it is warm: looking for garbage among what is being loaded finds none
    incoming, outgoing = claim_standard_streams()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    become_subreaper()
    keep_what_is_ignored()
    # A host that was stopped (SIGSTOP) hears nothing but this, and then finds its input at its end.
    die_with_parent(signal.SIGCONT)
    asyncio.run(_serve(incoming, outgoing))
    _vanish()
    return 0


def _vanish() -> None:
    """End every process below this one, then this one, without waiting for threads that may be busy."""
    if os.getppid() != _RUNTIME or is_ending(_RUNTIME):
        # It was killed, and could not end what runs in its terminals.
        end_marked(terminal_owner_of(_RUNTIME))
    sweep()
    os._exit(0)


async def _serve(incoming: int, outgoing: int) -> None:
    loop = asyncio.get_running_loop()
    host = Host(await FrameWriter.open(outgoing))

    def deliver(frame: ToHostFrame) -> None:
        loop.call_soon_threadsafe(host.receive, frame)

    def ended() -> None:
        host.end_by_force_later()  # from the reading thread: it works even when the loop is stuck
        loop.call_soon_threadsafe(host.stop.set)

    start_reading(incoming, deliver, ended)
    loop.add_signal_handler(signal.SIGTERM, ended)
    await host.serve()


class Host:
    """Owns the runs. The runtime sends nothing before the hello, and nothing is taken after `stop`."""

    def __init__(self, writer: FrameWriter) -> None:
        self.stop = asyncio.Event()
        self._writer = writer
        self._tasks: asyncio.TaskGroup | None = None
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._commands: CommandRunner | None = None
        self._clients: ModelClients | None = None
        self._calls = RuntimeCalls(self._send)
        self._asks = Asks()
        self._recorders = Recorders()
        self._mcp = McpServers(self._announce, self._calls.tell)
        self._mcp.register(self._asks)
        self._authorizations = Authorizations(self._calls)
        self._authorizations.register(self._asks)
        self._authorizations.changed = self._mcp.retry
        self._mcp.auth = self._authorizations.auth

    async def serve(self) -> None:
        from holaboss_runtime.harness.host.models import ModelClients
        from holaboss_runtime.harness.host.run import HostRun  # noqa: F401  # pyright: ignore[reportUnusedImport]
        from holaboss_runtime.harness.host.tools import TOOLS

        self._commands = CommandRunner(await probe(), self._announce)
        self._clients = ModelClients()
        _keep_what_is_loaded()
        async with asyncio.TaskGroup() as self._tasks:
            self._writer.send(
                HostHello(
                    contract_version=CONTRACT_VERSION,
                    pid=os.getpid(),
                    tools=list(TOOLS),
                    containment=self._commands.containment,
                )
            )
            await self.stop.wait()
            for task in list(self._runs.values()):
                task.cancel()
        await self._mcp.close()
        await self._authorizations.close()
        await self._clients.close()
        self._writer.close()

    def receive(self, frame: ToHostFrame) -> None:
        if self._tasks is None or self.stop.is_set():
            return
        if isinstance(frame, RunStart):
            task = self._tasks.create_task(self._carry(frame), name=frame.run_id)
            self._runs[frame.run_id] = task
            task.add_done_callback(self._ended)
        elif isinstance(frame, RunCancel):
            if (task := self._runs.get(frame.run_id)) is not None:
                task.cancel()
        elif isinstance(frame, ToolResult | ServiceResult):
            self._calls.receive(frame)
        elif isinstance(frame, HostAsk):
            self._tasks.create_task(self._answer(frame))
        elif isinstance(frame, HostPing):
            self._writer.send(HostPong())
        else:
            self._tasks.create_task(self._warm(frame.protocol))

    def end_by_force_later(self) -> None:
        """Give the orderly end `ORDERLY_END_S`, then leave anyway."""
        timer = Timer(ORDERLY_END_S, self._force)
        timer.daemon = True
        timer.start()

    def _force(self) -> None:
        if self._commands is not None:
            self._commands.kill_all()
        self._mcp.kill_all()
        _vanish()

    async def _carry(self, start: RunStart) -> None:
        try:
            async with self._mcp.serving(start.package) as served:
                terminal = await self._run(start, served)
        except McpToolMissingError as error:
            terminal = missing_tool_event(error, start.package)
        except Exception as error:
            logger.exception("a run could not be carried")
            terminal = _failed(error, start.package)
        self._finish(start.run_id, terminal, start.package)

    async def _run(self, start: RunStart, served: Served) -> RunnerEvent:
        from holaboss_runtime.harness.host.run import HostRun
        from holaboss_runtime.harness.host.toolset import toolset_of

        assert self._commands is not None
        assert self._clients is not None
        run_id, package = start.run_id, start.package

        def send(event: RunnerEvent) -> None:
            self._writer.send(HostEvent(run_id=run_id, event=event))

        for notice in served.notices:
            send(RunnerEvent(event_type=RunEvent.RUN_NOTICE, payload=notice))
        if served.lines:
            package = package.model_copy(
                update={"context_messages": [*package.context_messages, *served.lines]}
            )
        tools = toolset_of(package, partial(self._calls.call_tool, run_id), served.tools)
        recorder = self._recorders.of_run(package)
        run = HostRun(package, self._clients, self._commands, tools, send, self._writer.drain, recorder.watch)
        try:
            terminal = await run.run()
        finally:
            await _to_its_end(self._commands.background.end(run_name(package)))
        if self._tasks is not None:
            self._tasks.create_task(recorder.close())
        return terminal

    def _ended(self, task: asyncio.Task[None]) -> None:
        run_id = task.get_name()
        del self._runs[run_id]
        if task.cancelled():  # before its first step: nobody else has reported its end
            paused = RunnerEvent(
                event_type=RunEvent.RUN_COMPLETED,
                payload={"status": "paused", "usage": {}},
                result=RunResult(),
            )
            self._finish(run_id, paused)

    def _finish(self, run_id: str, terminal: RunnerEvent, package: RunPackage | None = None) -> None:
        try:
            self._writer.send(RunDone(run_id=run_id, event=terminal))
        except ValueError:
            # More than a frame holds. Text and tools were streamed; only the memory of this run is lost.
            self._writer.send(RunDone(run_id=run_id, event=_slim(terminal, package)))

    async def _answer(self, ask: HostAsk) -> None:
        self._send(await self._asks.answer(ask))

    def _send(self, frame: ContractModel) -> None:
        try:
            self._writer.send(frame)
        except ValueError:
            if not isinstance(frame, HostAnswer):
                raise
            self._writer.send(
                HostAnswer(ask_id=frame.ask_id, error="The answer is too large.", code="too_large")
            )

    async def _warm(self, protocol: WireProtocol) -> None:
        from holaboss_runtime.harness.host.models import warm

        await asyncio.to_thread(warm, protocol)
        _keep_what_is_loaded()

    def _announce(self, pgid: int, alive: bool) -> None:
        self._writer.send(ProcessGroup(pgid=pgid, alive=alive))


def _keep_what_is_loaded() -> None:
    """Modules stay for good. To look through them for garbage would hold up some run for a tenth of a second."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()


def _failed(error: Exception, package: RunPackage) -> RunnerEvent:
    """The end of a run that broke outside of its conversation."""
    from holaboss_runtime.harness.host.failures import failure_payload

    payload = failure_payload(error, package)
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload, result=RunResult())


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Also when the run is stopped meanwhile: it is over already, and stopping it must not lose its result."""
    task = asyncio.get_running_loop().create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    task.result()


def _slim(terminal: RunnerEvent, package: RunPackage | None) -> RunnerEvent:
    """The event without the memory of its run. Calls that wait are part of it: the run has failed without them."""
    result = terminal.result
    if result is None:
        return terminal
    forgotten: dict[str, Any] = {
        "history": None,
        "assistant_text": result.assistant_text[:100_000],
        "tool_calls": [],
        "pending": [],
    }
    slim = terminal.model_copy(update={"result": result.model_copy(update=forgotten)})
    if not result.pending or package is None:
        return slim
    payload: dict[str, Any] = {
        "type": "result_too_large",
        "message": f"{package.model_id} asked for something too large to be kept until somebody decides.",
        "provider_id": package.provider_id,
        "model_id": package.model_id,
        "retryable": False,
    }
    return slim.model_copy(update={"event_type": RunEvent.RUN_FAILED, "payload": payload})
