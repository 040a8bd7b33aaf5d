"""Operations on the builds of apps."""

from __future__ import annotations

from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.operation import Operation, Reply, record
from holaboss_runtime.cli.state_store.request import Request
from holaboss_runtime.store.app_registry import AppBuilds


def _put(context: Context, request: Request) -> Reply:
    made = AppBuilds(context.database).put(
        request.text("workspace_id"),
        request.text("app_id"),
        request.text("status"),
        error=request.optional("error"),
    )
    return record(made)


def _get(context: Context, request: Request) -> Reply:
    return record(AppBuilds(context.database).get(request.text("workspace_id"), request.text("app_id")))


def _delete(context: Context, request: Request) -> Reply:
    return AppBuilds(context.database).delete(request.text("workspace_id"), request.text("app_id"))


OPERATIONS = {
    "upsert-app-build": Operation(_put),
    "get-app-build": Operation(_get),
    "delete-app-build": Operation(_delete),
}
