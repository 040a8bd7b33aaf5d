"""What waits in an imported session: wishes to be woken, and requests that a person or a program has to decide."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.sessions.projections.documents import ACTION_COLUMNS, action_row
from holaboss_runtime.sessions.projections.reading import SessionFiles
from holaboss_runtime.sessions.projections.values import object_of, text_of, time_of
from holaboss_runtime.store import pending_actions
from holaboss_runtime.store.json_text import encode, encode_optional
from holaboss_runtime.store.session_wakes import CANCELLED as WAKE_CANCELLED

Fields = dict[str, Any]
_PRIORITIES = frozenset({"low", "normal", "high"})
_ACTION_STATUSES = frozenset(
    {
        pending_actions.OPEN,
        pending_actions.APPROVED,
        pending_actions.DENIED,
        pending_actions.ANSWERED,
        pending_actions.CANCELLED,
        pending_actions.EXPIRED,
    }
)


def waking_rows(files: SessionFiles, now: str, *, ended: bool) -> list[Fields]:
    rows: list[Fields] = []
    waiting: set[str] = set()
    path = files.path / "wake-queue.jsonl"
    for wake_id, wake in files.wakes.items():
        due, reason = time_of(wake.get("dueAt")), text_of(wake.get("reason"))
        if due is None or reason is None:
            files.problem(path, "wake_unreadable", f"The wake {wake_id[:80]!r} lacks a due time or a reason.")
            continue
        created = time_of(wake.get("createdAt")) or now
        key, completed, outcome = (
            text_of(wake.get("dedupeKey")),
            time_of(wake.get("completedAt")),
            wake.get("outcome"),
        )
        twice = completed is None and key is not None and key in waiting
        if ended or twice:
            completed, outcome = completed or now, outcome or WAKE_CANCELLED
        if twice:
            files.problem(
                path, "wake_duplicate", f"The wake {wake_id[:80]!r} waited twice; the first one stays."
            )
        if completed is None and key is not None:
            waiting.add(key)
        priority = wake.get("priority")
        rows.append(
            {
                "id": wake_id,
                "session_id": files.session_id,
                "due_at": due,
                "reason": reason,
                "note": text_of(wake.get("note")),
                "dedupe_key": key,
                "priority": priority if priority in _PRIORITIES else "normal",
                "created_at": created,
                "completed_at": completed,
                "outcome": text_of(outcome),
            }
        )
    return rows


def action_rows(files: SessionFiles, events: Sequence[Fields], now: str) -> list[Fields]:
    document = files.document or {}
    own: object = object_of(document.get("holaboss")).get("pendingActions")
    if isinstance(own, list):
        listed = [action_row(object_of(item)) for item in cast("list[object]", own)]
        listed = [row for row in listed if text_of(row.get("id")) and row.get("status") in _ACTION_STATUSES]
    else:
        listed = [
            row
            for kind, name in (
                (pending_actions.TOOL_CONFIRMATION, "pendingToolConfirmationRequest"),
                (pending_actions.CUSTOM_TOOL, "pendingCustomToolRequest"),
            )
            if (row := _requested(kind, object_of(document.get(name)), events)) is not None
        ]
    return [_action(files.session_id, row, now) for row in listed]


def _requested(kind: str, request: Fields, events: Sequence[Fields]) -> Fields | None:
    """A request in the shape of the older files, with the decision that may wait for it already."""
    request_id = text_of(request.get("id"))
    tool = text_of(request.get("toolName")) or text_of(request.get("name"))
    if request_id is None or tool is None:
        return None
    asked = [event for event in events if event["payload"].get("request_id") == request_id]
    row: Fields = {
        "id": request_id,
        "kind": kind,
        "tool_name": tool,
        "input": request.get("input"),
        "requested_at": request.get("requestedAt"),
        "status": pending_actions.OPEN,
    }
    for event in asked:
        payload = event["payload"]
        decided = {"decided_at": event["created_at"], "decision_event_id": event["event_id"]}
        if event["type"] == Event.USER_TOOL_CONFIRMATION:
            allowed = payload.get("allowed") is True
            status = pending_actions.APPROVED if allowed else pending_actions.DENIED
            row |= decided | {"status": status, "note": payload.get("note")}
        elif event["type"] == Event.USER_CUSTOM_TOOL_RESULT:
            row |= decided | {"status": pending_actions.ANSWERED, "output": payload.get("output")}
        else:
            row |= {"wake_id": event["wake_id"], "event_id": event["event_id"]}
    return row


def _action(session_id: str, row: Fields, now: str) -> Fields:
    text = encode(object_of(row.get("input")))
    columns = {name: text_of(row.get(name)) for name in ACTION_COLUMNS}
    return columns | {
        "session_id": session_id,
        "wake_id": columns["wake_id"] or "",
        "event_id": columns["event_id"] or "",
        "kind": columns["kind"] or pending_actions.TOOL_CONFIRMATION,
        "tool_name": columns["tool_name"] or "",
        "input": text,
        "input_hash": hashlib.sha256(text.encode()).hexdigest(),
        "requested_at": time_of(row.get("requested_at")) or now,
        "output": encode_optional(row.get("output")),
        "reason": columns["reason"] or "",
        "expires_at": time_of(row.get("expires_at")),
        "edited_input": encode_optional(object_of(row.get("edited_input")) or None),
    }
