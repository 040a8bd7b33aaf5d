"""Terminals as they travel: what one is, what happened in it, and what is asked of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel

TerminalOwner = Literal["agent", "user"]
TerminalStatus = Literal["starting", "running", "exited", "failed", "interrupted", "closed"]
TerminalEventType = Literal["started", "output", "input", "resize", "signal", "exit", "error"]

LIVE: tuple[TerminalStatus, ...] = ("starting", "running")
MAX_COMMAND = 32_768
MAX_INPUT = 65_536
DEFAULT_COLS, DEFAULT_ROWS = 120, 36
Cols = Annotated[int, Field(ge=20, le=400)]
Rows = Annotated[int, Field(ge=5, le=200)]


class Terminal(WireModel):
    """`cwd` is relative to the workspace. `exit_code` is that of a shell: 128 and the signal for what was killed.

    `containment` names what holds the command, `network` is on, off or listed. Events up to `dropped_event_seq` are not
    kept any more, because there were too many.
    """

    terminal_id: str
    workspace_id: str
    session_id: str | None = None
    input_id: str | None = None
    title: str = ""
    backend: str
    owner: str
    status: str
    cwd: str
    shell: str
    command: str
    cols: int
    rows: int
    containment: str
    network: str
    exit_code: int | None = None
    last_event_seq: int = 0
    dropped_event_seq: int = 0
    created_by: str | None = None
    created_at: str
    started_at: str | None = None
    last_activity_at: str
    ended_at: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])

    @property
    def is_live(self) -> bool:
        return self.status in LIVE


class TerminalEvent(WireModel):
    """Payloads: `started` `{"command", "containment", "network"}`; `output` `{"data"}`, with its control characters;
    `input` `{"bytes", "by"}` and never what was typed, which may be a password; `resize` `{"cols", "rows"}`;
    `signal` `{"signal"}`; `exit` `{"exit_code", "status"}`; `error` `{"message"}`."""

    terminal_id: str
    sequence: int
    event_type: str
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])
    created_at: str


class TerminalList(WireModel):
    items: list[Terminal]
    count: int


class TerminalEvents(WireModel):
    """A page, the oldest first. There is more where the last sequence is below `terminal.last_event_seq`."""

    terminal: Terminal
    events: list[TerminalEvent]


class StartTerminal(RequestModel):
    """`POST /terminal-sessions`. `command` is run by the shell; an interactive shell is the command `bash`.

    `cwd` is relative to the workspace.
    """

    workspace_id: str
    command: str = Field(min_length=1, max_length=MAX_COMMAND)
    title: str = Field(default="", max_length=200)
    owner: TerminalOwner = "user"
    cwd: str = Field(default=".", max_length=4_096)
    cols: Cols = DEFAULT_COLS
    rows: Rows = DEFAULT_ROWS
    created_by: str | None = Field(default=None, max_length=200)
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class TerminalInput(RequestModel):
    data: str = Field(min_length=1, max_length=MAX_INPUT)


class ResizeTerminal(RequestModel):
    cols: Cols
    rows: Rows


class SignalTerminal(RequestModel):
    """`signal` is a name, with or without SIG: INT, QUIT, TSTP, CONT, HUP, TERM, KILL, USR1, USR2."""

    signal: str = Field(min_length=1, max_length=10)
