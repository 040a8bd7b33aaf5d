"""The agent layer, as it travels: agents, environments, resources, the event log of a session, what waits for a person.

Field names are those of the HTTP interface (snake_case); the files under `.openboa` spell the same fields in camelCase.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from holaboss_client.base import RequestModel, WireModel
from holaboss_client.permissions import RuleText


class SessionEventType(StrEnum):
    """Types of `SessionEvent`. Those of `INBOUND` are born pending and make a session runnable.

    Payloads (fields of `SessionEvent.payload`):

    - USER_MESSAGE: `text`, optional `attachments, model, thinking_value`
    - USER_DEFINE_OUTCOME: `title, detail, success_criteria`
    - USER_INTERRUPT: `note`
    - USER_TOOL_CONFIRMATION: `request_id, tool_name, allowed, note`, optional `input` (edited arguments) with
      `asked_input`, `remember`; `expired` when nobody answered in time and the runtime declined
    - USER_CUSTOM_TOOL_RESULT: `request_id, tool_name, output`; the answer to a question has a `kind` (question), and
      `attachments, model, thinking_value` when it was a message
    - SESSION_WAKE_DUE: `wakes` (a list of `id, reason, note, due_at`), `text`
    - SESSION_CHILD_CREATED: `child_session_id, outcome_title, message`
    - SESSION_CHILD_IDLE: `child_session_id, child_stop_reason, summary, executed_cycles`
    - SESSION_CHILD_RESULTS: `children` (a list of `child_session_id, title, status`), `text`: what subagents of the
      session came to, as one message
    - SESSION_STATUS_CHANGED: `from_status, to_status, reason`
    - SESSION_STATUS_IDLE: `reason, summary, blocking_event_ids`
    - SPAN_STARTED, SPAN_COMPLETED: `span_id, parent_span_id, span_kind` (wake, tool), `name, summary`; completed adds
      `result` (success, error, blocked, aborted)
    - AGENT_MESSAGE: `message, summary, input_id`
    - AGENT_TOOL_USE: `request_id, call_id, tool_name, ownership, permission_policy, input, output` (null: blocked)
    - AGENT_CUSTOM_TOOL_USE: `request_id, tool_name, input`
    - USER_MESSAGE_EDITED, USER_MESSAGE_CANCELLED: `input_id`, `text` of the edited one
    """

    USER_MESSAGE = "user.message"
    USER_DEFINE_OUTCOME = "user.define_outcome"
    USER_INTERRUPT = "user.interrupt"
    USER_TOOL_CONFIRMATION = "user.tool_confirmation"
    USER_CUSTOM_TOOL_RESULT = "user.custom_tool_result"
    SESSION_WAKE_DUE = "session.wake_due"
    SESSION_CHILD_CREATED = "session.child_created"
    SESSION_CHILD_IDLE = "session.child_idle"
    SESSION_CHILD_RESULTS = "session.child_results"
    SESSION_STATUS_CHANGED = "session.status_changed"
    SESSION_STATUS_IDLE = "session.status_idle"
    SPAN_STARTED = "span.started"
    SPAN_COMPLETED = "span.completed"
    AGENT_MESSAGE = "agent.message"
    AGENT_TOOL_USE = "agent.tool_use"
    AGENT_CUSTOM_TOOL_USE = "agent.custom_tool_use"
    USER_MESSAGE_EDITED = "user.message_edited"
    USER_MESSAGE_CANCELLED = "user.message_cancelled"


CLIENT_EVENTS = frozenset(
    {
        SessionEventType.USER_MESSAGE,
        SessionEventType.USER_DEFINE_OUTCOME,
        SessionEventType.USER_INTERRUPT,
        SessionEventType.USER_TOOL_CONFIRMATION,
        SessionEventType.USER_CUSTOM_TOOL_RESULT,
    }
)
"""What a person or a program may append to a session."""

INBOUND = CLIENT_EVENTS | {SessionEventType.SESSION_WAKE_DUE, SessionEventType.SESSION_CHILD_RESULTS}


class SessionEvent(WireModel):
    """One row of the append-only log of a session; `seq` is the order. Pending means `processed_at` is null."""

    seq: int
    event_id: str
    session_id: str
    type: str
    created_at: str
    processed_at: str | None
    wake_id: str | None
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])


class SessionEventPage(WireModel):
    items: list[SessionEvent]
    count: int
    last_seq: int


class AppendEvent(RequestModel):
    """`POST /agent-sessions/{id}/events`: append an inbound event. An `event_id` that is in the log already changes
    nothing and returns the event that is there."""

    type: str
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])
    event_id: str | None = None
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)
    priority: int = Field(default=0, ge=-(2**31), lt=2**31)


class AppendedEvent(WireModel):
    event: SessionEvent
    input_id: str


Access = Literal["read_only", "read_write"]


class ResourceAttachment(WireModel):
    """Something durable a session may reach. `kind` is `workspace_directory` (with the role `session_workspace` or
    `agent_workspace_substrate`), `local_file`, `learnings_memory_store` or `session_runtime_memory`."""

    id: str
    kind: str
    role: str | None = None
    source_ref: str
    mount_path: str
    access: Access
    prompt: str = ""


class ResourceList(WireModel):
    items: list[ResourceAttachment]
    count: int


class AttachResource(RequestModel):
    """`POST /agent-sessions/{id}/resources`: attach a `local_file` (a file or folder of this machine)."""

    kind: Literal["local_file"] = "local_file"
    source_ref: str
    mount_path: str | None = None
    access: Access = "read_only"
    prompt: str = ""


class AgentDefinition(WireModel):
    """The durable identity of one brain. `source` is `file` (an `agent.json`) or `workspace`."""

    agent_id: str
    workspace_id: str
    provider: str
    model: str
    runner: str
    source: str
    session_count: int = 0
    created_at: str
    updated_at: str


class AgentList(WireModel):
    items: list[AgentDefinition]
    count: int


class CreateAgent(RequestModel):
    agent_id: str
    provider: str | None = None
    model: str | None = None


class SandboxPosture(WireModel):
    mode: Literal["off", "workspace"] = "workspace"
    workspace_access: Literal["none", "ro", "rw"] = "rw"
    network_access: Literal["enabled", "disabled"] = "enabled"
    package_policy: Literal["workspace", "none"] = "workspace"


class Environment(WireModel):
    environment_id: str
    name: str
    kind: Literal["local"] = "local"
    sandbox: SandboxPosture = Field(default_factory=SandboxPosture)
    workspace_path: str = "/workspace"
    runtime_path: str = "/runtime"
    created_at: str
    updated_at: str


class EnvironmentList(WireModel):
    items: list[Environment]
    count: int


class CreateEnvironment(RequestModel):
    environment_id: str
    name: str | None = None
    sandbox: SandboxPosture = Field(default_factory=SandboxPosture)


class CreateAgentSession(RequestModel):
    """A session of the agent layer. The agent and the default environment are made when they do not exist."""

    agent_id: str
    session_id: str | None = None
    environment_id: str | None = None
    title: str | None = None
    parent_session_id: str | None = None


class PendingAction(WireModel):
    """Something that waits for a person or a program: the run ended, and goes on once everything is decided.

    `kind` is `tool_confirmation`, `custom_tool` or `question`; `status` is open, approved, denied, answered, cancelled
    or expired. `reason` says why it is asked; `suggestions` are rules that may be kept with an approval, the narrowest
    first; an `edited_input` was approved instead of `input`.

    The `input` of a question is `question`, `options` (`label`, `description`) and `allow_multiple`."""

    id: str
    session_id: str
    kind: str
    tool_name: str
    input: dict[str, Any]
    status: str
    requested_at: str
    decided_at: str | None = None
    note: str | None = None
    reason: str = ""
    suggestions: list[RuleText] = Field(default_factory=list[RuleText])
    edited_input: dict[str, Any] | None = None
    expires_at: str | None = None
    output: Any = None


class PendingActionList(WireModel):
    items: list[PendingAction]
    count: int


class DecideAction(RequestModel):
    """`POST /agent-sessions/{id}/pending-actions/{action_id}`: `allowed` for a confirmation, `output` for the result of
    a custom tool or the answer to a question (a text, or `{"options": [labels], "text"}`); exactly one of them.

    With an approval, `input` replaces the arguments of the call, and `remember` (one of the suggestions of the action,
    or a narrower rule) is kept as a rule of the workspace. A repeated `idempotency_key` returns the first answer.
    """

    allowed: StrictBool | None = None
    note: str | None = None
    input: dict[str, Any] | None = None
    remember: RuleText | None = None
    output: Any = None
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _one_decision(self) -> Self:
        if (self.allowed is not None) == ("output" in self.model_fields_set):
            raise ValueError("say either `allowed` or `output`")
        if self.allowed is not True and (self.input is not None or self.remember is not None):
            raise ValueError("`input` and `remember` go with `allowed`: true")
        return self

    def event(self, action_id: str) -> AppendEvent:
        """The event that says the same."""
        payload: dict[str, Any] = {"request_id": action_id}
        kind = SessionEventType.USER_TOOL_CONFIRMATION
        if self.allowed is None:
            kind = SessionEventType.USER_CUSTOM_TOOL_RESULT
            payload["output"] = self.output
        else:
            payload |= {"allowed": self.allowed, "note": self.note}
        if self.input is not None:
            payload["input"] = self.input
        if self.remember is not None:
            payload["remember"] = self.remember.model_dump(exclude_none=True)
        return AppendEvent(type=kind, payload=payload, idempotency_key=self.idempotency_key)


class ScheduledWake(WireModel):
    id: str
    session_id: str
    due_at: str
    reason: str
    note: str | None = None
    dedupe_key: str | None = None
    priority: str = "normal"
    created_at: str
    completed_at: str | None = None
    outcome: str | None = None


class ScheduledWakeList(WireModel):
    items: list[ScheduledWake]
    count: int


class ScheduleWake(RequestModel):
    """`POST /agent-sessions/{id}/wakes`. Asking again with a `dedupe_key` that still waits changes nothing."""

    reason: str = Field(min_length=1, max_length=200)
    delay_seconds: float = Field(gt=0, le=86_400)
    note: str | None = Field(default=None, max_length=2_000)
    dedupe_key: str | None = Field(default=None, max_length=200)
    priority: Literal["low", "normal", "high"] = "normal"


class WakeReport(WireModel):
    """What a wake did. `skipped` says why nothing was executed: idle, lease_contended, requires_action, held,
    waits_for_key, deferred (a retry is due later), terminated. Not executed and not skipped means under way."""

    session_id: str
    executed: bool
    skipped: str | None = None
    wake_id: str | None = None
    input_id: str | None = None
    result: str | None = None
    stop_reason: str | None = None
    status: str
    response: str | None = None
    error: dict[str, Any] | None = None
    processed_event_ids: list[str] = Field(default_factory=list[str])
    consumed: list[str] = Field(default_factory=list[str])
    """A line for each input of the run."""
    queued_wakes: list[ScheduledWake] = Field(default_factory=list[ScheduledWake])
    next_wake_at: str | None = None
    model: str | None = None


class WakeRequest(RequestModel):
    """`POST /agent-sessions/{id}/wake`; with `wait` the answer comes when the run is over."""

    reason: str = Field(default="manual", min_length=1, max_length=200)
    wait: bool = False


class Activation(WireModel):
    """One line of the claim journal of an agent: leased, blocked, acked, requeued or abandoned."""

    seq: int
    kind: str
    claim_id: str
    agent_id: str
    session_id: str
    created_at: str
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])


class ActivationList(WireModel):
    items: list[Activation]
    count: int


class SessionStatus(WireModel):
    """Everything `agent session status` shows, in both vocabularies."""

    session_id: str
    workspace_id: str
    agent_id: str
    environment_id: str
    kind: str
    title: str | None
    status: str
    """idle, running, rescheduling, requires_action or terminated"""
    stop_reason: str | None
    runtime_status: str
    """IDLE, BUSY, WAITING_USER, ERROR, QUEUED or PAUSED"""
    hold: str | None
    last_error: dict[str, Any] | None
    turns: int
    pending_events: int
    next_pending_type: str | None
    next_retry_at: str | None
    retry_attempt: int
    queued_wakes: int
    next_wake_at: str | None
    lease_owner: str | None
    lease_until: str | None
    resources: list[ResourceAttachment]
    pending_actions: list[PendingAction]
    projection: Literal["current", "stale", "none"]
    last_activation: Activation | None
    created_at: str
    updated_at: str
