"""What the context of an agent session is made from, and what comes out: plain data that others have read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from holaboss_client.agents import PendingAction, ResourceAttachment, ScheduledWake, SessionEvent
from holaboss_runtime.runs.agent_context.budget import DEFAULT_WINDOW_TOKENS
from holaboss_runtime.runs.sections import Prompt

ToolUse = Literal["always_allow", "always_ask", "deny", "custom"]


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """Everything one wake of an agent session may show to the model.

    - `now`: ISO-8601 UTC. `provider`, `model`, `environment`: words for a sentence. `posture`: one sentence about what
      the environment allows and what this machine cannot enforce.
    - `substrate`: names and texts of the files about the agent, in the order in which they are shown.
    - `pending`: the events of this wake in the order of `seq`. `decided`: ids of those among them whose decision or
      result is handed to the executor as the answer of an open call; they are not told a second time.
    - `due_wakes`: all wakes that are due, also those a `session.wake_due` event names.
    - `open_actions`: what still waits for a person after this wake's events.
    - `checkpoint`: the document of the last commit (`runs.continuity`), `notes`: the agent's own notes by the names
      `session_state` and `working_buffer`, `learnings`: titles, newest first.
    - `previous`: earlier events in the order of `seq`; the newest 200 are plenty.
    - `executor_remembers`: the executor gets its own conversation up to the last turn, so that nothing of it has to
      be retold here. When it does not, `remembered_seq` is the newest event it does remember, 0 for nothing.
    - `tool_schema_tokens`: measured size of the tool schemas, None to estimate it from the number of tools.
    """

    agent_id: str
    session_id: str
    now: str
    provider: str
    model: str
    environment: str
    posture: str = ""
    substrate: tuple[tuple[str, str], ...] = ()
    resources: tuple[ResourceAttachment, ...] = ()
    tools: tuple[tuple[str, ToolUse], ...] = ()
    skills: tuple[tuple[str, str], ...] = ()
    previous_stop_reason: str | None = None
    parent_session_id: str | None = None
    child_count: int = 0
    pending: tuple[SessionEvent, ...] = ()
    decided: frozenset[str] = frozenset()
    due_wakes: tuple[ScheduledWake, ...] = ()
    open_actions: tuple[PendingAction, ...] = ()
    checkpoint: Mapping[str, Any] | None = None
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    learnings: tuple[str, ...] = ()
    previous: tuple[SessionEvent, ...] = ()
    executor_remembers: bool = True
    remembered_seq: int = 0
    window_tokens: int = DEFAULT_WINDOW_TOKENS
    tool_schema_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AgentContext:
    """`prompt` has the system prompt and the context messages, `instruction` is the newest user message; it is empty
    when the executor only has to go on with the decisions it gets.

    - `cursor`: id of the last earlier event that is covered, for `eventCursor.lastContextEventId` of the checkpoint.
    - `shown`: fingerprints of what is not told again while it stays the same, for `shown` of the checkpoint.
    - `history_chars`: what is left in the window for the executor's own conversation.
    """

    prompt: Prompt
    instruction: str
    cursor: str | None
    shown: dict[str, str]
    history_chars: int
