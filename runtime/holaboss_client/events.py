"""Events, as they travel: the fine-grained stream of a run, and the change feed of everything a screen
shows."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from holaboss_client.base import WireModel


class RunEvent(StrEnum):
    """Types of `OutputEvent`. A run starts with RUN_CLAIMED and ends with exactly one of the last two.

    Payloads:

    - RUN_CLAIMED: `instruction_preview`
    - RUN_STARTED: `instruction_preview, provider_id, model_id, …` (see the runtime reference in
    ARCHITECTURE.md)
    - OUTPUT_DELTA, THINKING_DELTA: `delta, content_index, offset, delta_kind`. `content_index` numbers the
    parts of
      a run (text, thinking, tool call) in the order they began; `offset` is where `delta` starts inside its
      part, in characters. Both together make every delta idempotent, however it was merged with its
      neighbours.
    - TOOL_CALL: `phase` (started, blocked, completed), `call_id, content_index, tool_name, tool_args, result, error`;
      a blocked call waits for a person and has a `kind` (tool_confirmation, custom_tool) instead of a result
    - SKILL_INVOCATION: `phase` (started, completed), `requested_name, skill_id, skill_name, skill_location,
      granted_tools_expected`; a completed one also `widening_scope` (run), `managed_tools, granted_tools,
      active_granted_tools, managed_commands, granted_commands, active_granted_commands, workspace_boundary_override,
      args, error, error_message`
    - RUN_NOTICE: `code, message`: something a person may want to know while the run goes on, such as an MCP server that
      is left out (`mcp_server_unavailable`, `mcp_needs_consent`, with `mcp_server_id, state`)
    - RUN_RETRYING: `attempt` (1 is the first repetition), `attempts` (how many there may be, the very first included),
      `delay_s`, `message`
    - RUN_COMPLETED: `status` (success, paused, waiting_user), `usage`
    - RUN_FAILED: `type, message, provider_id, model_id, retryable`
    """

    RUN_CLAIMED = "run_claimed"
    RUN_STARTED = "run_started"
    THINKING_DELTA = "thinking_delta"
    OUTPUT_DELTA = "output_delta"
    TOOL_CALL = "tool_call"
    SKILL_INVOCATION = "skill_invocation"
    RUN_NOTICE = "run_notice"
    RUN_RETRYING = "run_retrying"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"


TERMINAL_EVENTS = frozenset({RunEvent.RUN_COMPLETED, RunEvent.RUN_FAILED})
DELTA_EVENTS = frozenset({RunEvent.OUTPUT_DELTA, RunEvent.THINKING_DELTA})


class OutputEvent(WireModel):
    """One row of a run's stream; `id` is the row number and the SSE id. Types unknown to a client are
    skipped."""

    id: int
    workspace_id: str
    session_id: str
    input_id: str
    sequence: int
    event_type: str
    created_at: str
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])

    @property
    def is_terminal(self) -> bool:
        return self.event_type in TERMINAL_EVENTS


class OutputEventPage(WireModel):
    items: list[OutputEvent]
    count: int
    last_event_id: int


class Change(StrEnum):
    """Kinds of `ChangeEvent` on `GET /api/v1/events`.

    RESET means the requested id is unknown or too old: reload everything. SHUTDOWN ends the stream.
    """

    WORKSPACE = "workspace"
    SESSION = "session"
    SESSION_STATE = "session.state"
    QUEUE = "queue"
    FILES = "files"
    CONFIG = "config"
    AGENT = "agent"
    SECRET = "secret"
    MCP = "mcp"
    PERMISSIONS = "permissions"
    TERMINAL = "terminal"
    NOTICE = "notice"
    RESET = "reset"
    SHUTDOWN = "shutdown"


class ChangeEvent(WireModel):
    """Something a screen may show has changed. `payload` is a hint; the record itself is fetched.

    Payloads: SESSION_STATE a `SessionState`; FILES `{"paths": [...]}` (empty: anything may have changed);
    QUEUE `{"input_id"}`; SECRET `{"name", "kind"}`; MCP `{"server", "state"}`, or with `code` and `message` why an
    authorization failed; AGENT `{"agent_id"}` or `{"environment_id"}`; NOTICE `{"code", "message"}`;
    WORKSPACE `{"status"}`; TERMINAL `{"terminal_id", "status"}`.
    """

    id: int
    kind: str
    workspace_id: str | None = None
    session_id: str | None = None
    created_at: str
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])
