"""All terminals of a server: started, found, typed into, followed, and ended with it.

An agent's terminal ends when it was not used for `IDLE_S`: nobody typed into it, read it or watched it, and nothing ran
in its workspace. One of a person stays until it is closed, its program ends or the server stops.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from holaboss_client.base import new_id, utc_now
from holaboss_client.events import Change
from holaboss_client.terminals import StartTerminal, Terminal, TerminalEvent, TerminalEvents, TerminalList
from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.permissions.model import PermissionPolicy
from holaboss_runtime.processes import become_subreaper, terminal_owner_of
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.terminals import TerminalRecord, TerminalRecords
from holaboss_runtime.terminals.holding import Ground, Holder, find_shell, folder_inside, shell_command
from holaboss_runtime.terminals.journal import Journal
from holaboss_runtime.terminals.live import Ending, LiveTerminal, Setting
from holaboss_runtime.terminals.requests import (
    check_request,
    encoded,
    new_row,
    not_running,
    signal_named,
    taker,
)

log = logging.getLogger(__name__)

MOST_LIVE = 64
MOST_IN_WORKSPACE = 8
KEPT_ENDED = 50
IDLE_S = 30 * 60.0
_FOLLOWED = 100


class Folders(Protocol):
    def folder(self, workspace_id: str) -> Path:
        """Raises `DomainError`."""
        ...


class Terminals:
    """Lives on one event loop. Whatever cannot be done raises `DomainError`.

    `policy_of` says what a person's own terminal in a workspace may do; `in_use` whether something runs in a workspace.
    """

    def __init__(
        self,
        database: Database,
        changes: ChangeLog,
        folders: Folders,
        policy_of: Callable[[str], PermissionPolicy],
        *,
        containment: Containment | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        self._records = TerminalRecords(database)
        self._changes = changes
        self._folders = folders
        self._policy_of = policy_of
        self._holder = Holder(containment)
        self._idle_s = idle_s
        self._live: dict[str, LiveTerminal] = {}
        self._opening: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self.in_use: Callable[[str], bool] = _never

    def recover(self) -> int:
        """Say of terminals of a server that is gone that they were interrupted; how many there were."""
        left = [record for record in self._records.live() if record.terminal_id not in self._live]
        now = utc_now()
        with self._records.database.transaction():
            for record in left:
                self._records.update((record.terminal_id,), {"status": "interrupted", "ended_at": now})
        return len(left)

    async def close(self) -> None:
        """End every terminal, in about a second."""
        self._closing = True
        await asyncio.gather(*(live.end("interrupted") for live in list(self._live.values())))
        await asyncio.gather(*(live.task for live in list(self._live.values()) if live.task is not None))

    async def start(
        self,
        request: StartTerminal,
        *,
        ground: Ground | None = None,
        session_id: str | None = None,
        input_id: str | None = None,
    ) -> Terminal:
        """Start a program. `ground` is that of the run that asks; without one it is a person's terminal.

        Raises `too_many_terminals`, `terminal_unsupported`, `terminal_not_contained`, `terminal_folder_missing`,
        `terminal_failed`, and what the workspace raises.
        """
        check_request(request)
        folder = self._folders.folder(request.workspace_id)
        ground = ground or Ground(folder.resolve(), self._policy_of(request.workspace_id))
        terminal_id = new_id()
        self._reserve(terminal_id, request.workspace_id)
        try:
            setting, row = await self._prepare(terminal_id, request, ground)
            live = self._begin(row | {"session_id": session_id, "input_id": input_id}, request, setting)
        finally:
            del self._opening[terminal_id]
        await asyncio.shield(live.started)
        return self.get(terminal_id)

    def list(
        self, workspace_id: str, *, session_id: str | None = None, statuses: Iterable[str] = ()
    ) -> TerminalList:
        """The newest first, at most 500."""
        found = self._records.page(workspace_id=workspace_id, session_id=session_id, statuses=[*statuses])
        return TerminalList(items=[record.shown() for record in found], count=len(found))

    def get(self, terminal_id: str) -> Terminal:
        """Raises `terminal_not_found`."""
        return self._record(terminal_id).shown()

    def events(self, terminal_id: str, *, after_sequence: int = 0, limit: int = 200) -> TerminalEvents:
        terminal = self.get(terminal_id)
        self._use(terminal_id)
        return TerminalEvents(
            terminal=terminal, events=self._records.events(terminal_id, after_sequence, limit)
        )

    async def send(self, terminal_id: str, data: str, *, by: str = "user") -> Terminal:
        """Type. Raises `terminal_not_running`, `terminal_busy`."""
        live = self._running(terminal_id)
        try:
            await live.write(encoded(data), by)
        except OSError as error:
            raise not_running() from error
        return self.get(terminal_id)

    def resize(self, terminal_id: str, cols: int, rows: int) -> Terminal:
        live = self._running(terminal_id)
        live.resize(cols, rows)
        with self._records.database.transaction():
            self._records.update((terminal_id,), {"width": cols, "height": rows})
            live.journal.note("resize", {"cols": cols, "rows": rows})
        return self.get(terminal_id)

    def signal(self, terminal_id: str, name: str) -> Terminal:
        """Send a signal to what runs in front, as a key would. Raises `signal_unknown`, `terminal_not_running`."""
        number = signal_named(name)
        live = self._running(terminal_id)
        live.signal(number)
        live.journal.note("signal", {"signal": number.name.removeprefix("SIG")})
        return self.get(terminal_id)

    async def close_one(self, terminal_id: str) -> Terminal:
        """Hang up and see that everything in it ends; one that has ended stays as it is."""
        terminal = self.get(terminal_id)
        live = self._live.get(terminal_id)
        if live is None:
            return terminal
        await live.end("closed")
        return self.get(terminal_id)

    def workspace_deleted(self, workspace_id: str) -> None:
        """End its terminals at once: its folder is about to go."""
        for live in self._live.values():
            if live.request.workspace_id == workspace_id:
                live.kill()

    async def follow(self, terminal_id: str, after_sequence: int = 0) -> AsyncGenerator[list[TerminalEvent]]:
        """What happened and what happens, in pages, until the terminal is over. Close it when it is not read to its
        end."""
        live = self._live.get(terminal_id)
        if live is not None:
            live.watchers += 1
        try:
            while True:
                living = terminal_id in self._live
                ticket = live.journal.signal.ticket() if live is not None else None
                events = self._records.events(terminal_id, after_sequence, _FOLLOWED)
                if events:
                    after_sequence = events[-1].sequence
                    yield events
                elif ticket is not None and living:
                    await ticket.wait()
                else:
                    return
        finally:
            if live is not None:
                live.watchers -= 1
            self._use(terminal_id)

    async def wait(self, terminal_id: str, after_sequence: int, timeout_s: float, quiet_s: float) -> bool:
        """Wait until something was printed after a sequence and then nothing for `quiet_s`, or the terminal is over.

        False when `timeout_s` passed and nothing was printed.
        """
        self._record(terminal_id)
        live = self._live.get(terminal_id)
        try:
            async with asyncio.timeout(timeout_s):
                while live is not None and terminal_id in self._live:
                    ticket = live.journal.signal.ticket()
                    printed = self._records.has_printed(terminal_id, after_sequence)
                    if not await _notified(ticket, quiet_s if printed else None):
                        break
        except TimeoutError:
            return self._records.has_printed(terminal_id, after_sequence)
        finally:
            self._use(terminal_id)
        return True

    # Inside

    async def _prepare(
        self, terminal_id: str, request: StartTerminal, ground: Ground
    ) -> tuple[Setting, dict[str, Any]]:
        """How to start it, and its row. Raises what `start` raises."""
        containment = await self._holder.containment()
        setsid = taker(containment)
        network = await self._holder.network(ground)
        folder = await asyncio.to_thread(folder_inside, ground.root, request.cwd)
        shell = find_shell()
        setting = Setting(
            containment=containment,
            view=ground.view,
            network=network,
            arguments=shell_command(shell, folder, request.command),
            owner=f"{terminal_owner_of(os.getpid())}{next(self._numbers)}.",
            setsid=setsid,
            cols=request.cols,
            rows=request.rows,
        )
        row = new_row(terminal_id, request, shell=shell, folder=folder)
        return setting, row | {"containment": containment.name, "network": network.mode}

    def _begin(self, row: dict[str, Any], request: StartTerminal, setting: Setting) -> LiveTerminal:
        terminal_id = str(row["terminal_id"])
        self._refuse_when_closing()
        with self._records.database.transaction():
            self._records.forget_old(request.workspace_id, KEPT_ENDED - 1)
            self._records.put(row)
        self._announce(terminal_id, request.workspace_id, "starting")
        journal = Journal(self._records, terminal_id)

        def running() -> None:
            self._now_running(live)

        def ended(ending: Ending, exit_code: int | None) -> None:
            self._now_ended(live, ending, exit_code)

        live = LiveTerminal(terminal_id, request, setting, journal, running, ended)
        live.started.add_done_callback(_heard)
        self._live[terminal_id] = live
        become_subreaper()
        live.task = asyncio.get_running_loop().create_task(live.carry())
        self._use(terminal_id)
        if request.owner == "agent":
            self._watch(live)
        return live

    def _now_running(self, live: LiveTerminal) -> None:
        setting = live.setting
        with self._records.database.transaction():
            self._records.update((live.terminal_id,), {"status": "running", "started_at": utc_now()})
            live.journal.note(
                "started",
                {
                    "command": live.request.command,
                    "containment": setting.containment.name,
                    "network": setting.network.mode,
                },
            )
        self._announce(live.terminal_id, live.request.workspace_id, "running")

    def _now_ended(self, live: LiveTerminal, ending: Ending, exit_code: int | None) -> None:
        if live.watchdog is not None:
            live.watchdog.cancel()
        del self._live[live.terminal_id]
        try:
            with self._records.database.transaction():
                self._records.update(
                    (live.terminal_id,), {"status": ending, "exit_code": exit_code, "ended_at": utc_now()}
                )
                if ending == "failed":
                    live.journal.note("error", {"message": "The program could not be run to its end."})
                live.journal.note("exit", {"exit_code": exit_code, "status": ending})
            self._announce(live.terminal_id, live.request.workspace_id, ending)
        except DomainError as error:  # the next start says that it was interrupted
            log.error("the end of terminal %s cannot be kept: %s", live.terminal_id, error.detail)
        live.journal.signal.notify()

    def _watch(self, live: LiveTerminal) -> None:
        """Look again when it may have been idle for long enough."""
        loop = asyncio.get_running_loop()
        if live.watchers or self.in_use(live.request.workspace_id):
            live.used = loop.time()
        left = live.used + self._idle_s - loop.time()
        if left > 0:
            live.watchdog = loop.call_later(left, self._watch, live)
            return
        log.info("terminal %s was not used for %g s and is closed", live.terminal_id, self._idle_s)
        closing = loop.create_task(live.end("closed"))
        self._tasks.add(closing)
        closing.add_done_callback(self._tasks.discard)

    def _use(self, terminal_id: str) -> None:
        if (live := self._live.get(terminal_id)) is not None:
            live.used = asyncio.get_running_loop().time()

    def _record(self, terminal_id: str) -> TerminalRecord:
        record = self._records.get(terminal_id)
        if record is None:
            raise not_found("terminal", terminal_id)
        return record

    def _running(self, terminal_id: str) -> LiveTerminal:
        self._record(terminal_id)
        live = self._live.get(terminal_id)
        if live is None:
            raise not_running()
        self._use(terminal_id)
        return live

    def _reserve(self, terminal_id: str, workspace_id: str) -> None:
        """A place among the living; two that come at once must not both get the last one."""
        self._refuse_when_closing()
        taken = [*self._opening.values(), *(live.request.workspace_id for live in self._live.values())]
        if len(taken) >= MOST_LIVE or taken.count(workspace_id) >= MOST_IN_WORKSPACE:
            raise DomainError(
                "conflict",
                "too_many_terminals",
                f"At most {MOST_IN_WORKSPACE} terminals of a workspace and {MOST_LIVE} of all may run at once."
                " Close one first.",
            )
        self._opening[terminal_id] = workspace_id

    def _refuse_when_closing(self) -> None:
        if self._closing:
            raise DomainError(
                "unavailable", "runtime_stopping", "The runtime is stopping. Start it again first."
            )

    def _announce(self, terminal_id: str, workspace_id: str, status: str) -> None:
        payload = {"terminal_id": terminal_id, "status": status}
        self._changes.append(Change.TERMINAL, workspace_id=workspace_id, payload=payload)


async def _notified(ticket: asyncio.Event, within_s: float | None) -> bool:
    """False when nothing happened in time."""
    try:
        async with asyncio.timeout(within_s):
            await ticket.wait()
    except TimeoutError:
        return False
    return True


def _heard(started: asyncio.Future[None]) -> None:
    """Whoever asked may have gone; then nobody takes the error."""
    if not started.cancelled():
        started.exception()


def _never(_: str) -> bool:
    return False
