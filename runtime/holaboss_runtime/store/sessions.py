"""Rows of `agent_sessions`: who a session is, its stored status, and the lease of whoever runs it.

The lease is fenced: each owner gets a higher `lease_epoch`, and every write of a run names the epoch it was given, so
an owner that lost its lease without noticing changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.sessions import Session
from holaboss_runtime.store.database import Database, Value
from holaboss_runtime.store.json_text import decode, decode_optional, encode, encode_optional
from holaboss_runtime.store.outbox import SESSION, Outbox

IDLE = "idle"
RUNNING = "running"
RESCHEDULING = "rescheduling"
REQUIRES_ACTION = "requires_action"
TERMINATED = "terminated"

HOLD_USER_PAUSE = "user_pause"
HOLD_DENIED = "permission_denied"
"""A run that nobody watched was refused something: a person decides how it goes on."""

ONE = "one"
ALL = "all"
"""How many waiting inputs one run takes (`coalesce`)."""

AGENT_SESSION = "agent_session"


@dataclass(frozen=True, slots=True)
class SessionRecord:
    session_id: str
    workspace_id: str
    kind: str
    title: str | None
    parent_session_id: str | None
    source_proposal_id: str | None
    created_by: str
    status: str
    stop_reason: str | None
    hold: str | None
    last_error: dict[str, Any] | None
    coalesce: str
    turns: int
    follow_ups: int
    agent_id: str | None
    environment_id: str | None
    resources: list[dict[str, Any]]
    metadata: dict[str, Any]
    harness_session_id: str | None
    lease_owner: str | None
    lease_until: str | None
    lease_epoch: int
    row_version: int
    created_at: str
    updated_at: str
    archived_at: str | None

    def wire(self) -> Session:
        return Session(
            workspace_id=self.workspace_id,
            session_id=self.session_id,
            kind=self.kind,
            title=self.title,
            parent_session_id=self.parent_session_id,
            source_proposal_id=self.source_proposal_id,
            agent_id=self.agent_id,
            environment_id=self.environment_id,
            created_by=self.created_by,
            created_at=self.created_at,
            updated_at=self.updated_at,
            archived_at=self.archived_at,
        )


_NAMES = [field.name for field in fields(SessionRecord)]
_SELECT = f"SELECT {', '.join(_NAMES)} FROM agent_sessions"
_LAST_ERROR, _RESOURCES, _METADATA = (_NAMES.index(name) for name in ("last_error", "resources", "metadata"))


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a finished run leaves in its session row."""

    status: str
    stop_reason: str | None
    last_error: dict[str, Any] | None = None
    counts_as_turn: bool = True
    keep_hold: bool = True
    follow_ups: int = 0
    """How many runs in a row asked to be continued."""


