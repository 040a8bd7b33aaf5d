"""One line for each session event and each line of the claim journal, as scripts read them. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from holaboss_client.agents import INBOUND, Activation, SessionEvent
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.store import activations

Payload = dict[str, Any]


def event_line(event: SessionEvent) -> str:
    """`<createdAt> <type> …`; what is still to be dealt with says `processed=pending`."""
    words = [event.created_at, event.type]
    say = _EVENTS.get(event.type)
    words += say(event.payload) if say is not None else []
    if event.type in INBOUND or event.type in _TRACKED:
        words.append(f"processed={event.processed_at or 'pending'}")
    return " ".join(words)


def activation_line(line: Activation) -> str:
    payload = line.payload
    words = [
        line.created_at,
        f"activation.{line.kind}",
        f"claim={line.claim_id}",
        f"session={line.session_id}",
        f"activationKind={_plain(payload.get('activationKind'))}",
        f"priority={_plain(payload.get('priority'))}",
        f"owner={_plain(payload.get('leaseOwner'))}",
        f"reason={_quoted(payload.get('reason', ''))}",
    ]
    return " ".join(words + _ACTIVATIONS[line.kind](payload))


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _quoted(value: object) -> str:
    return json.dumps("" if value is None else str(value), ensure_ascii=False)


def _plain(value: object) -> str:
    return "none" if value is None else " ".join(str(value).splitlines())


def _given(payload: Payload, **names: str) -> list[str]:
    """`word=value` for what is there."""
    return [
        f"{word}={_plain(payload[name])}" for word, name in names.items() if payload.get(name) is not None
    ]


def _message(payload: Payload) -> list[str]:
    return [_quoted(payload.get("text", payload.get("message")))]


def _outcome(payload: Payload) -> list[str]:
    return [f"title={_quoted(payload.get('title'))}"]


def _interrupt(payload: Payload) -> list[str]:
    return [f"note={_quoted(payload['note'])}"] if payload.get("note") else []


def _confirmation(payload: Payload) -> list[str]:
    allowed = "true" if payload.get("allowed") else "false"
    return [
        _plain(payload.get("tool_name")),
        f"request={_plain(payload.get('request_id'))}",
        f"allowed={allowed}",
    ]


def _custom_result(payload: Payload) -> list[str]:
    return [
        _plain(payload.get("tool_name")),
        f"request={_plain(payload.get('request_id'))}",
        f"output={_quoted(payload.get('output'))}",
    ]


def _child_created(payload: Payload) -> list[str]:
    outcome = [f"outcome={_quoted(payload['outcome_title'])}"] if payload.get("outcome_title") else []
    return [f"child={_plain(payload.get('child_session_id'))}", *outcome]


def _child_idle(payload: Payload) -> list[str]:
    return [
        f"child={_plain(payload.get('child_session_id'))}",
        f"stopReason={_plain(payload.get('child_stop_reason'))}",
        f"cycles={_plain(payload.get('executed_cycles'))}",
        f"summary={_quoted(payload.get('summary'))}",
    ]


def _tool_use(payload: Payload) -> list[str]:
    known = _given(payload, request="request_id", ownership="ownership", permission="permission_policy")
    return [_plain(payload.get("tool_name")), *known]


def _custom_tool_use(payload: Payload) -> list[str]:
    return [
        _plain(payload.get("tool_name")),
        f"request={_plain(payload.get('request_id'))}",
        f"input={compact(payload.get('input', {}))}",
    ]


def _status_changed(payload: Payload) -> list[str]:
    change = f"{_plain(payload.get('from_status'))}->{_plain(payload.get('to_status'))}"
    return [change, f"reason={_plain(payload.get('reason'))}"]


def _status_idle(payload: Payload) -> list[str]:
    blocking = [str(event_id) for event_id in payload.get("blocking_event_ids") or ()]
    words = [f"reason={_plain(payload.get('reason'))}", f"summary={_quoted(payload.get('summary'))}"]
    return [*words, f"blocking={','.join(blocking)}"] if blocking else words


def _span(payload: Payload) -> list[str]:
    name = f"{_plain(payload.get('span_kind'))}/{_plain(payload.get('name'))}"
    return [name, f"span={_plain(payload.get('span_id'))}", *_given(payload, parent="parent_span_id")]


def _span_completed(payload: Payload) -> list[str]:
    summary = [f"summary={_quoted(payload['summary'])}"] if payload.get("summary") else []
    return [*_span(payload), f"result={_plain(payload.get('result'))}", *summary]


def _edited(payload: Payload) -> list[str]:
    return [f"input={_plain(payload.get('input_id'))}", _quoted(payload.get("text"))]


def _cancelled(payload: Payload) -> list[str]:
    return [f"input={_plain(payload.get('input_id'))}"]


_TRACKED = frozenset({Event.AGENT_MESSAGE, Event.SESSION_CHILD_CREATED})

_EVENTS: dict[str, Callable[[Payload], list[str]]] = {
    Event.USER_MESSAGE: _message,
    Event.USER_DEFINE_OUTCOME: _outcome,
    Event.USER_INTERRUPT: _interrupt,
    Event.USER_TOOL_CONFIRMATION: _confirmation,
    Event.USER_CUSTOM_TOOL_RESULT: _custom_result,
    Event.SESSION_WAKE_DUE: _message,
    Event.SESSION_CHILD_CREATED: _child_created,
    Event.SESSION_CHILD_IDLE: _child_idle,
    Event.SESSION_CHILD_RESULTS: _message,
    Event.SESSION_STATUS_CHANGED: _status_changed,
    Event.SESSION_STATUS_IDLE: _status_idle,
    Event.SPAN_STARTED: _span,
    Event.SPAN_COMPLETED: _span_completed,
    Event.AGENT_MESSAGE: _message,
    Event.AGENT_TOOL_USE: _tool_use,
    Event.AGENT_CUSTOM_TOOL_USE: _custom_tool_use,
    Event.USER_MESSAGE_EDITED: _edited,
    Event.USER_MESSAGE_CANCELLED: _cancelled,
}


def _leased(payload: Payload) -> list[str]:
    return [f"note={_quoted(payload.get('note'))}", f"dueAt={_plain(payload.get('dueAt'))}"]


def _blocked(payload: Payload) -> list[str]:
    return [f"blockedReason={_plain(payload.get('blockedReason'))}"]


def _acked(payload: Payload) -> list[str]:
    return [
        f"wakeId={_plain(payload.get('wakeId'))}",
        f"stopReason={_plain(payload.get('stopReason'))}",
        f"queuedWakes={len(payload.get('queuedWakeIds') or ())}",
        f"processedEvents={len(payload.get('processedEventIds') or ())}",
    ]


def _requeued(payload: Payload) -> list[str]:
    return [
        f"immediateRetryAt={_plain(payload.get('immediateRetryAt'))}",
        f"nextQueuedWakeAt={_plain(payload.get('nextQueuedWakeAt'))}",
        f"queuedWakes={len(payload.get('queuedWakeIds') or ())}",
    ]


def _abandoned(payload: Payload) -> list[str]:
    error = payload.get("errorMessage")
    reason = f"abandonReason={_plain(payload.get('abandonReason'))}"
    return [reason, f"error={_quoted(error)}"] if error else [reason]


_ACTIVATIONS: dict[str, Callable[[Payload], list[str]]] = {
    activations.LEASED: _leased,
    activations.BLOCKED: _blocked,
    activations.ACKED: _acked,
    activations.REQUEUED: _requeued,
    activations.ABANDONED: _abandoned,
}
