"""Rows of `post_run_jobs`: what is done after a turn, apart from it, claimed and renewed like inputs.

A job that fails is tried again until its attempts are used up; what went wrong the last time is kept. Which types there
are, and what they do, is the business of the workers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.database import Database, Value
from holaboss_runtime.store.json_text import decode_optional, encode

MAX_ATTEMPTS = 3

_COLUMNS = (
    "job_id, job_type, input_id, session_id, workspace_id, payload, status, priority, available_at, attempt,"
    " idempotency_key, claimed_by, claimed_until, last_error, created_at, updated_at"
)
# ?3 is 1 for one job per session, beside those its other workers have claimed; ?5 names types, and none means all.
_CLAIM = f"""\
UPDATE post_run_jobs SET status = 'CLAIMED', claimed_by = ?2, claimed_until = ?6, updated_at = ?1
WHERE seq IN (
  SELECT j.seq FROM post_run_jobs j
  WHERE j.status = 'QUEUED' AND j.available_at || '' <= ?1
    AND (?5 = '[]' OR j.job_type IN (SELECT value FROM json_each(?5)))
    AND (?3 = 0 OR (
      NOT EXISTS (SELECT 1 FROM post_run_jobs c
                  WHERE c.session_id = j.session_id AND c.status = 'CLAIMED' AND c.claimed_until > ?1)
      AND j.seq = (SELECT f.seq FROM post_run_jobs f
                   WHERE f.session_id = j.session_id AND f.status = 'QUEUED' AND f.available_at <= ?1
                     AND (?5 = '[]' OR f.job_type IN (SELECT value FROM json_each(?5)))
                   ORDER BY f.priority DESC, f.seq LIMIT 1)))
  ORDER BY j.priority DESC, j.seq LIMIT ?4)
