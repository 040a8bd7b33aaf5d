"""`session.json`, `checkpoint.json` and the two generated notes, from rows of the database.

Pure. `session.json` has the fields that other programs of the format read; what only this program knows lies in its
object `holaboss`. Keys of an imported file that nobody here knows are kept in the session's metadata and stand in the
file again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from holaboss_runtime.agents.documents import encode_document
from holaboss_runtime.store.journal import camel, snake

Fields = dict[str, Any]
Row = Mapping[str, Any]

SUBSTRATE = "agent_workspace_substrate"
WORKSPACE = "session_workspace"
DIRECTORY = "workspace_directory"

FILE_KEYS = "_file"
"""Where the metadata of a session keeps the top-level keys of an imported `session.json` that are not ours."""

NOTES = "agentNotes"
_RENDERED = "_files"

SESSION_KEYS = frozenset(
    {
        "id",
        "agentId",
        "environmentId",
        "status",
        "stopReason",
        "createdAt",
        "updatedAt",
        "usage",
        "resources",
        "pendingCustomToolRequest",
        "pendingToolConfirmationRequest",
        "metadata",
        "rowVersion",
        "holaboss",
    }
)
OWN_COLUMNS = (
    "kind",
    "title",
    "created_by",
    "hold",
    "follow_ups",
    "coalesce",
    "harness_session_id",
    "archived_at",
)
ACTION_COLUMNS = (
    "id",
    "wake_id",
    "kind",
    "call_id",
    "tool_name",
    "input_hash",
    "status",
    "event_id",
    "requested_at",
    "decided_at",
    "decision_event_id",
    "note",
    "reason",
    "expires_at",
)
ACTION_VALUES = ("input", "output", "edited_input")
"""Not the rules that were offered with a request: a file must not be able to offer a person any."""

_SCOPES = {
    WORKSPACE: "session_execution_hand",
    SUBSTRATE: "agent_shared_substrate",
    "learnings_memory_store": "agent_shared_memory",
    "session_runtime_memory": "session_runtime_memory",
}


def session_document(row: Row, actions: Sequence[Row]) -> Fields:
    """`row` is a row of `agent_sessions`, `actions` its unfinished pending actions, oldest first."""
    metadata = cast(Fields, json.loads(row["metadata"]))
    extra = metadata.pop(FILE_KEYS, None)
    if row["parent_session_id"]:
        metadata["parentSessionId"] = row["parent_session_id"]
    own = {camel(name): row[name] for name in OWN_COLUMNS}
    own["lastError"] = None if row["last_error"] is None else json.loads(row["last_error"])
    own["pendingActions"] = [action_document(action) for action in actions]
    document: Fields = {
        "id": row["session_id"],
        "agentId": row["agent_id"],
        "environmentId": row["environment_id"],
        "status": row["status"],
        "stopReason": row["stop_reason"] or "idle",
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
        "usage": {"turns": row["turns"]},
        "resources": [resource_document(resource) for resource in json.loads(row["resources"])],
        "pendingCustomToolRequest": _custom_tool(_newest(actions, "custom_tool")),
        "pendingToolConfirmationRequest": _confirmation(_newest(actions, "tool_confirmation")),
        "metadata": metadata,
        "rowVersion": row["row_version"],
        "holaboss": own,
    }
    return document | (cast(Fields, extra) if isinstance(extra, dict) else {})


def encoded_session(row: Row, actions: Sequence[Row]) -> bytes:
    return encode_document(session_document(row, actions))


def checkpoint_files(row: Row) -> tuple[bytes, bytes | None, bytes | None]:
    """`checkpoint.json`, `session-state.md`, `working-buffer.md`; None for a text nobody rendered. `row` is a row of
    `session_checkpoints`."""
    document = cast(Fields, json.loads(row["document"]))
    found: object = document.pop(_RENDERED, None)
    rendered = cast(Fields, found) if isinstance(found, dict) else {}
    notes = cast(Fields, json.loads(row["notes"]))
    if notes:
        document[NOTES] = notes
    state, buffer = rendered.get("session_state"), rendered.get("working_buffer")
    return encode_document(document), _text(state), _text(buffer)


def checkpoint_row(document: Fields, state: str | None, buffer: str | None) -> tuple[Fields, Fields]:
    """The document and the notes of a checkpoint, from its three files."""
    document = dict(document)
    notes: object = document.pop(NOTES, None)
    rendered = {
        name: text
        for name, text in (("session_state", state), ("working_buffer", buffer))
        if text is not None
    }
    if rendered:
        document[_RENDERED] = rendered
    return document, cast(Fields, notes) if isinstance(notes, dict) else {}


def resource_document(resource: Row) -> Fields:
    kind = resource.get("role") if resource.get("kind") == DIRECTORY else resource.get("kind")
    return {
        "id": resource.get("id"),
        "kind": resource.get("kind"),
        "role": resource.get("role"),
        "sourceRef": resource.get("source_ref"),
        "mountPath": resource.get("mount_path"),
        "access": resource.get("access"),
        "metadata": {"scope": _SCOPES.get(str(kind), str(kind)), "prompt": resource.get("prompt") or ""},
    }


def action_document(row: Row) -> Fields:
    document = {camel(name): row[name] for name in ACTION_COLUMNS}
    values = {name: None if row[name] is None else json.loads(row[name]) for name in ACTION_VALUES}
    return document | {camel(name): value for name, value in values.items()}


def action_row(document: Row) -> Fields:
    """The columns of `pending_actions` that an action in a file gives, values as they are."""
    return {snake(name): value for name, value in document.items()}


def _newest(actions: Sequence[Row], kind: str) -> Row | None:
    waiting = [action for action in actions if action["kind"] == kind and action["status"] == "open"]
    return waiting[-1] if waiting else None


def _custom_tool(action: Row | None) -> Fields | None:
    if action is None:
        return None
    return {
        "id": action["id"],
        "name": action["tool_name"],
        "input": json.loads(action["input"]),
        "requestedAt": action["requested_at"],
    }


def _confirmation(action: Row | None) -> Fields | None:
    if action is None:
        return None
    return {
        "id": action["id"],
        "toolName": action["tool_name"],
        "ownership": "managed",
        "permissionPolicy": "always_ask",
        "input": json.loads(action["input"]),
        "requestedAt": action["requested_at"],
    }


def _text(value: object) -> bytes | None:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
