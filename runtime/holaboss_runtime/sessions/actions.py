"""Decisions on what waits for a person: who may decide what, once.

A decision arrives as an inbound event and is written with it in one transaction. Anything that does not match an open
request is refused by name, so that a late or doubled click changes nothing.
"""

from __future__ import annotations

from typing import Any

from holaboss_client.agents import SessionEventType as Event
from holaboss_client.base import utc_now
from holaboss_client.permissions import RuleText
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.answers import answer_to, is_suggested
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store import pending_actions as store
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.pending_actions import ActionRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord

_ANSWERED_BY = {
    Event.USER_TOOL_CONFIRMATION: (store.TOOL_CONFIRMATION,),
    Event.USER_CUSTOM_TOOL_RESULT: (store.CUSTOM_TOOL, store.QUESTION),
}
SEE_FILES = "See the attached files."

Payload = dict[str, Any]


class Actions:
    def __init__(self, records: Records, publisher: Publisher) -> None:
        self._records = records
        self._publish = publisher

    def complete(self, session: SessionRecord, event_type: str, payload: Payload) -> tuple[str, Payload]:
        """The event with the request it is about spelt out, checked against that request.

        Without a `request_id` the only open request of the right kind is meant. A message in a conversation where
        one question is open and nothing else is the answer to it. Raises `DomainError` when there is no such request,
        or when it cannot be decided like this.
        """
        if event_type == Event.USER_MESSAGE:
            return self._perhaps_an_answer(session, payload)
        kinds = _ANSWERED_BY.get(Event(event_type))
        if kinds is None:
            return event_type, payload
        action = self._meant(session.session_id, kinds, payload)
        named = payload.get("tool_name")
        if named and named != action.tool_name:
            raise DomainError(
                "conflict",
                "action_mismatch",
                f"Request {action.id} of session {action.session_id} is about {action.tool_name}, not {named}.",
            )
        said = payload | {"request_id": action.id, "tool_name": action.tool_name}
        if action.kind == store.TOOL_CONFIRMATION:
            _refuse_late(action, payload)
            return event_type, _confirmed(action, said)
        return event_type, _answered(action, said)

    def decide(self, session: SessionRecord, event_type: str, payload: Payload, event_id: str) -> None:
        """Carry out a completed decision, in the transaction that appends its event."""
        if event_type not in _ANSWERED_BY:
            return
        request_id = str(payload["request_id"])
        decided = self._records.actions.decide(
            request_id,
            _status(event_type, payload),
            event_id=event_id,
            note=payload.get("note"),
            output=payload.get("output"),
            edited_input=payload.get("input"),
        )
        if not decided:
            raise _not_open(self._require(session.session_id, request_id))
        if payload.get("remember"):
            rule = RuleText.model_validate(payload["remember"])
            self._records.permissions.keep(session.workspace_id, rule, action_id=request_id)
            self._publish.permissions(session.workspace_id)

    def _perhaps_an_answer(self, session: SessionRecord, payload: Payload) -> tuple[str, Payload]:
        """The sessions of agents take every message for what it says: theirs may come from anywhere."""
        waiting = self._records.actions.open(session.session_id)
        if session.agent_id is not None or [action.kind for action in waiting] != [store.QUESTION]:
            return Event.USER_MESSAGE, payload
        (question,) = waiting
        more = {name: payload[name] for name in payload if name != "text"}
        said = {"output": str(payload.get("text", "")).strip() or SEE_FILES, "request_id": question.id}
        said["tool_name"] = question.tool_name
        return Event.USER_CUSTOM_TOOL_RESULT, more | _answered(question, said)

    def _meant(self, session_id: str, kinds: tuple[str, ...], payload: Payload) -> ActionRecord:
        request_id = payload.get("request_id")
        if request_id is None:
            return self._only_open(session_id, kinds)
        action = self._records.actions.get(str(request_id))
        if action is None or action.session_id != session_id or action.kind not in kinds:
            raise DomainError(
                "conflict",
                "action_not_found",
                f"Session {session_id} has no request {str(request_id)[:80]} of the kind {' or '.join(kinds)}.",
            )
        if action.status != store.OPEN:
            raise _not_open(action)
        return action

    def _only_open(self, session_id: str, kinds: tuple[str, ...]) -> ActionRecord:
        waiting = [action for action in self._records.actions.open(session_id) if action.kind in kinds]
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            named = " or ".join(kind.replace("_", " ") for kind in kinds)
            raise DomainError("conflict", "action_not_open", f"Session {session_id} waits for no {named}.")
        ids = ", ".join(action.id for action in waiting)
        raise DomainError(
            "conflict",
            "action_ambiguous",
            f"Session {session_id} waits for several decisions. Name one of them: {ids}.",
        )

    def _require(self, session_id: str, request_id: str) -> ActionRecord:
        found = self._records.actions.get(request_id)
        if found is None:
            raise RuntimeError(f"request {request_id} of session {session_id} vanished inside a transaction")
        return found


def _refuse_late(action: ActionRecord, payload: Payload) -> None:
    """Time decides also where nobody has looked at the clock yet: a machine sleeps, a runtime is not always there."""
    over = action.expires_at is not None and action.expires_at <= utc_now()
    if over and not payload.get("expired"):
        raise DomainError(
            "conflict",
            "action_not_open",
            f"Request {action.id} of session {action.session_id} has expired. Nothing was changed; ask the agent"
            " again.",
            decision=store.EXPIRED,
            decided_at=action.expires_at,
        )


def _confirmed(action: ActionRecord, payload: Payload) -> Payload:
    """Arguments that were not changed are no edit. A rule to keep must be one that was offered."""
    edited, rule = payload.get("input"), payload.get("remember")
    if rule is not None and not is_suggested(RuleText.model_validate(rule), action.suggestions):
        raise DomainError(
            "conflict",
            "rule_not_suggested",
            f"Request {action.id} does not offer this rule. Keep one of its suggestions or a narrower one, or make"
            " the rule in the permissions of the workspace.",
        )
    said = {name: value for name, value in payload.items() if name != "input"}
    return said if edited in (None, action.input) else said | {"input": edited, "asked_input": action.input}


def _answered(action: ActionRecord, payload: Payload) -> Payload:
    output = payload.get("output")
    if action.kind == store.QUESTION:
        return payload | {"kind": store.QUESTION, "output": answer_to(action.input, output)}
    return payload | {"output": output if isinstance(output, str) else encode(output)}


def _status(event_type: str, payload: Payload) -> str:
    if event_type == Event.USER_CUSTOM_TOOL_RESULT:
        return store.ANSWERED
    if payload.get("expired"):
        return store.EXPIRED
    return store.APPROVED if payload["allowed"] else store.DENIED


def _not_open(action: ActionRecord) -> DomainError:
    return DomainError(
        "conflict",
        "action_not_open",
        f"Request {action.id} of session {action.session_id} is decided already: it was {action.status}. Nothing was"
        " changed.",
        decision=action.status,
        decided_at=action.decided_at,
    )
