"""Sessions, the queue and the turns of a transcript, as they travel."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from holaboss_client.attachments import MessageAttachment
from holaboss_client.base import RequestModel, WireModel
from holaboss_client.events import OutputEvent

MAX_TITLE = 1_000
"""Of a session, in characters; what is shown of it is shorter."""


class Session(WireModel):
    workspace_id: str
    session_id: str
    kind: str
    title: str | None = None
    parent_session_id: str | None = None
    source_proposal_id: str | None = None
    agent_id: str | None = None
    environment_id: str | None = None
    created_by: str
    created_at: str
    updated_at: str
    archived_at: str | None = None


class SessionReply(WireModel):
    session: Session


class SessionList(WireModel):
    items: list[Session]
    count: int


class CreateSession(RequestModel):
    """`POST /agent-sessions`: a conversation of a workspace, or with `agent_id` a session of that agent, whose
    workspace need not be named. The agent is made when it does not exist."""

    workspace_id: str | None = None
    agent_id: str | None = None
    environment_id: str | None = None
    session_id: str | None = None
    kind: str = "workspace_session"
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    parent_session_id: str | None = None
    created_by: str = Field(default="workspace_user", max_length=200)


class PatchSession(RequestModel):
    """`PATCH /agent-sessions/{id}`: absent leaves as is."""

    workspace_id: str
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    archived: bool | None = None


class QueueRequest(RequestModel):
    """`POST /agent-sessions/queue`: ask for one turn. Reusing `idempotency_key` returns the first input
    again."""

    workspace_id: str
    session_id: str | None = None
    text: str = ""
    attachments: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]], max_length=100)
    image_urls: list[str] = Field(default_factory=list[str], max_length=100)
    model: str | None = Field(default=None, max_length=500)
    thinking_value: str | None = Field(default=None, max_length=64)
    priority: int = Field(default=0, ge=-(2**31), lt=2**31)
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)


class QueueReply(WireModel):
    input_id: str
    session_id: str
    status: str
    effective_state: str
    runtime_status: str
    current_input_id: str | None
    has_queued_inputs: bool


class EditInput(RequestModel):
    workspace_id: str
    text: str


class WorkspaceRef(RequestModel):
    workspace_id: str


class InputReply(WireModel):
    """`status` is QUEUED, CLAIMED, DONE, FAILED, PAUSED or PAUSING."""

    input_id: str
    session_id: str
    status: str


class SessionState(WireModel):
    """Statuses: IDLE, BUSY, WAITING_USER, ERROR, QUEUED, PAUSED. With a `hold` (`user_pause`) nothing of the queue is
    started until somebody resumes the session or sends another message. `status` says the same in the words of the
    agent layer: idle, running, rescheduling, requires_action, terminated. With `open_actions` nothing but an interrupt
    runs until all of them are decided."""

    workspace_id: str
    session_id: str
    effective_state: str
    runtime_status: str
    current_input_id: str | None = None
    heartbeat_at: str | None = None
    lease_until: str | None = None
    has_queued_inputs: bool = False
    hold: str | None = None
    status: str = "idle"
    stop_reason: str | None = None
    open_actions: int = 0
    next_wake_at: str | None = None
    last_error: dict[str, Any] | None = None
    last_turn_status: str | None = None
    last_turn_completed_at: str | None = None
    last_turn_stop_reason: str | None = None


class SessionStateList(WireModel):
    items: list[SessionState]
    count: int


class HistoryMessage(WireModel):
    """Ids are derived: `user-<input id>` and `assistant-<input id>`."""

    id: str
    role: str
    text: str
    created_at: str
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class History(WireModel):
    workspace_id: str
    session_id: str
    harness: str
    harness_session_id: str | None
    source: str = "sandbox_local_storage"
    messages: list[HistoryMessage]
    count: int
    total: int
    limit: int
    offset: int
    raw: None = None


class QueuedInput(WireModel):
    """An input that waits. It is not part of the transcript until it is claimed."""

    input_id: str
    text: str
    status: str
    created_at: str
    attachments: list[MessageAttachment] = Field(default_factory=list[MessageAttachment])


class TurnIndex(WireModel):
    """`GET /agent-sessions/{id}/turns/index`: enough to lay out a transcript of any length without its text.

    Each row is `[seq, input_id, user_chars, user_lines, answer_chars, answer_lines, steps]`, oldest first;
    `seq` grows with time inside a session. A claimed turn that still runs is the last row, with zeros for
    its answer, and is named by `live_input_id`. Events with an id above `last_event_id` are not contained
    in this snapshot.
    """

    session_id: str
    rows: list[tuple[int, str, int, int, int, int, int]]
    live_input_id: str | None
    queued: list[QueuedInput]
    last_event_id: int


class Turn(WireModel):
    """One claimed input and everything its run said, deltas of one part already joined."""

    seq: int
    input_id: str
    text: str
    status: str
    created_at: str
    events: list[OutputEvent]
    attachments: list[MessageAttachment] = Field(default_factory=list[MessageAttachment])


class TurnPage(WireModel):
    """`GET /agent-sessions/{id}/turns?from_seq=&limit=`: turns with `seq >= from_seq`, oldest first."""

    items: list[Turn]
    last_event_id: int


class TurnResult(WireModel):
    """One row per finished run. `status` is completed, failed, paused or waiting_user; `seq` grows with time inside a
    session. `containment` names what held its commands (`none` for nothing); null when it ran none."""

    seq: int = 0
    input_id: str
    workspace_id: str
    session_id: str
    started_at: str
    completed_at: str | None
    status: str
    stop_reason: str | None
    assistant_text: str
    tool_usage_summary: dict[str, Any]
    permission_denials: list[dict[str, Any]]
    prompt_section_ids: list[str]
    capability_manifest_fingerprint: str | None
    request_snapshot_fingerprint: str | None
    prompt_cache_profile: dict[str, Any] | None
    token_usage: dict[str, Any] | None
    containment: str | None = None
