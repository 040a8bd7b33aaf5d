"""Operations on what belongs to one session: its binding, its state, what was said, and the stream of its runs."""

from __future__ import annotations

from typing import Any

from holaboss_client.base import new_id
from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.operation import Operation, Reply, record
from holaboss_runtime.cli.state_store.request import Request, invalid
from holaboss_runtime.errors import not_found
from holaboss_runtime.sessions.state import derive_state
from holaboss_runtime.store.bindings import Bindings
from holaboss_runtime.store.runtime_states import RuntimeStates
from holaboss_runtime.store.session_facts import SessionFacts
from holaboss_runtime.store.sessions import RUNNING, SessionRecord

_ALL = 1_000_000
_SIDES = ("user", "assistant")


def _bind(context: Context, request: Request) -> Reply:
    session = _session(context, request)
    made = Bindings(context.database).put(
        session.workspace_id, session.session_id, request.text("harness"), request.text("harness_session_id")
    )
    return record(made)


def _binding(context: Context, request: Request) -> Reply:
    return record(Bindings(context.database).get(request.text("workspace_id"), request.text("session_id")))


def _ensure_state(context: Context, request: Request) -> Reply:
    workspace_id, session_id = request.text("workspace_id"), request.text("session_id")
    with context.database.transaction():
        if context.sessions.get(session_id) is None:
            context.registry.get(workspace_id)
            context.sessions.create(
                session_id, workspace_id, kind="workspace_session", created_by="state_store"
            )
            if (status := request.optional("status")) is not None:
                RuntimeStates(context.database).set_status(session_id, status)
            context.tell(session_id)
        return state(context, _session(context, request).session_id)


def _update_state(context: Context, request: Request) -> Reply:
    states = RuntimeStates(context.database)
    with context.database.transaction():
        session_id = _session(context, request).session_id
        if "lease_until" in request or "current_worker_id" in request:
            states.lease(session_id, request.optional("current_worker_id"), request.optional("lease_until"))
        states.set_status(session_id, request.text("status"), _error(request))
        context.tell(session_id)
        return state(context, session_id)


def _error(request: Request) -> dict[str, Any] | None:
    value = request.given(("last_error",)).get("last_error")
    return {"message": value} if isinstance(value, str) else request.mapping("last_error") or None


def _list_states(context: Context, request: Request) -> Reply:
    found = context.facts.of_workspace(request.text("workspace_id"))
    return [_state(facts, session) for facts in found if (session := context.sessions.get(facts.session_id))]


def _get_state(context: Context, request: Request) -> Reply:
    session, workspace_id = context.sessions.get(request.text("session_id")), request.optional("workspace_id")
    if session is None or (workspace_id is not None and session.workspace_id != workspace_id):
        return None
    return state(context, session.session_id)


def state(context: Context, session_id: str) -> dict[str, Any]:
    """Raises `DomainError` `session_not_found`."""
    facts, session = context.facts.get(session_id), context.sessions.get(session_id)
    if facts is None or session is None:
        raise not_found("session", session_id)
    return _state(facts, session)


def _state(facts: SessionFacts, session: SessionRecord) -> dict[str, Any]:
    derived = derive_state(facts)
    # A worker of its own has no run that the runtime could see; it says itself that it is busy.
    busy = session.status == RUNNING
    return {
        "workspace_id": session.workspace_id,
        "session_id": session.session_id,
        "status": "BUSY" if busy else derived.runtime_status,
        "current_input_id": derived.current_input_id,
        "current_worker_id": session.lease_owner,
        "lease_until": session.lease_until,
        "heartbeat_at": derived.heartbeat_at,
        "last_error": session.last_error,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }


def _say(context: Context, request: Request) -> Reply:
    session, role = _session(context, request), request.text("role")
    if role not in _SIDES:
        raise invalid(f"'role' is one of {', '.join(_SIDES)}.")
    message_id = request.optional("message_id") or ""
    input_id = request.optional("input_id") or message_id.removeprefix(f"{role}-") or new_id()
    with context.database.transaction():
        context.messages.insert(
            session.workspace_id, session.session_id, input_id, role, request.text("text")
        )
    return {"ok": True, "id": f"{role}-{input_id}"}


def _said(context: Context, request: Request) -> Reply:
    session = _session(context, request)
    found = context.messages.page(
        session.session_id,
        limit=request.number("limit", _ALL),
        offset=request.number("offset", 0),
        newest_first=False,
    )
    return [message.model_dump() for message in found]


def _append(context: Context, request: Request) -> Reply:
    session = _session(context, request)
    event = (request.text("event_type"), request.mapping("payload"))
    context.output_events.append(session.workspace_id, session.session_id, request.text("input_id"), [event])
    return {"ok": True}


def _latest(context: Context, request: Request) -> Reply:
    session_id, input_id = request.text("session_id"), request.optional("input_id")
    if input_id is None:
        return context.output_events.last_id(session_id)
    events = context.output_events.of_inputs([input_id])[input_id]
    return max((event.id for event in events if event.session_id == session_id), default=0)


def _events(context: Context, request: Request) -> Reply:
    session_id, input_id = request.text("session_id"), request.optional("input_id")
    after = request.number("after_event_id", 0)
    if after <= 0 and not request.flag("include_history", default=True):
        return []
    limit = request.number("limit", _ALL)
    found = context.output_events.after(session_id, after, input_id=input_id, limit=limit)
    return [event.model_dump() for event in found]


def _session(context: Context, request: Request) -> SessionRecord:
    """Of the workspace that the request names, if it names one. Raises `DomainError` `session_not_found`."""
    session_id, workspace_id = request.text("session_id"), request.optional("workspace_id")
    found = context.sessions.get(session_id)
    if found is None or (workspace_id is not None and found.workspace_id != workspace_id):
        raise not_found("session", session_id)
    return found


OPERATIONS = {
    "upsert-binding": Operation(_bind),
    "get-binding": Operation(_binding),
    "ensure-runtime-state": Operation(_ensure_state, asks_for_work=True),
    "update-runtime-state": Operation(_update_state, asks_for_work=True),
    "list-runtime-states": Operation(_list_states),
    "get-runtime-state": Operation(_get_state),
    "insert-session-message": Operation(_say),
    "list-session-messages": Operation(_said),
    "append-output-event": Operation(_append, asks_for_work=True),
    "latest-output-event-id": Operation(_latest),
    "list-output-events": Operation(_events),
}
