"""One harness host as the runtime sees it: a child process, its pipes, and the runs it carries.

It fails what it carries when the child is lost, and decides nothing: starting another is the pool's business.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from holaboss_client.base import new_id
from holaboss_runtime.harness.contract import ContractModel, RunnerEvent, RunPackage
from holaboss_runtime.harness.frame_pipe import FramePipe, spawn_with_frames
from holaboss_runtime.harness.frames import (
    FROM_HOST,
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
    ServiceCall,
    ServiceResult,
    ToolCall,
    ToolResult,
    encode,
)
from holaboss_runtime.harness.services import HostAskError, HostServices
from holaboss_runtime.harness.toolbox import Caller, Toolbox
from holaboss_runtime.processes import (
    child_environment,
    kill_group,
    owner_of,
    self_command,
    sweep,
    terminate_group,
)

logger = logging.getLogger(__name__)

QUEUED_EVENTS = 256
PINGS_PER_STALL = 6
END_S = 1.0
_LONGEST_LOG_LINE = 64 * 1024


class CarriedRun:
    """The runtime's end of a run: its events, then `None` if the host was lost before the run ended.

    `behind` is told when the reader of this run has fallen behind, and when it has caught up.
    """

    def __init__(self, run_id: str, caller: Caller, behind: Callable[[str, bool], None]) -> None:
        self.run_id = run_id
        self.caller = caller
        self._behind = behind
        self._events: deque[RunnerEvent | None] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._abandoned = False

    def put(self, event: RunnerEvent | None) -> None:
        if self._abandoned:
            return
        self._events.append(event)
        if len(self._events) == QUEUED_EVENTS:
            self._behind(self.run_id, True)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def get(self) -> RunnerEvent | None:
        """For one reader."""
        if not self._events:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        event = self._events.popleft()
        if len(self._events) == QUEUED_EVENTS // 2:
            self._behind(self.run_id, False)
        return event

    def abandon(self) -> None:
        """Nobody reads it any more: what comes is dropped."""
        self._abandoned = True
        self._events.clear()
        self._behind(self.run_id, False)


class HostProcess:
    """A running child. `serve` must be running for anything to arrive."""

    def __init__(self, toolbox: Toolbox, services: HostServices) -> None:
        self._toolbox = toolbox
        self._services = services
        self._process: asyncio.subprocess.Process
        self._frames = FramePipe(self._take)
        self._calls: dict[asyncio.Task[None], str] = {}
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._runs: dict[str, CarriedRun] = {}
        self._slow: set[str] = set()
        self._groups: set[int] = set()
        self._busy = asyncio.Event()
        self._heard = asyncio.Event()
        self.containment: str | None = None
        self.ready = asyncio.Event()
        self.lost = asyncio.Event()

    @classmethod
    async def spawn(cls, toolbox: Toolbox, services: HostServices) -> HostProcess:
        """Start a child; it is not warm yet. Raises `OSError` when the program cannot be started."""
        host = cls(toolbox, services)
        # The child must not import from wherever the runtime happens to stand.
        host._process = await spawn_with_frames(
            self_command("harness-host"), host._frames, environment=child_environment(), folder=os.sep
        )
        return host

    @property
    def pid(self) -> int:
        return self._process.pid

    async def serve(self, stall_s: float) -> None:
        """Read until the child is gone or broken, then fail what it still carried."""
        try:
            async with asyncio.TaskGroup() as tasks:
                helpers = [tasks.create_task(self._log()), tasks.create_task(self._watch(stall_s))]
                await self._read_to_the_end()
                for helper in helpers:
                    helper.cancel()
        finally:
            await self._bury()

    def open(self, package: RunPackage) -> CarriedRun:
        """Start a run. Raises `ValueError` when the package is too large for a frame."""
        run = CarriedRun(new_id(), Caller.of(package), self._note_pace)
        frame = encode(RunStart(run_id=run.run_id, package=package))
        self._runs[run.run_id] = run
        self._write(frame)
        self._busy.set()
        return run

    def cancel(self, run: CarriedRun, reason: str) -> None:
        if run.run_id in self._runs:
            self.send(RunCancel(run_id=run.run_id, reason=reason))

    def forget(self, run: CarriedRun) -> None:
        """Nobody reads this run any more: stop it if it still goes on."""
        self.cancel(run, "abandoned")
        run.abandon()
        self._drop(run.run_id)

    async def ask(self, name: str, arguments: dict[str, Any], timeout_s: float) -> Any:  # noqa: ANN401
        """What the host answers outside any run. Raises `HostAskError`, also when it is lost or too slow."""
        ask_id = new_id()
        answer = asyncio.get_running_loop().create_future()
        self._asked[ask_id] = answer
        try:
            self.send(HostAsk(ask_id=ask_id, name=name, arguments=arguments))
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError as error:
            raise HostAskError("host_timeout", f"The executor did not answer {name} in time.") from error
        finally:
            self._asked.pop(ask_id, None)

    def send(self, frame: ContractModel) -> None:
        self._write(encode(frame))

    def kill(self) -> None:
        kill_group(self._process.pid)

    async def close(self) -> None:
        """End of input, then TERM, then KILL. What it started dies with it."""
        self._frames.resume()  # a child counts as gone only at the end of its pipes
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self._process.wait()
        await terminate_group(self._process, END_S)

    def _write(self, line: bytes) -> None:
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(line)

    async def _read_to_the_end(self) -> None:
        try:
            await self._frames.over()
        except ValueError as error:  # also what pydantic raises
            logger.error(
                "harness host %s sent something that is not a frame: %s", self.pid, type(error).__name__
            )

    def _take(self, line: bytes) -> None:
        frame = FROM_HOST.validate_json(line)
        self._heard.set()
        if isinstance(frame, HostEvent):
            self._deliver(frame.run_id, frame.event)
        elif isinstance(frame, RunDone):
            self._deliver(frame.run_id, frame.event)
            self._drop(frame.run_id)
        elif isinstance(frame, ProcessGroup):
            (self._groups.add if frame.alive else self._groups.discard)(frame.pgid)
        elif isinstance(frame, HostHello):
            self.containment = frame.containment
            self.ready.set()
        elif isinstance(frame, ToolCall):
            self._begin(frame.run_id, self._call_tool(frame))
        elif isinstance(frame, ServiceCall):
            self._begin("", self._call_service(frame))
        elif isinstance(frame, HostAnswer):
            self._answered(frame)
        else:
            assert isinstance(frame, HostPong)

    def _begin(self, run_id: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._calls[task] = run_id
        task.add_done_callback(self._calls.pop)

    async def _call_tool(self, frame: ToolCall) -> None:
        if (run := self._runs.get(frame.run_id)) is None:
            return
        answer = await self._toolbox.call(run.caller, frame.name, frame.arguments)
        result = ToolResult(
            run_id=frame.run_id,
            call_id=frame.call_id,
            text=answer.text,
            details=answer.details,
            error=answer.error,
        )
        try:
            self.send(result)
        except ValueError:
            too_large: dict[str, Any] = {
                "text": f"The answer of {frame.name} is too large.",
                "details": {},
                "error": True,
            }
            self.send(result.model_copy(update=too_large))

    async def _call_service(self, frame: ServiceCall) -> None:
        result, error = None, None
        try:
            result = await self._services.serve(frame.name, frame.arguments)
        except Exception as problem:
            logger.exception("the service %s failed", frame.name)
            error = type(problem).__name__
        if frame.call_id is not None:
            self.send(ServiceResult(call_id=frame.call_id, result=result, error=error))

    def _answered(self, frame: HostAnswer) -> None:
        answer = self._asked.get(frame.ask_id)
        if answer is None or answer.done():
            return
        if frame.error is None:
            answer.set_result(frame.result)
        else:
            answer.set_exception(HostAskError(frame.code or "host_failed", frame.error))

    def _deliver(self, run_id: str, event: RunnerEvent) -> None:
        if (run := self._runs.get(run_id)) is not None:
            run.put(event)

    def _note_pace(self, run_id: str, behind: bool) -> None:
        """Read nothing while anybody is behind: the host then waits, and so does its model."""
        (self._slow.add if behind else self._slow.discard)(run_id)
        if self._slow:
            self._frames.pause()
        else:
            self._frames.resume()

    def _drop(self, run_id: str) -> None:
        self._runs.pop(run_id, None)
        for task in [task for task, owner in self._calls.items() if owner == run_id]:
            task.cancel()
        if not self._runs:
            self._busy.clear()

    async def _log(self) -> None:
        """The child's stderr, line by line; a line that is too long is cut by the reader's limit."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_LONGEST_LOG_LINE):
            for line in chunk.decode("utf-8", "replace").splitlines():
                logger.info("harness host %s: %s", self.pid, line)

    async def _watch(self, stall_s: float) -> None:
        """While runs are active, ask for signs of life; kill a host that gives none for `stall_s` seconds."""
        while True:
            await self._busy.wait()
            self._heard.clear()
            self.send(HostPing())
            try:
                async with asyncio.timeout(stall_s):
                    await self._heard.wait()
            except TimeoutError:
                if not self._frames.paused:  # otherwise it is we who do not listen
                    logger.error(
                        "harness host %s gave no sign of life for %g s and is killed", self.pid, stall_s
                    )
                    self.kill()
                    return
            await asyncio.sleep(stall_s / PINGS_PER_STALL)

    async def _bury(self) -> None:
        """The child is gone, or is made to go; so is everything it left behind."""
        self.lost.set()
        self._frames.drop()
        self.kill()
        with suppress(TimeoutError):  # a pipe nobody reads to its end any more would make it wait for ever
            async with asyncio.timeout(END_S):
                await self._process.wait()
        for pgid in self._groups:
            kill_group(pgid)
        await asyncio.to_thread(sweep, owner_of(self.pid))
        for task in list(self._calls):
            task.cancel()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(HostAskError("host_lost", "The executor was lost."))
        for run in list(self._runs.values()):
            run.put(None)
        self._runs.clear()