class SessionRecords:
    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox

    def create(
        self,
        session_id: str,
        workspace_id: str,
        *,
        kind: str,
        created_by: str,
        title: str | None = None,
        parent_session_id: str | None = None,
        coalesce: str = ONE,
        agent_id: str | None = None,
        environment_id: str | None = None,
        resources: list[dict[str, Any]] | None = None,
    ) -> None:
        now = utc_now()
        self._database.execute(
            "INSERT INTO agent_sessions (session_id, workspace_id, kind, title, parent_session_id, created_by,"
            " coalesce, agent_id, environment_id, resources, harness_session_id, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session_id,
                workspace_id,
                kind,
                title,
                parent_session_id,
                created_by,
                coalesce,
                agent_id,
                environment_id,
                encode(resources or []),
                session_id,
                now,
                now,
            ),
        )

    def get(self, session_id: str) -> SessionRecord | None:
        rows = self._database.tuples(f"{_SELECT} WHERE session_id = ?", (session_id,))
        return _record(rows[0]) if rows else None

    def status(self, session_id: str) -> str | None:
        """The stored status alone; None for a session that is not there."""
        return self._database.scalar("SELECT status FROM agent_sessions WHERE session_id = ?", (session_id,))

    def main(self, workspace_id: str) -> SessionRecord | None:
        rows = self._database.tuples(
            f"{_SELECT} WHERE workspace_id = ? AND kind = 'main_session'", (workspace_id,)
        )
        return _record(rows[0]) if rows else None

    def page(
        self, workspace_id: str, *, include_archived: bool, limit: int, before: SessionRecord | None = None
    ) -> list[SessionRecord]:
        """The most recently used first; `before` is the last session of the page before."""
        return self._page("workspace_id", workspace_id, include_archived, limit, before)

    def _page(
        self, column: str, value: str, include_archived: bool, limit: int, before: SessionRecord | None
    ) -> list[SessionRecord]:
        where, values = [f"{column} = ?"], list[Value]([value])
        if not include_archived:
            where.append("archived_at IS NULL")
        if before is not None:
            where.append("(updated_at, session_id) < (?, ?)")
            values += [before.updated_at, before.session_id]
        rows = self._database.tuples(
            f"{_SELECT} WHERE {' AND '.join(where)} ORDER BY updated_at DESC, session_id DESC LIMIT ?",
            (*values, limit),
        )
        return [_record(row) for row in rows]

    def of_agent(
        self,
        agent_id: str,
        *,
        include_archived: bool = True,
        limit: int = 200,
        before: SessionRecord | None = None,
    ) -> list[SessionRecord]:
        """`page` of an agent's sessions."""
        return self._page("agent_id", agent_id, include_archived, limit, before)

    def set_resources(self, session_id: str, resources: list[dict[str, Any]]) -> None:
        self._set(session_id, "resources = ?", encode(resources))

    def set_metadata(self, session_id: str, metadata: dict[str, Any]) -> None:
        self._set(session_id, "metadata = ?", encode(metadata))

    def terminate(self, session_id: str) -> None:
        """For good: nothing is accepted or run any more."""
        self._set(session_id, "status = 'terminated', stop_reason = 'terminated', hold = NULL")

    def rename(self, session_id: str, title: str) -> None:
        self._set(session_id, "title = ?", title)

    def archive(self, session_id: str, *, archived: bool) -> None:
        self._set(session_id, "archived_at = ?", utc_now() if archived else None)

    def accept_inbound(self, session_id: str, *, title: str | None, resumes: bool = True) -> None:
        """Something new was asked: a hold (when it `resumes`) and an old error are over, and an untitled session gets
        its title."""
        held = "hold = NULL, " if resumes else ""
        self._set(
            session_id,
            f"{held}last_error = NULL, title = coalesce(title, ?),"
            " status = CASE WHEN status IN ('running', 'terminated') THEN status ELSE 'rescheduling' END",
            title,
        )

    def wait(self, session_id: str, error: dict[str, Any]) -> None:
        """The next input cannot start yet, for a reason that a person has to see."""
        self._set(session_id, "status = 'rescheduling', last_error = ?", encode_optional(error))

    def rest(self, session_id: str) -> None:
        """Nothing is left to do; what the last run left (`last_error`) is kept unless it was only waiting."""
        self._set(
            session_id,
            "last_error = CASE WHEN status = 'rescheduling' THEN NULL ELSE last_error END,"
            " status = CASE WHEN status = 'rescheduling' THEN 'idle' ELSE status END",
        )

    def hold(self, session_id: str, reason: str | None) -> None:
        self._set(session_id, "hold = ?", reason)

    def acquire_lease(self, session_id: str, owner: str, until: str) -> int | None:
        """The epoch of the new lease, or None while somebody else holds one that has not run out."""
        now = utc_now()
        epoch = self._database.scalar(
            "UPDATE agent_sessions SET lease_owner = ?, lease_until = ?, lease_epoch = lease_epoch + 1,"
            " heartbeat_at = ?, row_version = row_version + 1"
            " WHERE session_id = ? AND (lease_until IS NULL OR lease_until <= ?) RETURNING lease_epoch",
            (owner, until, now, session_id, now),
        )
        return None if epoch is None else int(epoch)

    def break_lease(self, session_id: str) -> None:
        """For whoever knows that the owner is gone; the epoch still fences it out."""
        self._database.execute(
            "UPDATE agent_sessions SET lease_owner = NULL, lease_until = NULL WHERE session_id = ?",
            (session_id,),
        )

    def begin_run(self, session_id: str, epoch: int) -> None:
        self._database.execute(
            "UPDATE agent_sessions SET status = 'running', last_error = NULL, updated_at = ?,"
            " row_version = row_version + 1 WHERE session_id = ? AND lease_epoch = ? AND status <> 'terminated'",
            (utc_now(), session_id, epoch),
        )
        self._outbox.mark(session_id, SESSION)

    def renew_lease(self, session_id: str, epoch: int, until: str) -> bool:
        """False when the lease belongs to somebody else by now."""
        changed = self._database.execute(
            "UPDATE agent_sessions SET lease_until = ?, heartbeat_at = ?"
            " WHERE session_id = ? AND lease_epoch = ? AND lease_owner IS NOT NULL",
            (until, utc_now(), session_id, epoch),
        )
        return changed == 1

    def holds_lease(self, session_id: str, epoch: int) -> bool:
        """Whether the lease of this epoch is still the current one, run out or not."""
        found = self._database.scalar(
            "SELECT 1 FROM agent_sessions WHERE session_id = ? AND lease_epoch = ? AND lease_owner IS NOT NULL",
            (session_id, epoch),
        )
        return found is not None

    def settle(self, session_id: str, epoch: int, settlement: Settlement) -> bool:
        """End the run; its lease stays. False, and nothing changed, when the epoch is not the current one."""
        changed = self._database.execute(
            "UPDATE agent_sessions SET status = CASE WHEN status = 'terminated' THEN status ELSE ? END,"
            " stop_reason = CASE WHEN status = 'terminated' THEN stop_reason ELSE ? END, last_error = ?,"
            " turns = turns + ?, follow_ups = ?, hold = CASE WHEN ? THEN hold END, updated_at = ?,"
            " row_version = row_version + 1 WHERE session_id = ? AND lease_epoch = ? AND lease_owner IS NOT NULL",
            (
                settlement.status,
                settlement.stop_reason,
                encode_optional(settlement.last_error),
                int(settlement.counts_as_turn),
                settlement.follow_ups,
                int(settlement.keep_hold),
                utc_now(),
                session_id,
                epoch,
            ),
        )
        self._outbox.mark(session_id, SESSION)
        return changed == 1

    def release_lease(self, session_id: str, epoch: int) -> bool:
        """Let the next run begin. False when the lease belongs to somebody else by now."""
        changed = self._database.execute(
            "UPDATE agent_sessions SET lease_owner = NULL, lease_until = NULL"
            " WHERE session_id = ? AND lease_epoch = ? AND lease_owner IS NOT NULL",
            (session_id, epoch),
        )
        return changed == 1

    def leased(self) -> list[SessionRecord]:
        """Sessions somebody holds a lease of, expired ones too."""
        rows = self._database.tuples(f"{_SELECT} WHERE lease_owner IS NOT NULL")
        return [_record(row) for row in rows]

    def next_lease_end(self, owner: str, now: str) -> str | None:
        """When the first lease of anybody but `owner` that still holds at `now` runs out."""
        until = self._database.scalar(
            "SELECT min(lease_until) FROM agent_sessions"
            " WHERE lease_owner IS NOT NULL AND lease_owner <> ? AND lease_until > ?",
            (owner, now),
        )
        return None if until is None else str(until)

    def _set(self, session_id: str, assignments: str, *values: Value) -> None:
        self._database.execute(
            f"UPDATE agent_sessions SET {assignments}, updated_at = ?, row_version = row_version + 1"
            " WHERE session_id = ?",
            (*values, utc_now(), session_id),
        )
        self._outbox.mark(session_id, SESSION)


def _record(row: tuple[Any, ...]) -> SessionRecord:
    """From a row of `_SELECT`, whose columns are in the order of the fields: this is the row that is read most."""
    values = list(row)
    values[_LAST_ERROR] = decode_optional(row[_LAST_ERROR])
    values[_RESOURCES] = decode(row[_RESOURCES])
    values[_METADATA] = decode(row[_METADATA])
    return SessionRecord(*values)
