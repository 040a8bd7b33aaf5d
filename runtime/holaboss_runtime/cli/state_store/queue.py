"""Operations on the two queues: inputs, and the jobs that follow a turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.operation import Operation, Reply
from holaboss_runtime.cli.state_store.request import Request, invalid
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.post_run_jobs import PostRunJob, PostRunJobs
from holaboss_runtime.store.queue import USER_MESSAGE, QueuedInput

_CHANGES = {"payload", "priority", "available_at", "status"}


def _one(found: QueuedInput | PostRunJob | None) -> dict[str, Any] | None:
    return None if found is None else found._asdict()


def _all(found: Iterable[QueuedInput | PostRunJob]) -> list[dict[str, Any]]:
    return [item._asdict() for item in found]


def _enqueue(context: Context, request: Request) -> Reply:
    with context.database.transaction():
        made = context.queue.enqueue(
            request.text("workspace_id"),
            request.text("session_id"),
            request.mapping("payload"),
            priority=request.number("priority", 0),
            idempotency_key=request.optional("idempotency_key"),
            event_type=request.optional("event_type") or USER_MESSAGE,
            input_id=request.optional("input_id"),
        )
        context.tell(made.session_id, made.input_id)
    return _one(made)


def _get(context: Context, request: Request) -> Reply:
    return _one(context.queue.get(request.text("input_id")))


def _by_key(context: Context, request: Request) -> Reply:
    return _one(context.queue.by_key(request.optional("workspace_id"), request.text("idempotency_key")))


def _update(context: Context, request: Request) -> Reply:
    input_id, fields = request.text("input_id"), request.part("fields")
    if unknown := set(request.mapping("fields")) - _CHANGES:
        raise invalid(f"An input lets nobody change {', '.join(sorted(unknown))}.")
    with context.database.transaction():
        found = context.queue.get(input_id)
        if found is not None and fields.stated(_CHANGES - {"status"}):
            found = context.queue.rewrite(
                input_id,
                payload=fields.mapping("payload") if "payload" in fields else None,
                priority=fields.number("priority", 0) if "priority" in fields else None,
                available_at=fields.optional("available_at"),
            )
            if found is None:
                raise _not_waiting()
        status = fields.optional("status")
        if found is not None and status is not None and status != found.status:
            found = context.queue.force(input_id, status)
            if found is None:
                raise _not_waiting()
        if found is not None:
            context.tell(found.session_id, input_id)
    return _one(found)


def _not_waiting() -> DomainError:
    return DomainError(
        "conflict", "input_not_queued", "This input is not waiting any more; nothing was changed."
    )


def _claim(context: Context, request: Request) -> Reply:
    claimed = context.queue.claim(
        request.number("limit", 1),
        request.text("claimed_by"),
        request.seconds("lease_seconds"),
        distinct_sessions=request.flag("distinct_sessions"),
        exclude_session_ids=request.texts("exclude_session_ids"),
    )
    return _all(claimed)


def _renew(context: Context, request: Request) -> Reply:
    return _one(
        context.queue.renew(
            request.text("input_id"), request.text("claimed_by"), request.seconds("lease_seconds")
        )
    )


def _complete(context: Context, request: Request) -> Reply:
    with context.database.transaction():
        found = context.queue.complete(
            request.text("input_id"), request.optional("status") or "DONE", request.text("claimed_by")
        )
        if found is not None:
            context.tell(found.session_id, found.input_id)
    return _one(found)


def _expired(context: Context, _request: Request) -> Reply:
    return _all(context.queue.expired())


def _recover(context: Context, _request: Request) -> Reply:
    with context.database.transaction():
        found = context.queue.recover_expired()
        for item in found:
            context.tell(item.session_id, item.input_id)
    return _all(found)


def _has_available(context: Context, request: Request) -> Reply:
    session_id, workspace_id = request.text("session_id"), request.optional("workspace_id")
    session = context.sessions.get(session_id)
    if session is None or (workspace_id is not None and session.workspace_id != workspace_id):
        return False
    return context.queue.has_ready(session_id)


def _enqueue_job(context: Context, request: Request) -> Reply:
    session = context.sessions.get(request.text("session_id"))
    if session is None:
        raise not_found("session", request.text("session_id"))
    made = PostRunJobs(context.database).enqueue(
        request.text("job_type"),
        workspace_id=session.workspace_id,
        session_id=session.session_id,
        input_id=request.text("input_id"),
        payload=request.mapping("payload"),
        priority=request.number("priority", 0),
        idempotency_key=request.optional("idempotency_key"),
    )
    return _one(made)


def _claim_jobs(context: Context, request: Request) -> Reply:
    claimed = PostRunJobs(context.database).claim(
        request.number("limit", 1),
        request.text("claimed_by"),
        request.seconds("lease_seconds"),
        distinct_sessions=request.flag("distinct_sessions"),
        job_types=request.texts("job_types"),
    )
    return _all(claimed)


def _complete_job(context: Context, request: Request) -> Reply:
    return _one(PostRunJobs(context.database).complete(request.text("job_id"), request.text("claimed_by")))


def _list_jobs(context: Context, request: Request) -> Reply:
    found = PostRunJobs(context.database).page(
        request.text("workspace_id"), status=request.optional("status"), limit=request.number("limit", 100)
    )
    return _all(found)


OPERATIONS = {
    "enqueue-input": Operation(_enqueue, asks_for_work=True),
    "get-input": Operation(_get),
    "get-input-by-idempotency-key": Operation(_by_key),
    "update-input": Operation(_update, asks_for_work=True),
    "claim-inputs": Operation(_claim),
    "renew-input-claim": Operation(_renew),
    "complete-input": Operation(_complete, asks_for_work=True),
    "list-expired-claimed-inputs": Operation(_expired),
    "recover-expired-claimed-inputs": Operation(_recover, asks_for_work=True),
    "has-available-inputs-for-session": Operation(_has_available),
    "enqueue-post-run-job": Operation(_enqueue_job, asks_for_work=True),
    "claim-post-run-jobs": Operation(_claim_jobs),
    "complete-post-run-job": Operation(_complete_job),
    "list-post-run-jobs": Operation(_list_jobs),
}
