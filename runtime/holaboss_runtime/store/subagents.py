"""Rows of `subagent_runs`: work that one session handed to another, and what its owner has still to be told of it.

How the work is doing is stored nowhere twice: the status, the result and the error of a row are read from the session
that does it, its queue, its wakes and its last turn, in one statement.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional, encode

QUEUED = "queued"
RUNNING = "running"
WAITING = "waiting_on_user"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
LIVE = (QUEUED, RUNNING, WAITING)
ENDED = (COMPLETED, FAILED, CANCELLED)

WITH_THE_NEXT = "9999"
"""Later than every time: worth telling, but not worth a run of its own."""

# A session that goes on by itself later is not done: its delayed wakes count as queued.
_STATUS = """\
CASE
  WHEN s.status = 'terminated' THEN 'cancelled'
  WHEN EXISTS (SELECT 1 FROM wakes w WHERE w.session_id = r.subagent_id AND w.ended_at IS NULL) THEN 'running'
  WHEN s.hold IS NOT NULL OR EXISTS
    (SELECT 1 FROM pending_actions a WHERE a.session_id = r.subagent_id AND a.status = 'open') THEN 'waiting_on_user'
  WHEN EXISTS (SELECT 1 FROM agent_session_inputs i WHERE i.session_id = r.subagent_id AND i.status = 'QUEUED')
    OR EXISTS (SELECT 1 FROM agent_session_inputs i WHERE i.session_id = r.subagent_id AND i.status = 'CLAIMED')
    OR EXISTS (SELECT 1 FROM session_wakes d WHERE d.session_id = r.subagent_id AND d.completed_at IS NULL)
    THEN 'queued'
  WHEN t.status = 'completed' THEN 'completed'
  WHEN t.status = 'failed' THEN 'failed'
  WHEN t.status = 'paused' THEN 'cancelled'
  ELSE 'queued'
END"""
_ROWS = f"""\
SELECT r.*, s.title, s.turns, s.last_error, {_STATUS} AS status, t.assistant_text, t.stop_reason, t.completed_at,
  (SELECT min(w.started_at) FROM wakes w WHERE w.session_id = r.subagent_id) AS started_at
FROM subagent_runs r JOIN agent_sessions s ON s.session_id = r.subagent_id
LEFT JOIN turn_results t ON t.session_id = r.subagent_id
  AND t.seq = (SELECT max(seq) FROM turn_results WHERE session_id = r.subagent_id)
"""
# Whoever works, waits for a person or has something queued is not interrupted; what is queued takes the news along.
_READY_OWNERS = """\
SELECT DISTINCT r.owner_session_id FROM subagent_runs r JOIN agent_sessions o ON o.session_id = r.owner_session_id
WHERE r.report_due_at IS NOT NULL AND (?2 = 1 OR r.report_due_at <= ?1) AND (?3 IS NULL OR r.owner_session_id = ?3)
  AND o.status <> 'terminated' AND o.hold IS NULL
  AND NOT EXISTS (SELECT 1 FROM wakes w WHERE w.session_id = o.session_id AND w.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM pending_actions a WHERE a.session_id = o.session_id AND a.status = 'open')
  AND (?2 = 1 OR NOT EXISTS (SELECT 1 FROM agent_session_inputs i WHERE i.session_id = o.session_id
                             AND i.status = 'QUEUED')
                 AND NOT EXISTS (SELECT 1 FROM agent_session_inputs i WHERE i.session_id = o.session_id
                                 AND i.status = 'CLAIMED'))
ORDER BY r.owner_session_id
"""
_CROWDED_OUT = """\
SELECT c.subagent_id FROM subagent_runs c WHERE c.owner_session_id IN (
  SELECT r.owner_session_id FROM subagent_runs r JOIN json_each(?1) j ON j.value = r.subagent_id
  GROUP BY r.owner_session_id HAVING count(*) >= ?2)
