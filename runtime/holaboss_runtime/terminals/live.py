"""One terminal while its program runs: the process, its device and its log, from the start to the last event.

Nothing the program has started outlives it: its session is hung up on, its group is ended, and on Linux whatever
carries its mark.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from holaboss_client.terminals import StartTerminal
from holaboss_runtime.containment.holding import Containment, Held
from holaboss_runtime.containment.view import Network, View
from holaboss_runtime.errors import DomainError
from holaboss_runtime.processes import OWNER_VARIABLE, child_environment, kill_group, signal_group, sweep
from holaboss_runtime.terminals.device import Device, inside_command, outside_command
from holaboss_runtime.terminals.journal import Journal
from holaboss_runtime.terminals.output import Output

log = logging.getLogger(__name__)

GRACE_S = 0.4
"""For each of: being hung up on, being asked to end."""

DRAIN_S = 1.0
WRITE_S = 5.0
Ending = Literal["exited", "closed", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything a program is started with. `owner` marks its processes."""

    containment: Containment
    view: View
    network: Network
    arguments: list[str]
    owner: str
    setsid: str | None
    cols: int
    rows: int

    @property
    def environment(self) -> Mapping[str, str]:
        fixed = {"TERM": "xterm-256color", OWNER_VARIABLE: self.owner}
        return child_environment(**fixed)


@dataclass(eq=False)
class LiveTerminal:
    """`running` is called when the program runs, `ended` when it is over, with how and with its exit code.

    `used` is when somebody last did something with it, `watchers` how many follow it now.
    """

    terminal_id: str
    request: StartTerminal
    setting: Setting
    journal: Journal
    running: Callable[[], None]
    ended: Callable[[Ending, int | None], None]
    used: float = 0.0
    watchers: int = 0
    watchdog: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None
    started: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _ending: Ending = "exited"
    _process: asyncio.subprocess.Process | None = None
    _device: Device | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _drained: asyncio.Event = field(default_factory=asyncio.Event)
    _typing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def carry(self) -> None:
        """From the start to the end. `started` tells the one who waits whether the program runs."""
        exit_code: int | None = None
        setting = self.setting
        arguments = inside_command(setting.containment.name, setting.setsid, setting.arguments)
        try:
            async with setting.containment.hold(
                setting.view, arguments, setting.environment, setting.network
            ) as held:
                exit_code = await self._carry(held)
        except (OSError, DomainError) as error:
            self._ending = "failed"
            self._tell(error)
        finally:
            self._over.set()
            self.ended(self._ending, exit_code)

    async def _carry(self, held: Held) -> int:
        device = Device(self.setting.cols, self.setting.rows)
        output = Output(self._printed, device.pause, device.go_on)
        try:
            self._device = device
            process = await self._spawn(held, device)
            try:
                device.listen(output.add, self._drained.set)
                self.running()
                self._tell(None)
                await process.wait()
            finally:
                await self._end_all(process)
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await self._drained.wait()
            return _as_shells_say(process.returncode)
        finally:
            device.close()
            output.finish()

    async def _spawn(self, held: Held, device: Device) -> asyncio.subprocess.Process:
        words = outside_command(self.setting.containment.name, device.name, held.arguments)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *words,
                cwd=held.cwd,
                env=held.environment,
                stdin=device.inside,
                stdout=device.inside,
                stderr=device.inside,
                pass_fds=held.inherited,
                start_new_session=True,
            )
        finally:
            device.release()
        held.started()
        return self._process

    async def _end_all(self, process: asyncio.subprocess.Process) -> None:
        self.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
        await asyncio.to_thread(sweep, self.setting.owner)

    async def write(self, data: bytes, by: str) -> None:
        """Type. Raises `DomainError` `terminal_busy` when the program does not read, `OSError` when it is over."""
        device = self._device
        if device is None:
            raise OSError("the terminal is not open")
        try:
            async with asyncio.timeout(WRITE_S), self._typing:
                await device.write(data)
        except TimeoutError as error:
            raise DomainError(
                "conflict",
                "terminal_busy",
                "The program in this terminal reads no input now. Wait for it, or send it a signal.",
            ) from error
        self.journal.note("input", {"bytes": len(data), "by": by})

    def resize(self, cols: int, rows: int) -> None:
        if self._device is not None and self._device.is_open:
            self._device.resize(cols, rows)

    def signal(self, number: signal.Signals) -> None:
        """To whom a key would reach; while the program takes its place, to what starts it."""
        sent = self._device is not None and self._device.signal_foreground(number)
        if not sent and self._process is not None and self._process.returncode is None:
            signal_group(self._process.pid, number)

    async def end(self, ending: Ending) -> None:
        """Hang up, ask, kill, and wait until it is over. `ending` is what is said of it."""
        if not self._over.is_set():
            self._ending = ending
        for number in (signal.SIGHUP, signal.SIGTERM):
            if self._device is not None:
                self._device.signal_session(number)
                self._device.signal_session(signal.SIGCONT)  # one that was stopped hears nothing
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._over.wait()
                return
        self.kill()
        await self._over.wait()

    def kill(self) -> None:
        """End its programs at once, without a word."""
        if self._device is not None:
            self._device.signal_session(signal.SIGKILL)
        if self._process is not None:
            kill_group(self._process.pid)

    def _printed(self, pieces: list[str]) -> None:
        try:
            self.journal.add("output", [{"data": piece} for piece in pieces])
        except DomainError as error:
            # Called by the loop: nobody else would hear of it. A terminal that cannot be shown is ended.
            log.error("the output of terminal %s cannot be kept: %s", self.terminal_id, error.detail)
            self._ending = "failed"
            self.kill()

    def _tell(self, error: OSError | DomainError | None) -> None:
        if self.started.done():
            return
        if error is None:
            self.started.set_result(None)
        elif isinstance(error, DomainError):
            self.started.set_exception(error)
        else:
            why = error.strerror or type(error).__name__
            detail = f"The terminal cannot be started: {why}. Check the workspace folder, or end programs."
            self.started.set_exception(DomainError("unavailable", "terminal_failed", detail))


def _as_shells_say(returncode: int | None) -> int:
    if returncode is None:
        return 128 + signal.SIGKILL
    return returncode if returncode >= 0 else 128 - returncode
