"""Subagents: sessions that do a piece of work for another session, one level deep and a few at a time.

A subagent is an ordinary session with a lease, a plan and notes of its own in the workspace of its owner; how it is
doing is read from the session core. What it comes to goes back through `subagent_reports`. Permissions are those of the
owner (`runs/policy.py`), its tools at most those it was handed (`runs/delegation.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_client.agents import SessionEventType as Event
from holaboss_client.base import new_id
from holaboss_client.sessions import CreateSession
from holaboss_client.subagents import BackgroundTask, BackgroundTaskList
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.runs.policy import SUBAGENT
from holaboss_runtime.runs.ports import Models
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.agent_directory import AgentDirectory
from holaboss_runtime.sessions.directory import MAIN_SESSION, WORKSPACE_SESSION, SessionDirectory
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.subagent_reports import SubagentReports, clipped
from holaboss_runtime.store import subagents as store
from holaboss_runtime.store.pending_actions import QUESTION
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import AGENT_SESSION, TERMINATED, SessionRecord
from holaboss_runtime.store.subagents import NewSubagent, SubagentRecord

DELEGATING_KINDS = frozenset({MAIN_SESSION, WORKSPACE_SESSION, AGENT_SESSION})
"""Kinds of sessions that may hand work out; a subagent is none of them."""

FORBIDDEN = "subagent_control_forbidden"
MOST_LIVE = 8
"""Subagents of one session that have not ended."""

TITLE_CHARS = 80
CREATED_BY = "agent"
_FORWARDED = ("attachments", "image_urls")


@dataclass(frozen=True, slots=True)
class Task:
    """`tools` are groups of `runs/delegation.py`, none for all; `timeout_ms` bounds each run."""

    goal: str
    title: str | None = None
    context: str = ""
    tools: tuple[str, ...] = ()
    model: str | None = None
    timeout_ms: int | None = None


class Subagents:
    """`terminate` ends a session for good, with whatever runs in it."""

    def __init__(
        self,
        records: Records,
        publisher: Publisher,
        inbound: Inbound,
        reports: SubagentReports,
        directory: SessionDirectory,
        agent_directory: AgentDirectory,
        models: Models,
        terminate: Callable[[str], object],
    ) -> None:
        self._records = records
        self._publish = publisher
        self._inbound = inbound
        self._reports = reports
        self._directory = directory
        self._agent_directory = agent_directory
        self._models = models
        self._terminate = terminate

    # For the session that hands work out

    def delegate(self, owner_id: str, input_id: str, tasks: Sequence[Task]) -> list[SubagentRecord]:
        """Begin all of `tasks`, or none. `input_id` leads the run that asks: its files and its model go along.

        Raises `DomainError`: forbidden `subagent_control_forbidden`, conflict `subagent_limit`.
        """
        with self._records.database.transaction():
            owner = self._owner(owner_id)
            self._check_room(owner_id, len(tasks))
            asked = self._records.inputs.get(input_id)
            payload = asked.payload if asked is not None and asked.session_id == owner_id else {}
            return [self._begin(owner, input_id, payload, task) for task in tasks]

    def of_owner(
        self, owner_id: str, *, statuses: Sequence[str] = (), limit: int = 20
    ) -> list[SubagentRecord]:
        """The newest first."""
        self._owner(owner_id)
        return self._records.subagents.page(
            owner_session_id=owner_id, statuses=statuses, include_archived=True, limit=limit
        )

    def owned(self, owner_id: str, subagent_id: str) -> SubagentRecord:
        """Raises `subagent_control_forbidden`, and `subagent_not_found` for that of another session."""
        self._owner(owner_id)
        found = self._records.subagents.get(subagent_id)
        if found is None or found.owner_session_id != owner_id:
            raise not_found("subagent", subagent_id)
        return found

    def stop(self, owner_id: str, subagent_id: str) -> SubagentRecord:
        """`cancel` by the owner, which needs no report of what it did itself."""
        with self._records.database.transaction(durable=True):
            self.owned(owner_id, subagent_id)
            self.cancel(subagent_id)
            self._records.subagents.reported(subagent_id, None)
            return self._require(subagent_id)

    def answer(self, owner_id: str, subagent_id: str, answer: str) -> SubagentRecord:
        """Answer what a subagent asks. A permission is never given this way: only a person can.

        Raises `DomainError`: conflict `subagent_not_waiting_on_user`, forbidden `subagent_needs_person`.
        """
        with self._records.database.transaction():
            record = self.owned(owner_id, subagent_id)
            waiting = self._records.actions.open(subagent_id)
            if record.status != store.WAITING:
                raise DomainError(
                    "conflict",
                    "subagent_not_waiting_on_user",
                    f"Subagent {subagent_id} waits for no answer: it is {record.status}.",
                )
            questions = [action for action in waiting if action.kind == QUESTION]
            if not questions or len(questions) < len(waiting):
                raise DomainError(
                    "forbidden",
                    "subagent_needs_person",
                    f"Subagent {subagent_id} waits for a decision that only the person can make, in its own session."
                    " Tell them.",
                )
            for question in questions:
                said = {"request_id": question.id, "output": answer}
                self._inbound.append_inbound(self._session(subagent_id), Event.USER_CUSTOM_TOOL_RESULT, said)
            self._records.subagents.reported(subagent_id, None)
            return self._require(subagent_id)

    def go_on(
        self, owner_id: str, subagent_id: str, instruction: str, title: str | None
    ) -> tuple[SubagentRecord, SubagentRecord]:
        """Give a subagent that has ended more to do; it remembers what it did. How it was before, and how it is now.

        Raises `DomainError`: conflict `subagent_still_working`, `subagent_cancelled`, `subagent_limit`.
        """
        with self._records.database.transaction():
            before = self.owned(owner_id, subagent_id)
            session = self._session(subagent_id)
            if session.status == TERMINATED:
                raise DomainError(
                    "conflict",
                    "subagent_cancelled",
                    "It was cancelled for good. Delegate a new task instead.",
                )
            if before.live:
                raise _working(before)
            self._check_room(owner_id, 1)
            if title:
                self._records.sessions.rename(subagent_id, preview(title, TITLE_CHARS))
            self._records.subagents.reopen(subagent_id)
            self._records.sessions.archive(subagent_id, archived=False)
            self._ask(session, instruction, before.model, before.thinking_value, {})
            return before, self._require(subagent_id)

    # For people

    def page(
        self,
        workspace_id: str,
        *,
        owner_session_id: str | None = None,
        statuses: Sequence[str] = (),
        include_archived: bool = False,
        limit: int = 50,
    ) -> BackgroundTaskList:
        """The newest first. The workspace must have been checked."""
        found = self._records.subagents.page(
            workspace_id=workspace_id,
            owner_session_id=owner_session_id,
            statuses=statuses,
            include_archived=include_archived,
            limit=limit,
        )
        items = [self.wire(record) for record in found]
        return BackgroundTaskList(items=items, count=len(items))

    def get(self, subagent_id: str) -> BackgroundTask:
        """Raises `DomainError` `subagent_not_found`."""
        return self.wire(self._require(subagent_id))

    def cancel(self, subagent_id: str) -> BackgroundTask:
        """End it for good; what runs is stopped. Raises conflict `subagent_cancel_unavailable` when it has ended."""
        with self._records.database.transaction(durable=True):
            record = self._require(subagent_id)
            if not record.live:
                raise DomainError(
                    "conflict",
                    "subagent_cancel_unavailable",
                    f"There is nothing to cancel: it is {record.status} already.",
                )
            self._terminate(subagent_id)
            return self.get(subagent_id)

    def archive(self, subagent_id: str) -> BackgroundTask:
        """Take it off the list. Raises conflict `subagent_still_working` while it has not ended."""
        with self._records.database.transaction():
            record = self._require(subagent_id)
            if record.live:
                raise _working(record)
            self._records.subagents.archive(subagent_id)
            self._records.sessions.archive(subagent_id, archived=True)
            self._publish.session(record.workspace_id, subagent_id)
            return self.get(subagent_id)

    def session_terminated(self, session_id: str) -> None:
        """A session of any kind has just been ended, in this transaction: so are its subagents. When it is one itself,
        its owner hears of it at its next run."""
        record = self._records.subagents.get(session_id)
        if record is not None and record.cancelled_at is None:
            self._records.subagents.cancel(session_id)
            self._reports.note_rest(self._require(session_id))
            self._records.subagents.owe_report(session_id, store.WITH_THE_NEXT)
        for child in self._records.subagents.live_of(session_id):
            self._terminate(child.subagent_id)

    def wire(self, record: SubagentRecord) -> BackgroundTask:
        waiting = self._records.actions.open(record.subagent_id) if record.status == store.WAITING else []
        return BackgroundTask(
            subagent_id=record.subagent_id,
            workspace_id=record.workspace_id,
            owner_main_session_id=record.owner_session_id,
            parent_input_id=record.parent_input_id,
            child_session_id=record.subagent_id,
            title=record.title,
            goal=record.goal,
            status=record.status,
            tools=list(record.tools),
            model=record.model,
            timeout_ms=record.timeout_ms,
            result=clipped(record.result),
            error=record.error,
            waiting_for=[action.wire() for action in waiting],
            turns=record.turns,
            created_at=record.created_at,
            started_at=record.started_at,
            completed_at=record.completed_at,
            cancelled_at=record.cancelled_at,
            archived_at=record.archived_at,
            updated_at=record.updated_at,
        )

    def _begin(
        self, owner: SessionRecord, input_id: str, asked: dict[str, Any], task: Task
    ) -> SubagentRecord:
        title = preview(task.title or task.goal, TITLE_CHARS)
        subagent_id = f"subagent-{new_id()}"
        self._create(owner, subagent_id, title)
        model = task.model or self._models.subagent_model() or asked.get("model")
        thinking = asked.get("thinking_value") if model == asked.get("model") else None
        self._records.subagents.insert(
            NewSubagent(
                subagent_id=subagent_id,
                workspace_id=owner.workspace_id,
                owner_session_id=owner.session_id,
                parent_input_id=input_id,
                goal=task.goal,
                context=task.context,
                tools=task.tools,
                model=model,
                thinking_value=thinking,
                timeout_ms=task.timeout_ms,
            )
        )
        created = {
            "child_session_id": subagent_id,
            "outcome_title": title,
            "message": preview(task.goal, 400),
        }
        self._records.events.append(owner.session_id, Event.SESSION_CHILD_CREATED, created)
        forwarded = {name: asked[name] for name in _FORWARDED if asked.get(name)}
        self._ask(self._session(subagent_id), _request(task), model, thinking, forwarded)
        return self._require(subagent_id)

    def _create(self, owner: SessionRecord, subagent_id: str, title: str) -> None:
        if owner.agent_id is not None:
            self._agent_directory.create_child(owner, subagent_id, kind=SUBAGENT, title=title)
            return
        self._directory.create(
            CreateSession(
                workspace_id=owner.workspace_id,
                session_id=subagent_id,
                kind=SUBAGENT,
                title=title,
                parent_session_id=owner.session_id,
                created_by=CREATED_BY,
            )
        )

    def _ask(
        self,
        session: SessionRecord,
        text: str,
        model: str | None,
        thinking: str | None,
        more: dict[str, Any],
    ) -> None:
        chosen = {"model": model, "thinking_value": thinking}
        payload = {"text": text} | {name: value for name, value in chosen.items() if value} | more
        self._inbound.append_inbound(session, Event.USER_MESSAGE, payload)

    def _owner(self, owner_id: str) -> SessionRecord:
        owner = self._session(owner_id)
        if owner.status == TERMINATED:
            raise DomainError("conflict", "session_terminated", "This session has ended.")
        if owner.kind not in DELEGATING_KINDS:
            raise DomainError(
                "forbidden", FORBIDDEN, f"A session of the kind {owner.kind} cannot hand work to subagents."
            )
        return owner

    def _check_room(self, owner_id: str, wanted: int) -> None:
        live = len(self._records.subagents.live_of(owner_id))
        if live + wanted > MOST_LIVE:
            raise DomainError(
                "conflict",
                "subagent_limit",
                f"A session has at most {MOST_LIVE} subagents at a time, and {live} have not ended. Wait for some of"
                " them, or cancel what is not needed.",
            )

    def _session(self, session_id: str) -> SessionRecord:
        return self._directory.get(session_id)

    def _require(self, subagent_id: str) -> SubagentRecord:
        found = self._records.subagents.get(subagent_id)
        if found is None:
            raise not_found("subagent", subagent_id)
        return found


def _working(record: SubagentRecord) -> DomainError:
    return DomainError(
        "conflict",
        "subagent_still_working",
        f"Subagent {record.subagent_id} is {record.status}. Wait until it ends, or cancel it.",
    )


def _request(task: Task) -> str:
    context = f"\n\nContext:\n{task.context}" if task.context.strip() else ""
    return (
        f"{task.goal}{context}\n\nYou do this for another session. It gets your last message and nothing else, so say"
        " there what you found or did, and what is left open."
    )