"""


@dataclass(frozen=True, slots=True)
class SubagentRecord:
    """`result` is what its last turn said, `error` why that one failed; both may be about an earlier instruction while
    the status says that it works. `turns` counts finished turns."""

    subagent_id: str
    workspace_id: str
    owner_session_id: str
    parent_input_id: str
    title: str
    goal: str
    context: str
    tools: tuple[str, ...]
    model: str | None
    thinking_value: str | None
    timeout_ms: int | None
    status: str
    result: str
    error: dict[str, Any] | None
    stop_reason: str | None
    turns: int
    report_due_at: str | None
    reported_input_id: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None
    cancelled_at: str | None
    archived_at: str | None
    updated_at: str

    @property
    def live(self) -> bool:
        """It may still do something."""
        return self.status in LIVE


@dataclass(frozen=True, slots=True)
class NewSubagent:
    subagent_id: str
    workspace_id: str
    owner_session_id: str
    parent_input_id: str
    goal: str
    context: str
    tools: tuple[str, ...]
    model: str | None
    thinking_value: str | None
    timeout_ms: int | None


class SubagentRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, new: NewSubagent) -> None:
        now = utc_now()
        self._database.execute(
            "INSERT INTO subagent_runs (subagent_id, workspace_id, owner_session_id, parent_input_id, goal, context,"
            " tools, model, thinking_value, timeout_ms, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.subagent_id,
                new.workspace_id,
                new.owner_session_id,
                new.parent_input_id,
                new.goal,
                new.context,
                encode(list(new.tools)),
                new.model,
                new.thinking_value,
                new.timeout_ms,
                now,
                now,
            ),
        )

    def get(self, subagent_id: str) -> SubagentRecord | None:
        row = self._database.row(f"{_ROWS} WHERE r.subagent_id = ?", (subagent_id,))
        return None if row is None else _record(row)

    def page(
        self,
        *,
        workspace_id: str | None = None,
        owner_session_id: str | None = None,
        statuses: Collection[str] = (),
        include_archived: bool = False,
        limit: int,
    ) -> list[SubagentRecord]:
        """The newest first."""
        rows = self._database.rows(
            f"SELECT * FROM ({_ROWS} WHERE (?1 IS NULL OR r.workspace_id = ?1)"
            " AND (?2 IS NULL OR r.owner_session_id = ?2) AND (?3 = 1 OR r.archived_at IS NULL)) AS found"
            " WHERE ?4 = '[]' OR status IN (SELECT value FROM json_each(?4)) ORDER BY seq DESC LIMIT ?5",
            (workspace_id, owner_session_id, int(include_archived), encode(list(statuses)), limit),
        )
        return [_record(row) for row in rows]

    def live_of(self, owner_session_id: str) -> list[SubagentRecord]:
        """What has not ended, the oldest first."""
        rows = self._database.rows(
            f"{_ROWS} WHERE r.owner_session_id = ? ORDER BY r.seq", (owner_session_id,)
        )
        return [found for found in map(_record, rows) if found.live]

    def begun_by(self, owner_session_id: str, input_id: str) -> bool:
        """Whether the run of an input has handed anything out."""
        found = self._database.scalar(
            "SELECT 1 FROM subagent_runs WHERE owner_session_id = ? AND parent_input_id = ? LIMIT 1",
            (owner_session_id, input_id),
        )
        return found is not None

    def crowded_out(self, running: Collection[str], at_once: int) -> list[str]:
        """Subagents of owners that have `at_once` of theirs among the `running` sessions already."""
        rows = self._database.tuples(_CROWDED_OUT, (encode(list(running)), at_once))
        return [row[0] for row in rows]

    def cancel(self, subagent_id: str) -> None:
        """Its session has been terminated."""
        self._set(subagent_id, "cancelled_at = ?1, report_due_at = NULL", utc_now())

    def reopen(self, subagent_id: str) -> None:
        """It gets something new to do: what it did before is not to be told any more."""
        self._set(subagent_id, "archived_at = NULL, report_due_at = NULL")

    def archive(self, subagent_id: str) -> None:
        self._set(subagent_id, "archived_at = coalesce(archived_at, ?1)", utc_now())

    def owe_report(self, subagent_id: str, due_at: str) -> None:
        """A time that was set before stays if it is earlier."""
        earlier = "CASE WHEN report_due_at IS NULL OR report_due_at > ?1 THEN ?1 ELSE report_due_at END"
        self._set(subagent_id, f"report_due_at = {earlier}", due_at)

    def owed_reports(self, owner_session_id: str) -> list[SubagentRecord]:
        """Due or not, in the order the work was handed out."""
        rows = self._database.rows(
            f"{_ROWS} WHERE r.owner_session_id = ? AND r.report_due_at IS NOT NULL ORDER BY r.seq",
            (owner_session_id,),
        )
        return [_record(row) for row in rows]

    def reported(self, subagent_id: str, input_id: str | None) -> None:
        """Nothing is owed any more; `input_id` told it, or nobody had to."""
        self._set(
            subagent_id, "report_due_at = NULL, reported_input_id = coalesce(?1, reported_input_id)", input_id
        )

    def ready_owners(self, now: str, *, early: bool = False, session_id: str | None = None) -> list[str]:
        """Sessions that can be told something right now; with `early` also what is not due, in spite of a queue."""
        rows = self._database.tuples(_READY_OWNERS, (now, int(early), session_id))
        return [row[0] for row in rows]

    def next_report(self, now: str) -> str | None:
        """When the next report that was not due at `now` becomes so."""
        due = self._database.scalar(
            "SELECT min(report_due_at) FROM subagent_runs WHERE report_due_at IS NOT NULL AND report_due_at > ?"
            " AND report_due_at <> ?",
            (now, WITH_THE_NEXT),
        )
        return None if due is None else str(due)

    def _set(self, subagent_id: str, assignments: str, *values: str | None) -> None:
        """`assignments` name their values ?1, ?2 and so on."""
        now, key = len(values) + 1, len(values) + 2
        self._database.execute(
            f"UPDATE subagent_runs SET {assignments}, updated_at = ?{now} WHERE subagent_id = ?{key}",
            (*values, utc_now(), subagent_id),
        )


def _record(row: Row) -> SubagentRecord:
    error = decode_optional(row["last_error"])
    failed = row["status"] == FAILED
    return SubagentRecord(
        subagent_id=row["subagent_id"],
        workspace_id=row["workspace_id"],
        owner_session_id=row["owner_session_id"],
        parent_input_id=row["parent_input_id"],
        title=row["title"] or "",
        goal=row["goal"],
        context=row["context"],
        tools=tuple(json.loads(row["tools"])),
        model=row["model"],
        thinking_value=row["thinking_value"],
        timeout_ms=row["timeout_ms"],
        status=row["status"],
        result=row["assistant_text"] or "",
        error=error if failed else None,
        stop_reason=row["stop_reason"],
        turns=row["turns"],
        report_due_at=row["report_due_at"],
        reported_input_id=row["reported_input_id"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"] if row["status"] in (COMPLETED, FAILED) else None,
        cancelled_at=row["cancelled_at"],
        archived_at=row["archived_at"],
        updated_at=row["updated_at"],
    )
