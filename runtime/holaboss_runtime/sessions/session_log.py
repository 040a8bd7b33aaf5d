"""What the runtime itself writes into the log of a session: states, spans, what the agent said and used.

It only words events; when they are written is decided by whoever claims or commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.runs.turn_fold import result_text
from holaboss_runtime.store.pending_actions import ActionRecord
from holaboss_runtime.store.records import Records

SHOWN_OUTPUT = 4_000
"""Characters of a tool's output that the log keeps; the output events have all of it."""


class SessionLog:
    def __init__(self, records: Records) -> None:
        self._records = records

    def status_changed(
        self, session_id: str, before: str, after: str, reason: str, wake_id: str | None = None
    ) -> None:
        payload = {"from_status": before, "to_status": after, "reason": reason}
        self._records.events.append(session_id, Event.SESSION_STATUS_CHANGED, payload, wake_id=wake_id)

    def idle(
        self,
        session_id: str,
        reason: str,
        summary: str,
        *,
        blocking: Iterable[str] = (),
        wake_id: str | None = None,
    ) -> None:
        """The session rests, or, with `blocking`, waits for what these events ask."""
        payload = {"reason": reason, "summary": summary, "blocking_event_ids": list(blocking) or None}
        self._records.events.append(session_id, Event.SESSION_STATUS_IDLE, payload, wake_id=wake_id)

    def wake_started(self, session_id: str, wake_id: str, reason: str) -> None:
        payload = _span(wake_id, "wake", "session_run", reason)
        self._records.events.append(session_id, Event.SPAN_STARTED, payload, wake_id=wake_id)

    def wake_completed(
        self, session_id: str, wake_id: str, result: str, summary: str | None, problems: Sequence[str] = ()
    ) -> None:
        """`problems` say what the agent asked for in a way that could not be used."""
        payload = _span(wake_id, "wake", "session_run", summary) | {"result": result}
        if problems:
            payload["problems"] = list(problems)
        self._records.events.append(session_id, Event.SPAN_COMPLETED, payload, wake_id=wake_id)

    def tool_used(
        self, session_id: str, wake_id: str, call: dict[str, Any], *, action: ActionRecord | None, spans: bool
    ) -> None:
        """`call` is what the run's events say of one call, `action` the request a person decided about it; `spans` also
        brackets it, for those who read traces. Where a person changed the arguments, what was asked stands beside what
        was done."""
        name, call_id = str(call.get("tool_name", "")), str(call.get("call_id", ""))
        span = _span(call_id, "tool", name, None) | {"parent_span_id": wake_id}
        if spans:
            self._records.events.append(session_id, Event.SPAN_STARTED, span, wake_id=wake_id)
        payload = {
            "request_id": None if action is None else action.id,
            "call_id": call_id,
            "tool_name": name,
            "ownership": "managed",
            "permission_policy": "always_allow" if action is None else "always_ask",
            "input": call.get("tool_args"),
            "output": result_text(call.get("result"))[:SHOWN_OUTPUT],
        }
        if action is not None and action.edited_input is not None:
            payload["asked_input"] = action.input
        self._records.events.append(session_id, Event.AGENT_TOOL_USE, payload, wake_id=wake_id)
        if spans:
            result = "error" if call.get("error") else "success"
            self._records.events.append(
                session_id, Event.SPAN_COMPLETED, span | {"result": result}, wake_id=wake_id
            )

    def agent_said(self, session_id: str, wake_id: str, input_id: str, message: str, summary: str) -> None:
        payload = {"message": message, "summary": summary, "input_id": input_id}
        self._records.events.append(session_id, Event.AGENT_MESSAGE, payload, wake_id=wake_id)

    def tool_blocked(
        self,
        session_id: str,
        wake_id: str,
        *,
        event_id: str,
        request_id: str,
        call_id: str | None,
        tool_name: str,
        arguments: dict[str, Any],
    ) -> None:
        payload = {
            "request_id": request_id,
            "call_id": call_id,
            "tool_name": tool_name,
            "ownership": "managed",
            "permission_policy": "always_ask",
            "input": arguments,
            "output": None,
        }
        self._records.events.append(
            session_id, Event.AGENT_TOOL_USE, payload, wake_id=wake_id, event_id=event_id
        )

    def custom_tool_asked(
        self,
        session_id: str,
        wake_id: str,
        *,
        event_id: str,
        request_id: str,
        tool_name: str,
        arguments: dict[str, Any],
    ) -> None:
        payload = {"request_id": request_id, "tool_name": tool_name, "input": arguments}
        self._records.events.append(
            session_id, Event.AGENT_CUSTOM_TOOL_USE, payload, wake_id=wake_id, event_id=event_id
        )


def _span(span_id: str, kind: str, name: str, summary: str | None) -> dict[str, Any]:
    return {"span_id": span_id, "parent_span_id": None, "span_kind": kind, "name": name, "summary": summary}
