"""Decisions on what waits for a person: who may decide what, once.

A decision arrives as an inbound event and is written with it in one transaction. Anything that does not match an open
request is refused by name, so that a late or doubled click changes nothing.
"""

from __future__ import annotations

from typing import Any

from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store import pending_actions as store
from holaboss_runtime.store.pending_actions import ActionRecord
from holaboss_runtime.store.records import Records

_ANSWERED_BY = {
    Event.USER_TOOL_CONFIRMATION: store.TOOL_CONFIRMATION,
    Event.USER_CUSTOM_TOOL_RESULT: store.CUSTOM_TOOL,
}


class Actions:
    def __init__(self, records: Records) -> None:
        self._records = records

    def complete(self, session_id: str, event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload with the request it is about spelt out. Raises `DomainError` when there is no such request.

        Without a `request_id` the only open request of the right kind is meant.
        """
        kind = _ANSWERED_BY.get(Event(event_type))
        if kind is None:
            return payload
        action = self._meant(session_id, kind, payload)
        named = payload.get("tool_name")
        if named and named != action.tool_name:
            raise DomainError(
                "conflict",
                "action_mismatch",
                f"Request {action.id} of session {session_id} is about {action.tool_name}, not {named}.",
            )
        return payload | {"request_id": action.id, "tool_name": action.tool_name}

    def decide(self, session_id: str, event_type: str, payload: dict[str, Any], event_id: str) -> None:
        """Carry out a completed decision, in the transaction that appends its event."""
        if event_type == Event.USER_TOOL_CONFIRMATION:
            status, output = (store.APPROVED if payload["allowed"] else store.DENIED), None
        elif event_type == Event.USER_CUSTOM_TOOL_RESULT:
            status, output = store.ANSWERED, payload.get("output")
        else:
            return
        request_id = str(payload["request_id"])
        note = payload.get("note")
        if not self._records.actions.decide(request_id, status, event_id=event_id, note=note, output=output):
            raise _not_open(session_id, request_id)

    def _meant(self, session_id: str, kind: str, payload: dict[str, Any]) -> ActionRecord:
        request_id = payload.get("request_id")
        if request_id is None:
            return self._only_open(session_id, kind)
        action = self._records.actions.get(str(request_id))
        if action is None or action.session_id != session_id or action.kind != kind:
            raise DomainError(
                "conflict",
                "action_not_found",
                f"Session {session_id} has no request {str(request_id)[:80]} of the kind {kind}.",
            )
        if action.status != store.OPEN:
            raise _not_open(session_id, action.id)
        return action

    def _only_open(self, session_id: str, kind: str) -> ActionRecord:
        waiting = [action for action in self._records.actions.open(session_id) if action.kind == kind]
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            raise DomainError(
                "conflict", "action_not_open", f"Session {session_id} waits for no {kind.replace('_', ' ')}."
            )
        ids = ", ".join(action.id for action in waiting)
        raise DomainError(
            "conflict",
            "action_ambiguous",
            f"Session {session_id} waits for several decisions. Name one of them: {ids}.",
        )


def _not_open(session_id: str, request_id: str) -> DomainError:
    return DomainError(
        "conflict",
        "action_not_open",
        f"Request {request_id} of session {session_id} is decided already; nothing was changed.",
    )
