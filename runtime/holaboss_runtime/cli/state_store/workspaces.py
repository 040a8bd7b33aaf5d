"""Operations on workspaces."""

from __future__ import annotations

import asyncio

from holaboss_client.workspaces import CreateWorkspace, PatchWorkspace
from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.operation import Operation, Reply
from holaboss_runtime.cli.state_store.request import Request, invalid

_ALL = 1_000_000
_PATCHED = ("name", "status", "error_message", "icon", "icon_color", "workspace_path")
_ONBOARDING = (
    "onboarding_status",
    "onboarding_session_id",
    "onboarding_completed_at",
    "onboarding_completion_summary",
    "onboarding_requested_at",
    "onboarding_requested_by",
)
_CREATED = (
    "name",
    "harness",
    "workspace_id",
    "status",
    "workspace_path",
    "error_message",
    "onboarding_status",
)


def _folder(context: Context, request: Request) -> Reply:
    return str(context.registry.folder(request.text("workspace_id")))


def _create(context: Context, request: Request) -> Reply:
    for name in _CREATED:
        request.optional(name)
    request.text("name")
    body = CreateWorkspace.model_validate(request.stated(_CREATED))
    return asyncio.run(context.registry.create(body)).model_dump()


def _list(context: Context, request: Request) -> Reply:
    found = context.registry.list(
        limit=request.number("limit", _ALL),
        offset=request.number("offset", 0),
        status=request.optional("status"),
        include_deleted=request.flag("include_deleted"),
        include_agents=request.flag("include_agents"),
    )
    return [item.model_dump() for item in found.items]


def _get(context: Context, request: Request) -> Reply:
    wanted, deleted = request.text("workspace_id"), request.flag("include_deleted")
    found = context.registry.find(wanted, include_deleted=deleted)
    return None if found is None else found.model_dump()


def _update(context: Context, request: Request) -> Reply:
    workspace_id, fields = request.text("workspace_id"), request.part("fields")
    changes = {name: fields.optional(name) for name in fields.given((*_PATCHED, *_ONBOARDING))}
    if unknown := set(request.mapping("fields")) - set(changes):
        raise invalid(f"A workspace has no {', '.join(sorted(unknown))} to change.")
    patch = PatchWorkspace.model_validate({name: changes[name] or "" for name in _PATCHED if name in changes})
    found = asyncio.run(context.registry.patch(workspace_id, patch))
    onboarding = {name: changes[name] for name in _ONBOARDING if name in changes}
    if onboarding:
        found = context.registry.set_onboarding(workspace_id, onboarding)
    return found.model_dump()


def _delete(context: Context, request: Request) -> Reply:
    workspace_id = request.text("workspace_id")
    keep = request.flag("keep_files") if "keep_files" in request else None
    asyncio.run(context.registry.delete(workspace_id, keep_files=keep))
    found = context.registry.find(workspace_id, include_deleted=True)
    return None if found is None else found.model_dump()


OPERATIONS = {
    "workspace-dir": Operation(_folder),
    "create-workspace": Operation(_create, asks_for_work=True),
    "list-workspaces": Operation(_list),
    "get-workspace": Operation(_get),
    "update-workspace": Operation(_update, asks_for_work=True),
    "delete-workspace": Operation(_delete, asks_for_work=True),
}
