"""The tools with which an agent works in terminals: its own session's, in its own workspace.

Whether it may is judged before: what is started and what is typed is taken for a shell command there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from holaboss_client.terminals import (
    DEFAULT_COLS,
    DEFAULT_ROWS,
    MAX_COMMAND,
    MAX_INPUT,
    Cols,
    Rows,
    StartTerminal,
    Terminal,
    TerminalEvent,
)
from holaboss_runtime.errors import not_found
from holaboss_runtime.harness.toolbox import Caller, ToolAnswer, Toolbox, ToolboxTool
from holaboss_runtime.terminals.holding import Ground
from holaboss_runtime.terminals.plain import plain
from holaboss_runtime.terminals.service import Terminals

DEFAULT_EVENTS, MOST_EVENTS = 200, 1_000
MOST_CHARS = 12_000
"""Of one answer; the rest is read with the next one."""

QUIET_S = 0.3
LONGEST_WAIT_MS = 60_000
_ANSWER_S = 5.0
_WORKSPACE = "/workspace"


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class _Nothing(_Input):
    pass


class _One(_Input):
    terminal_id: str = Field(max_length=100)


class _Start(_Input):
    command: str = Field(
        min_length=1, max_length=MAX_COMMAND, description="Run by the shell; `bash` for a shell to type into"
    )
    title: str = Field(default="", max_length=200, description="For the person, in few words")
    cwd: str = Field(default=".", max_length=4_096, description="A folder of the workspace")
    cols: Cols = DEFAULT_COLS
    rows: Rows = DEFAULT_ROWS


class _Read(_One):
    after_sequence: int = Field(default=0, ge=0, description="The last_sequence of an earlier answer")
    limit: int = Field(default=DEFAULT_EVENTS, ge=1, le=MOST_EVENTS)


class _Wait(_Read):
    timeout_ms: int = Field(default=15_000, ge=1, le=LONGEST_WAIT_MS)


class _Send(_One):
    data: str = Field(
        min_length=1, max_length=MAX_INPUT, description="Typed as it is: end a line with a newline"
    )


class _Signal(_One):
    signal: str = Field(max_length=10, description="INT (Ctrl-C), QUIT, TSTP, CONT, HUP, TERM or KILL")


class TerminalTools:
    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals

    def register(self, toolbox: Toolbox) -> None:
        toolbox.register(*self._looking(), *self._acting())

    def _looking(self) -> tuple[ToolboxTool, ...]:
        def tool(name: str, description: str, takes: type[BaseModel], function: Any) -> ToolboxTool:  # noqa: ANN401
            timeout_s = LONGEST_WAIT_MS / 1_000 + _ANSWER_S
            return ToolboxTool(
                name, description, takes, function, mutates=False, hidden=True, timeout_s=timeout_s
            )

        return (
            tool("terminal_sessions_list", "List the terminals you started.", _Nothing, self._list),
            tool("terminal_session_get", "How a terminal is.", _One, self._get),
            tool("terminal_session_read", "Read what a terminal printed, as plain text.", _Read, self._read),
            tool(
                "terminal_session_wait",
                "Wait until a terminal prints something new or its program ends, and read it.",
                _Wait,
                self._wait,
            ),
        )

    def _acting(self) -> tuple[ToolboxTool, ...]:
        return (
            ToolboxTool(
                "terminal_session_start",
                "Start a program in a terminal that goes on beside your work: a server, a REPL, a program that asks.",
                _Start,
                self._start,
                hidden=True,
                command_argument="command",
            ),
            ToolboxTool(
                "terminal_session_send_input",
                "Type into a terminal.",
                _Send,
                self._send,
                hidden=True,
                command_argument="data",
            ),
            ToolboxTool(
                "terminal_session_signal",
                "Send a signal to the program in a terminal.",
                _Signal,
                self._signal,
                hidden=True,
            ),
            ToolboxTool(
                "terminal_session_close",
                "Close a terminal and end what runs in it.",
                _One,
                self._close,
                hidden=True,
            ),
        )

    async def _list(self, caller: Caller, _: _Nothing) -> ToolAnswer:
        found = self._terminals.list(caller.workspace_id, session_id=caller.session_id).items
        lines = [f"{one.terminal_id}  {one.status}  {_named(one)}" for one in found]
        return ToolAnswer(
            "\n".join(lines) or "There are no terminals.", {"terminals": [_details(one) for one in found]}
        )

    async def _get(self, caller: Caller, request: _One) -> ToolAnswer:
        return _about(self._own(caller, request.terminal_id))

    async def _start(self, caller: Caller, request: _Start) -> ToolAnswer:
        body = StartTerminal(
            workspace_id=caller.workspace_id,
            owner="agent",
            created_by=caller.session_id[:200],
            **request.model_dump(),
        )
        terminal = await self._terminals.start(
            body, ground=_ground(caller), session_id=caller.session_id, input_id=caller.input_id
        )
        return _about(terminal)

    async def _read(self, caller: Caller, request: _Read) -> ToolAnswer:
        self._own(caller, request.terminal_id)
        return self._pages(request, timed_out=None)

    async def _wait(self, caller: Caller, request: _Wait) -> ToolAnswer:
        self._own(caller, request.terminal_id)
        heard = await self._terminals.wait(
            request.terminal_id, request.after_sequence, request.timeout_ms / 1_000, QUIET_S
        )
        return self._pages(request, timed_out=not heard)

    async def _send(self, caller: Caller, request: _Send) -> ToolAnswer:
        self._own(caller, request.terminal_id)
        return _about(await self._terminals.send(request.terminal_id, request.data, by="agent"))

    async def _signal(self, caller: Caller, request: _Signal) -> ToolAnswer:
        self._own(caller, request.terminal_id)
        return _about(self._terminals.signal(request.terminal_id, request.signal))

    async def _close(self, caller: Caller, request: _One) -> ToolAnswer:
        self._own(caller, request.terminal_id)
        return _about(await self._terminals.close_one(request.terminal_id))

    def _own(self, caller: Caller, terminal_id: str) -> Terminal:
        """Raises `terminal_not_found`, also for a terminal of somebody else."""
        terminal = self._terminals.get(terminal_id)
        if (terminal.workspace_id, terminal.session_id) != (caller.workspace_id, caller.session_id):
            raise not_found("terminal", terminal_id)
        return terminal

    def _pages(self, request: _Read, *, timed_out: bool | None) -> ToolAnswer:
        page = self._terminals.events(
            request.terminal_id, after_sequence=request.after_sequence, limit=request.limit
        )
        taken = _first_chars(page.events)
        last = taken[-1].sequence if taken else max(request.after_sequence, page.terminal.dropped_event_seq)
        notes = [f"status: {page.terminal.status}", f"last_sequence: {last}"]
        if page.terminal.exit_code is not None:
            notes.append(f"exit_code: {page.terminal.exit_code}")
        if request.after_sequence < page.terminal.dropped_event_seq:
            notes.append(f"events up to {page.terminal.dropped_event_seq} are not kept any more")
        if last < page.terminal.last_event_seq:
            notes.append(f"there is more: read after_sequence {last}")
        if timed_out:
            notes.append("nothing new in time")
        text = plain("".join(_printed(event) for event in taken)).strip("\n")
        details: dict[str, Any] = {"terminal": _details(page.terminal), "last_sequence": last}
        if timed_out is not None:
            details["timed_out"] = timed_out
        return ToolAnswer(f"[{', '.join(notes)}]\n{text}".rstrip("\n"), details)


def _first_chars(events: list[TerminalEvent]) -> list[TerminalEvent]:
    """As many events from the start as fit into an answer, one at least."""
    taken: list[TerminalEvent] = []
    chars = 0
    for event in events:
        chars += len(_printed(event))
        if taken and chars > MOST_CHARS:
            break
        taken.append(event)
    return taken


def _printed(event: TerminalEvent) -> str:
    return str(event.payload.get("data", "")) if event.event_type == "output" else ""


def _about(terminal: Terminal) -> ToolAnswer:
    lines = [
        f"terminal_id: {terminal.terminal_id}",
        f"{terminal.status}: {_named(terminal)}",
        f"last_sequence: {terminal.last_event_seq}",
        *([f"exit_code: {terminal.exit_code}"] if terminal.exit_code is not None else []),
    ]
    return ToolAnswer("\n".join(lines), {"terminal": _details(terminal)})


def _named(terminal: Terminal) -> str:
    return terminal.title or terminal.command[:200]


def _details(terminal: Terminal) -> dict[str, Any]:
    shown = ("terminal_id", "title", "status", "exit_code", "containment", "network", "last_event_seq")
    return {name: getattr(terminal, name) for name in shown}


def _ground(caller: Caller) -> Ground:
    """Where the run itself stands: a terminal can do no more than its bash tool."""
    whole = next((mount for mount in caller.mounts if mount.mount_path.rstrip("/") == _WORKSPACE), None)
    return Ground(
        Path(caller.workspace_dir).resolve(),
        caller.permissions,
        writable=whole is None or whole.access == "read_write",
    )
