"""Events of a run become the state of a turn: the one place where that happens, for live and for history
alike.

Every delta says where it belongs (`content_index`, `offset`), so the same events give the same state in any
order, however often they are repeated, merged with their neighbours or cut into pages. Text that arrives
ahead of what it follows is held until the gap is filled. Nothing here knows how a turn looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias, cast

from holaboss_client.attachments import MessageAttachment
from holaboss_client.events import DELTA_EVENTS, OutputEvent, RunEvent


class Status(StrEnum):
    """Where a turn stands. The last four are final."""

    WAITING = "waiting"
    """Queued, or not claimed yet."""
    RUNNING = "running"
    RETRYING = "retrying"
    COMPLETED = "completed"
    PAUSED = "paused"
    WAITING_USER = "waiting_user"
    FAILED = "failed"


FINAL = frozenset({Status.COMPLETED, Status.PAUSED, Status.WAITING_USER, Status.FAILED})
MOST_NOTICES, LONGEST_NOTICE = 20, 1_000
_COMPLETIONS = {"paused": Status.PAUSED, "waiting_user": Status.WAITING_USER}
StepState = Literal["running", "waiting", "asked", "done", "failed", "interrupted"]
"""A call that waits becomes `asked` once a later turn has taken it up."""


@dataclass(slots=True)
class TextSegment:
    """One part of prose (`thinking` or not). `text` only ever grows, and never has a gap in it."""

    content_index: int
    thinking: bool
    text: str = ""
    _ahead: dict[int, str] = field(default_factory=dict[int, str])

    def place(self, offset: int, delta: str) -> None:
        """Put `delta` where it belongs; offsets count characters."""
        if offset > len(self.text):
            if len(delta) > len(self._ahead.get(offset, "")):
                self._ahead[offset] = delta
            return
        self.text += delta[len(self.text) - offset :]
        while self._ahead and (nearest := min(self._ahead)) <= len(self.text):
            held = self._ahead.pop(nearest)
            self.text += held[len(self.text) - nearest :]


@dataclass(slots=True)
class ToolSegment:
    """One tool call. `arguments`, `result` and `details` are what the events carried, already bounded by the runtime.

    `reason` says why a call waits or was refused, `containment` what held a command, `denied` that a rule refused it.
    """

    content_index: int
    call_id: str
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result: str = ""
    state: StepState = "running"
    started_at: str = ""
    ended_at: str = ""
    changed_paths: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    containment: str = ""
    reason: str = ""
    denied: bool = False


Segment: TypeAlias = TextSegment | ToolSegment


@dataclass(frozen=True, slots=True)
class TurnError:
    """Why a run failed. `code` is stable (`provider_key_missing`, `bad_key`, `interrupted`, …)."""

    code: str
    message: str
    provider_id: str | None
    model_id: str | None


@dataclass(frozen=True, slots=True)
class RunNotice:
    """What a person should know of a run that goes on: `server` is the MCP server it is about, `state` its state, and
    both are empty for anything else. Codes are stable (`mcp_needs_consent`, …)."""

    code: str
    message: str
    server: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """Another attempt is about to be made: its number (the very first attempt is 1), in how many seconds, and
    why."""

    attempt: int
    attempts: int
    """How many there may be; 0 when that is not known."""
    delay_s: float
    message: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a run, and how often the model was asked (0 when that was not said)."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    requests: int = 0


class TurnState:
    """One turn: what the person said, and everything the run answered so far."""

    def __init__(self, input_id: str, text: str = "") -> None:
        self.input_id = input_id
        self.text = text
        self.attachments: tuple[MessageAttachment, ...] = ()
        self.status = Status.WAITING
        self.provider_id: str | None = None
        self.model_id: str | None = None
        self.error: TurnError | None = None
        self.usage: Usage | None = None
        self.retry: Retry | None = None
        self.started_at = ""
        self.ended_at = ""
        self._parts: dict[tuple[int, str], Segment] = {}
        self._notices: dict[int, RunNotice] = {}
        self._log: list[OutputEvent] = []
        self._retried_at = -1
        self._status_at = -1

    @property
    def segments(self) -> list[Segment]:
        """Parts in the order they began, without those that are still empty."""
        parts = (self._parts[key] for key in sorted(self._parts))
        return [part for part in parts if isinstance(part, ToolSegment) or part.text]

    @property
    def notices(self) -> list[RunNotice]:
        """In the order they were said, each once."""
        return list(dict.fromkeys(self._notices[sequence] for sequence in sorted(self._notices)))

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def answer(self) -> str:
        """The whole answer as Markdown, without thinking and tools."""
        texts = (part.text for part in self.segments if isinstance(part, TextSegment) and not part.thinking)
        return "\n\n".join(text.strip("\n") for text in texts)

    def take_up(self) -> bool:
        """A later turn goes on with what waited here; True when something did."""
        waiting = [tool for tool in self.tools if tool.state == "waiting"]
        for tool in waiting:
            tool.state = "asked"
        return bool(waiting)

    @property
    def tools(self) -> list[ToolSegment]:
        return [part for part in self.segments if isinstance(part, ToolSegment)]

    @property
    def changed_paths(self) -> tuple[str, ...]:
        """The files its tools say they changed, in the order they did."""
        return tuple(dict.fromkeys(path for tool in self.tools for path in tool.changed_paths))

    @property
    def answer_length(self) -> int:
        """Characters of the answer so far."""
        parts = self._parts.values()
        return sum(len(part.text) for part in parts if isinstance(part, TextSegment) and not part.thinking)

    @property
    def duration_s(self) -> float | None:
        """From claim to end, in seconds; null while it runs."""
        return _seconds_between(self.started_at, self.ended_at)

    def extend(self, events: Iterable[OutputEvent]) -> None:
        for event in events:
            self.apply(event)

    def apply(self, event: OutputEvent) -> None:
        """Take one event. Types this program does not know change nothing."""
        kind = event.event_type
        if kind in DELTA_EVENTS or kind == RunEvent.TOOL_CALL:
            if event.sequence > self._retried_at:
                self._log.append(event)
                self._place(event)
        elif kind == RunEvent.RUN_NOTICE:
            if event.sequence > self._retried_at:
                self._keep_notice(event)
        elif kind == RunEvent.RUN_RETRYING:
            self._start_over(event)
            self._note(event)
        elif kind in _STATUS_EVENTS:
            self._note(event)

    def _start_over(self, event: OutputEvent) -> None:
        """A new attempt: what the earlier one produced is void, also when this event arrives late."""
        self._retried_at = max(self._retried_at, event.sequence)
        self._log = [earlier for earlier in self._log if earlier.sequence > self._retried_at]
        self._parts.clear()
        self._notices = {at: notice for at, notice in self._notices.items() if at > self._retried_at}
        for earlier in self._log:
            self._place(earlier)

    def _keep_notice(self, event: OutputEvent) -> None:
        """The newest ones, so that whatever order they come in leaves the same."""
        payload = event.payload
        message = " ".join(str(payload.get("message") or "").split())[:LONGEST_NOTICE]
        if message:
            self._notices[event.sequence] = RunNotice(
                code=str(payload.get("code") or ""),
                message=message,
                server=str(payload.get("mcp_server_id") or ""),
                state=str(payload.get("state") or ""),
            )
        if len(self._notices) > MOST_NOTICES:
            del self._notices[min(self._notices)]

    def _place(self, event: OutputEvent) -> None:
        payload = event.payload
        index = _whole_number(payload.get("content_index"))
        if event.event_type == RunEvent.TOOL_CALL:
            call_id = str(payload.get("call_id") or index)
            tool = self._parts.setdefault((index, f"tool {call_id}"), ToolSegment(index, call_id))
            _update_tool(cast(ToolSegment, tool), event)
            if self.is_final:
                _interrupt(tool)
            return
        thinking = event.event_type == RunEvent.THINKING_DELTA
        key = (index, "thinking" if thinking else "text")
        segment = cast(TextSegment, self._parts.setdefault(key, TextSegment(index, thinking)))
        segment.place(_whole_number(payload.get("offset")), str(payload.get("delta") or ""))

    def _note(self, event: OutputEvent) -> None:
        """Status, model and outcome: the event with the highest sequence decides."""
        payload = event.payload
        if event.event_type == RunEvent.RUN_STARTED:
            self.provider_id = _text_or_none(payload.get("provider_id")) or self.provider_id
            self.model_id = _text_or_none(payload.get("model_id")) or self.model_id
        if event.event_type in (RunEvent.RUN_CLAIMED, RunEvent.RUN_STARTED):
            self.started_at = min(filter(None, (self.started_at, event.created_at)), default="")
        if event.sequence < self._status_at:
            return
        self._status_at = event.sequence
        self.status = _status(event)
        self.retry = _retry(payload) if self.status is Status.RETRYING else None
        self.error = _error(payload) if self.status is Status.FAILED else None
        if self.is_final:
            self.ended_at = event.created_at
            self.usage = _usage(payload.get("usage"))
            for part in self._parts.values():
                _interrupt(part)


_STATUS_EVENTS = frozenset(
    {RunEvent.RUN_CLAIMED, RunEvent.RUN_STARTED, RunEvent.RUN_COMPLETED, RunEvent.RUN_FAILED}
)


def _update_tool(tool: ToolSegment, event: OutputEvent) -> None:
    payload = event.payload
    tool.name = str(payload.get("tool_name") or tool.name)
    if arguments := _mapping(payload.get("tool_args")):
        tool.arguments = arguments
    if payload.get("phase") == "started":
        tool.started_at = event.created_at
        return
    if payload.get("phase") == "blocked":  # nothing was done; somebody has to decide first
        if tool.state != "asked":  # told again, after a later turn has taken it up
            tool.state = "waiting"
        tool.reason = str(payload.get("reason") or "")
        return
    tool.ended_at = event.created_at
    tool.state = "failed" if payload.get("error") else "done"
    tool.result = result_text(payload.get("result")) or _error_text(payload.get("error"))
    result = _mapping(payload.get("result"))
    tool.details = _mapping(result.get("details"))
    tool.containment = str(result.get("containment") or "")
    if denied := payload.get("denied"):
        tool.reason, tool.denied = str(denied), True
    tool.changed_paths = tuple(str(path) for path in cast(list[Any], payload.get("changed_paths") or []))


def _interrupt(part: Segment) -> None:
    if isinstance(part, ToolSegment) and part.state == "running":
        part.state = "interrupted"


def _status(event: OutputEvent) -> Status:
    match event.event_type:
        case RunEvent.RUN_RETRYING:
            return Status.RETRYING
        case RunEvent.RUN_FAILED:
            return Status.FAILED
        case RunEvent.RUN_COMPLETED:
            return _COMPLETIONS.get(str(event.payload.get("status")), Status.COMPLETED)
        case _:
            return Status.RUNNING


def _error(payload: Mapping[str, Any]) -> TurnError:
    return TurnError(
        code=str(payload.get("type") or "error"),
        message=str(payload.get("message") or ""),
        provider_id=_text_or_none(payload.get("provider_id")),
        model_id=_text_or_none(payload.get("model_id")),
    )


def _retry(payload: Mapping[str, Any]) -> Retry:
    # The wire counts repetitions; a person counts attempts.
    return Retry(
        attempt=_whole_number(payload.get("attempt")) + 1,
        attempts=_whole_number(payload.get("attempts")),
        delay_s=_number(payload.get("delay_s")),
        message=str(payload.get("message") or ""),
    )


def _usage(value: object) -> Usage | None:
    numbers = _mapping(value)
    if not numbers:
        return None
    return Usage(
        input_tokens=_whole_number(numbers.get("input_tokens")),
        output_tokens=_whole_number(numbers.get("output_tokens")),
        cached_input_tokens=_whole_number(numbers.get("cached_input_tokens")),
        requests=_whole_number(numbers.get("requests")),
    )


def result_text(value: object) -> str:
    """What a tool answered, as text: `{"content": [{"type": "text", "text": …}]}`, or anything simpler."""
    if isinstance(value, str):
        return value
    content = _mapping(value).get("content")
    if not isinstance(content, list):
        return "" if value is None or isinstance(value, dict) else str(value)
    pieces = (_mapping(piece).get("text") for piece in cast(list[object], content))
    return "\n".join(str(piece) for piece in pieces if piece)


def _error_text(value: object) -> str:
    return value if isinstance(value, str) else str(_mapping(value).get("message") or "")


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _whole_number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _text_or_none(value: object) -> str | None:
    return str(value) if value else None


def _seconds_between(start: str, end: str) -> float | None:
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except ValueError:
        return None
