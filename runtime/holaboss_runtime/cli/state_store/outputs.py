"""Operations on outputs, their folders, and the artifacts that apps make of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.operation import Operation, Reply, record, records
from holaboss_runtime.cli.state_store.request import Request
from holaboss_runtime.cli.state_store.sessions import state
from holaboss_runtime.store.outputs import Output, OutputFolders, Outputs

_TYPES = {"draft": "post", "image": "file", "html": "html"}
_MADE = (
    "title",
    "status",
    "module_id",
    "module_resource_id",
    "file_path",
    "html_content",
    "session_id",
    "input_id",
    "artifact_id",
    "folder_id",
    "platform",
)
_CHANGED = (
    "title",
    "status",
    "module_resource_id",
    "file_path",
    "html_content",
    "metadata",
    "folder_id",
    "platform",
)
_FILTERS = ("output_type", "status", "platform", "folder_id", "session_id", "input_id")


def _create(context: Context, request: Request) -> Reply:
    values = {name: request.optional(name) for name in _MADE}
    made = Outputs(context.database).create(
        request.text("workspace_id"),
        request.text("output_type"),
        id=request.optional("output_id"),
        metadata=request.mapping("metadata"),
        **values,
    )
    return record(made)


def _list(context: Context, request: Request) -> Reply:
    found = Outputs(context.database).page(
        request.text("workspace_id"),
        limit=request.number("limit", 50),
        offset=request.number("offset", 0),
        **{name: request.optional(name) for name in _FILTERS},
    )
    return records(found)


def _get(context: Context, request: Request) -> Reply:
    return record(Outputs(context.database).get(request.text("workspace_id"), request.text("output_id")))


def _update(context: Context, request: Request) -> Reply:
    """What is null stays, except the folder: null takes an output out of it."""
    changes = request.stated(_CHANGED) | request.given(("folder_id",))
    if "metadata" in changes:
        changes["metadata"] = request.mapping("metadata")
    found = Outputs(context.database).update(request.text("workspace_id"), request.text("output_id"), changes)
    return record(found)


def _delete(context: Context, request: Request) -> Reply:
    return Outputs(context.database).delete(request.text("workspace_id"), request.text("output_id"))


def _counts(context: Context, request: Request) -> Reply:
    return asdict(Outputs(context.database).counts(request.text("workspace_id")))


def _create_folder(context: Context, request: Request) -> Reply:
    return record(OutputFolders(context.database).create(request.text("workspace_id"), request.text("name")))


def _list_folders(context: Context, request: Request) -> Reply:
    return records(OutputFolders(context.database).in_order(request.text("workspace_id")))


def _get_folder(context: Context, request: Request) -> Reply:
    return record(
        OutputFolders(context.database).get(request.text("workspace_id"), request.text("folder_id"))
    )


def _update_folder(context: Context, request: Request) -> Reply:
    changes: dict[str, Any] = {}
    if request.optional("name"):
        changes["name"] = request.text("name")
    if request.stated(("position",)):
        changes["position"] = request.number("position", 0)
    found = OutputFolders(context.database).update(
        request.text("workspace_id"), request.text("folder_id"), changes
    )
    return record(found)


def _delete_folder(context: Context, request: Request) -> Reply:
    return OutputFolders(context.database).delete(request.text("workspace_id"), request.text("folder_id"))


def _create_artifact(context: Context, request: Request) -> Reply:
    artifact_type, external_id = request.text("artifact_type"), request.text("external_id")
    metadata = request.mapping("metadata") | {
        "origin_type": "app",
        "change_type": request.optional("change_type") or "created",
        "artifact_type": artifact_type,
        "external_id": external_id,
    }
    made = Outputs(context.database).create(
        request.text("workspace_id"),
        _TYPES.get(artifact_type, "document"),
        title=request.optional("title"),
        status="completed",
        module_id=request.optional("module_id"),
        module_resource_id=request.optional("module_resource_id") or external_id,
        session_id=request.text("session_id"),
        input_id=request.optional("input_id"),
        artifact_id=request.optional("artifact_id"),
        platform=request.optional("platform"),
        metadata=metadata,
    )
    return _artifact(made)


def _list_artifacts(context: Context, request: Request) -> Reply:
    found = Outputs(context.database).page(
        request.text("workspace_id"),
        limit=request.number("limit", 500),
        offset=request.number("offset", 0),
        session_id=request.text("session_id"),
    )
    return [_artifact(item) for item in found]


def _sessions_with_artifacts(context: Context, request: Request) -> Reply:
    """Sessions of a workspace, the most recently used first, each with what it made, the oldest first."""
    workspace_id, offset = request.text("workspace_id"), request.number("offset", 0)
    made = Outputs(context.database)
    replies: list[dict[str, Any]] = []
    for facts in context.facts.of_workspace(workspace_id)[offset : offset + request.number("limit", 20)]:
        shown = state(context, facts.session_id)
        found = made.page(workspace_id, limit=1_000, session_id=facts.session_id)
        replies.append(
            {name: shown[name] for name in ("session_id", "status", "created_at", "updated_at")}
            | {"artifacts": [_artifact(item) for item in reversed(found)]}
        )
    return replies


def _artifact(output: Output) -> dict[str, Any]:
    metadata = output.metadata
    by_type = {"post": "draft", "html": "html"}.get(output.output_type)
    image = "image" if metadata.get("category") == "image" else "document"
    return {
        "id": output.artifact_id or output.id,
        "session_id": output.session_id,
        "workspace_id": output.workspace_id,
        "input_id": output.input_id,
        "artifact_type": metadata.get("artifact_type") or by_type or image,
        "external_id": metadata.get("external_id")
        or output.module_resource_id
        or output.file_path
        or output.artifact_id
        or output.id,
        "platform": output.platform,
        "title": output.title or None,
        "metadata": metadata,
        "created_at": output.created_at,
    }


OPERATIONS = {
    "create-session-artifact": Operation(_create_artifact),
    "list-session-artifacts": Operation(_list_artifacts),
    "list-sessions-with-artifacts": Operation(_sessions_with_artifacts),
    "create-output-folder": Operation(_create_folder),
    "list-output-folders": Operation(_list_folders),
    "get-output-folder": Operation(_get_folder),
    "update-output-folder": Operation(_update_folder),
    "delete-output-folder": Operation(_delete_folder),
    "create-output": Operation(_create),
    "list-outputs": Operation(_list),
    "get-output": Operation(_get),
    "update-output": Operation(_update),
    "delete-output": Operation(_delete),
    "get-output-counts": Operation(_counts),
}
