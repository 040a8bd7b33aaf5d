"""Operations on cronjobs, notifications and task proposals."""

from __future__ import annotations

from typing import Any

from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.operation import Operation, Reply, record, records
from holaboss_runtime.cli.state_store.request import Request
from holaboss_runtime.store.cronjobs import Cronjobs
from holaboss_runtime.store.notifications import Notifications
from holaboss_runtime.store.proposals import TaskProposals

_TEXTS = ("name", "cron", "description", "instruction")
_RUN = ("last_run_at", "next_run_at", "last_status", "last_error")


def _create_job(context: Context, request: Request) -> Reply:
    made = Cronjobs(context.database).create(
        request.text("workspace_id"),
        initiated_by=request.text("initiated_by"),
        cron=request.text("cron"),
        description=request.text("description"),
        delivery=request.mapping("delivery"),
        id=request.optional("job_id"),
        name=request.optional("name"),
        instruction=request.optional("instruction"),
        enabled=request.flag("enabled", default=True),
        metadata=request.mapping("metadata"),
        next_run_at=request.optional("next_run_at"),
    )
    return record(made)


def _get_job(context: Context, request: Request) -> Reply:
    return record(Cronjobs(context.database).get(request.text("workspace_id"), request.text("job_id")))


def _list_jobs(context: Context, request: Request) -> Reply:
    found = Cronjobs(context.database).page(
        request.optional("workspace_id"), enabled_only=request.flag("enabled_only")
    )
    return records(found)


def _update_job(context: Context, request: Request) -> Reply:
    """What is null stays, except what a run leaves: null clears that."""
    changes: dict[str, Any] = {
        name: value for name in _TEXTS if (value := request.optional(name)) is not None
    }
    changes |= {name: request.optional(name) for name in request.given(_RUN)}
    changes |= {name: request.mapping(name) for name in request.stated(("delivery", "metadata"))}
    if request.stated(("enabled",)):
        changes["enabled"] = request.flag("enabled")
    if request.stated(("run_count",)):
        changes["run_count"] = request.number("run_count", 0)
    found = Cronjobs(context.database).update(request.text("workspace_id"), request.text("job_id"), changes)
    return record(found)


def _delete_job(context: Context, request: Request) -> Reply:
    return Cronjobs(context.database).delete(request.text("workspace_id"), request.text("job_id"))


def _notify(context: Context, request: Request) -> Reply:
    made = Notifications(context.database).create(
        request.text("workspace_id"),
        source_type=request.text("source_type"),
        title=request.text("title"),
        message=request.text("message"),
        level=request.optional("level") or "info",
        priority=request.optional("priority") or "normal",
        id=request.optional("notification_id"),
        cronjob_id=request.optional("cronjob_id"),
        source_label=request.optional("source_label"),
        metadata=request.mapping("metadata"),
    )
    return record(made)


def _list_notifications(context: Context, request: Request) -> Reply:
    found = Notifications(context.database).page(
        request.optional("workspace_id"),
        state=request.optional("state"),
        include_dismissed=request.flag("include_dismissed"),
        limit=request.number("limit", 50),
    )
    return records(found)


def _update_notification(context: Context, request: Request) -> Reply:
    found = Notifications(context.database).set_state(request.text("notification_id"), request.text("state"))
    return record(found)


def _propose(context: Context, request: Request) -> Reply:
    made = TaskProposals(context.database).create(
        request.text("workspace_id"),
        task_name=request.text("task_name"),
        task_prompt=request.text("task_prompt"),
        task_generation_rationale=request.text("task_generation_rationale"),
        proposal_id=request.optional("proposal_id"),
        proposal_source=request.optional("proposal_source") or "proactive",
        source_event_ids=request.texts("source_event_ids"),
        created_at=request.optional("created_at"),
        state=request.optional("state") or "not_reviewed",
    )
    return record(made)


def _get_proposal(context: Context, request: Request) -> Reply:
    return record(TaskProposals(context.database).get(request.text("proposal_id")))


def _list_proposals(context: Context, request: Request) -> Reply:
    return records(TaskProposals(context.database).page(request.text("workspace_id")))


def _list_unreviewed(context: Context, request: Request) -> Reply:
    found = TaskProposals(context.database).page(request.text("workspace_id"), state="not_reviewed")
    return records(found)


def _update_proposal(context: Context, request: Request) -> Reply:
    found = TaskProposals(context.database).set_state(request.text("proposal_id"), request.text("state"))
    return record(found)


OPERATIONS = {
    "create-cronjob": Operation(_create_job),
    "get-cronjob": Operation(_get_job),
    "list-cronjobs": Operation(_list_jobs),
    "update-cronjob": Operation(_update_job),
    "delete-cronjob": Operation(_delete_job),
    "create-notification": Operation(_notify),
    "list-notifications": Operation(_list_notifications),
    "update-notification": Operation(_update_notification),
    "create-task-proposal": Operation(_propose),
    "get-task-proposal": Operation(_get_proposal),
    "list-task-proposals": Operation(_list_proposals),
    "list-unreviewed-task-proposals": Operation(_list_unreviewed),
    "update-task-proposal-state": Operation(_update_proposal),
}