RETURNING {_COLUMNS}, -priority, seq
"""
_MINE = "WHERE job_id = ? AND status = 'CLAIMED' AND claimed_by = ?"
_PLACE = itemgetter(16, 17)


class PostRunJob(NamedTuple):
    """`status` is QUEUED, CLAIMED, DONE or FAILED; `attempt` counts those that did not work."""

    job_id: str
    job_type: str
    input_id: str
    session_id: str
    workspace_id: str
    payload: dict[str, Any]
    status: str
    priority: int
    available_at: str
    attempt: int
    idempotency_key: str | None
    claimed_by: str | None
    claimed_until: str | None
    last_error: dict[str, Any] | None
    created_at: str
    updated_at: str


class PostRunJobs:
    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(
        self,
        job_type: str,
        *,
        workspace_id: str,
        session_id: str,
        input_id: str,
        payload: Mapping[str, Any] | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
        delay_s: float = 0,
    ) -> PostRunJob:
        """Queue a job. A key that was used before in the workspace returns the first job, whatever became of it."""
        now = utc_now()
        values = (
            new_id(),
            job_type,
            input_id,
            session_id,
            workspace_id,
            encode(payload or {}),
            priority,
            from_now(delay_s) if delay_s else "",
            idempotency_key,
            now,
            now,
        )
        with self._database.transaction():
            made = self._first(
                "INSERT INTO post_run_jobs (job_id, job_type, input_id, session_id, workspace_id, payload, status,"
                " priority, available_at, idempotency_key, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, 'QUEUED', ?, ?, ?, ?, ?)"
                " ON CONFLICT (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
                f" RETURNING {_COLUMNS}",
                values,
            )
            if made is None:
                made = self._first(
                    f"SELECT {_COLUMNS} FROM post_run_jobs WHERE workspace_id = ? AND idempotency_key = ?",
                    (workspace_id, idempotency_key),
                )
        assert made is not None, "either inserted, or in conflict with the row that was read"
        return made

    def get(self, job_id: str) -> PostRunJob | None:
        return self._first(f"SELECT {_COLUMNS} FROM post_run_jobs WHERE job_id = ?", (job_id,))

    def page(self, workspace_id: str, *, status: str | None = None, limit: int = 100) -> list[PostRunJob]:
        """The newest first."""
        rows = self._database.tuples(
            f"SELECT {_COLUMNS} FROM post_run_jobs WHERE workspace_id = ?1 AND (?2 IS NULL OR status = ?2)"
            " ORDER BY created_at DESC, seq DESC LIMIT ?3",
            (workspace_id, status, limit),
        )
        return [_record(row) for row in rows]

    def claim(
        self,
        limit: int,
        claimed_by: str,
        lease_seconds: float,
        *,
        distinct_sessions: bool = False,
        job_types: Collection[str] = (),
    ) -> list[PostRunJob]:
        """At most `limit` jobs, the highest priority first, then the oldest.

        With `distinct_sessions` one of each session, and none of a session that has one claimed.
        """
        now, until = utc_now(), from_now(lease_seconds)
        values = (now, claimed_by, int(distinct_sessions), limit, encode(sorted(job_types)), until)
        with self._database.transaction():
            rows = self._database.tuples(_CLAIM, values)
        rows.sort(key=_PLACE)
        return [_record(row) for row in rows]

    def renew(self, job_id: str, claimed_by: str, lease_seconds: float) -> PostRunJob | None:
        """Hold it longer. None when `claimed_by` has lost it."""
        return self._mine(
            "claimed_until = ?, updated_at = ?", (from_now(lease_seconds), utc_now()), job_id, claimed_by
        )

    def complete(self, job_id: str, claimed_by: str) -> PostRunJob | None:
        """It is DONE. None when `claimed_by` has lost it."""
        return self._mine(
            "status = 'DONE', claimed_by = NULL, claimed_until = NULL, last_error = NULL, updated_at = ?",
            (utc_now(),),
            job_id,
            claimed_by,
        )

    def fail(
        self,
        job_id: str,
        claimed_by: str,
        error: Mapping[str, Any],
        *,
        retry_in_s: float | None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> PostRunJob | None:
        """It did not work: queued again after `retry_in_s`, or FAILED once its attempts are used up.

        `retry_in_s` None fails it at once. None when `claimed_by` has lost it.
        """
        limit = max_attempts if retry_in_s is not None else 0
        return self._mine(
            "status = CASE WHEN attempt + 1 < ? THEN 'QUEUED' ELSE 'FAILED' END, attempt = attempt + 1,"
            " available_at = ?, claimed_by = NULL, claimed_until = NULL, last_error = ?, updated_at = ?",
            (limit, from_now(retry_in_s or 0), encode(error), utc_now()),
            job_id,
            claimed_by,
        )

    def expired(self, now: str | None = None) -> list[PostRunJob]:
        """Claimed jobs whose lease ran out, the oldest first."""
        rows = self._database.tuples(
            f"SELECT {_COLUMNS} FROM post_run_jobs WHERE status = 'CLAIMED' AND claimed_until <= ? ORDER BY seq",
            (now or utc_now(),),
        )
        return [_record(row) for row in rows]

    def recover_expired(self, *, max_attempts: int = MAX_ATTEMPTS) -> list[PostRunJob]:
        """Count the lost attempt of every expired job, and queue it again or fail it. Returns each as it is now."""
        now = utc_now()
        error = {"type": "claim_expired", "message": "The worker that had this job did not finish it."}
        with self._database.transaction():
            rows = self._database.tuples(
                "UPDATE post_run_jobs SET status = CASE WHEN attempt + 1 < ?1 THEN 'QUEUED' ELSE 'FAILED' END,"
                " attempt = attempt + 1, available_at = '', claimed_by = NULL, claimed_until = NULL,"
                " last_error = ?2, updated_at = ?3 WHERE status = 'CLAIMED' AND claimed_until <= ?3"
                f" RETURNING {_COLUMNS}",
                (max_attempts, encode(error), now),
            )
        return [_record(row) for row in rows]

    def next_due(self, now: str) -> str | None:
        """When the next job that was not available at `now` becomes so."""
        due = self._database.scalar(
            "SELECT min(available_at) FROM post_run_jobs WHERE status = 'QUEUED' AND available_at > ?", (now,)
        )
        return None if due is None else str(due)

    def _mine(
        self, assignments: str, values: tuple[Value, ...], job_id: str, claimed_by: str
    ) -> PostRunJob | None:
        with self._database.transaction():
            return self._first(
                f"UPDATE post_run_jobs SET {assignments} {_MINE} RETURNING {_COLUMNS}",
                (*values, job_id, claimed_by),
            )

    def _first(self, sql: str, values: Sequence[Value]) -> PostRunJob | None:
        rows = self._database.tuples(sql, values)
        return _record(rows[0]) if rows else None


def _record(row: tuple[Any, ...]) -> PostRunJob:
    """From a row that begins with `_COLUMNS`."""
    return PostRunJob._make((*row[:5], json.loads(row[5]), *row[6:13], decode_optional(row[13]), *row[14:16]))
