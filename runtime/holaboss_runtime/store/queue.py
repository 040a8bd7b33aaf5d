"""The queue of inputs as a worker sees it: enqueue, claim for a time, renew, complete, and recover what ran out.

Every step is one transaction, and a claim is one statement, so that several processes share the queue without ever
getting the same input. It is the face for programs that work the queue themselves; the runtime's own runs claim under
the lease of their session (`store/inputs.py`), which this one respects. It starts no run and writes no turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.database import Database, Value
from holaboss_runtime.store.inputs import DECISIONS
from holaboss_runtime.store.json_text import decode, encode
from holaboss_runtime.store.outbox import EVENTS, SESSION, Outbox

USER_MESSAGE = "user.message"
RECOVERABLE_ATTEMPTS = 2
"""An input is tried this often before a lost claim fails it."""

_COLUMNS = (
    "input_id, session_id, workspace_id, event_type, payload, status, priority, available_at, attempt,"
    " idempotency_key, claimed_by, claimed_until, created_at, updated_at"
)

_EVENT = (
    "INSERT INTO session_events (event_id, session_id, type, payload, wake_id, created_at, processed_at)"
    " VALUES (?, ?, ?, ?, NULL, ?, NULL)"
)
_INPUT = (
    "INSERT INTO agent_session_inputs (input_id, session_id, workspace_id, event_type, payload, status, priority,"
    " available_at, idempotency_key, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 'QUEUED', ?, '', ?, ?, ?)"
)
# What was asked anew ends a hold and an old error. Nothing is written where neither is there.
_ACCEPT = """\
UPDATE agent_sessions SET hold = NULL, last_error = NULL, row_version = row_version + 1, updated_at = ?1,
  status = CASE WHEN status IN ('running', 'terminated') THEN status ELSE 'rescheduling' END
WHERE session_id IN (SELECT value FROM json_each(?2))
  AND (status NOT IN ('running', 'rescheduling') OR hold IS NOT NULL OR last_error IS NOT NULL)
"""
_THERE = """\
SELECT session_id, workspace_id, status FROM agent_sessions WHERE session_id IN (SELECT value FROM json_each(?))
"""

# What may be claimed at ?1 by ?2, in order. The concatenation keeps the planner on the index that has the order,
# instead of sorting the whole queue; ?4 is 1 for one input per session. Of an input that is being retried only the
# first of its session may run, and a session that waits for decisions only takes an interrupt.
_READY = """\
SELECT i.seq FROM agent_session_inputs i JOIN agent_sessions s ON s.session_id = i.session_id
WHERE i.status = 'QUEUED' AND i.available_at || '' <= ?1
  AND s.hold IS NULL AND s.status <> 'terminated'
  AND (s.lease_until IS NULL OR s.lease_until <= ?1 OR s.lease_owner = ?2)
  AND i.session_id NOT IN (SELECT value FROM json_each(?3))
  AND NOT EXISTS (SELECT 1 FROM agent_session_inputs c
                  WHERE c.session_id = i.session_id AND c.status = 'CLAIMED' AND c.claimed_until > ?1)
  AND (i.attempt > 0 OR i.session_id NOT IN
       (SELECT r.session_id FROM agent_session_inputs r WHERE r.status = 'QUEUED' AND r.attempt > 0))
  AND (i.event_type = 'user.interrupt' OR i.session_id NOT IN
       (SELECT a.session_id FROM pending_actions a WHERE a.status = 'open'))
  AND (?4 = 0 OR i.seq = (
    SELECT f.seq FROM agent_session_inputs f
    WHERE f.session_id = i.session_id AND f.status = 'QUEUED' AND f.available_at || '' <= ?1
      AND (f.attempt > 0) = (i.attempt > 0)
      AND (f.event_type = 'user.interrupt' OR f.session_id NOT IN
           (SELECT a.session_id FROM pending_actions a WHERE a.status = 'open'))
    ORDER BY f.priority DESC, f.seq LIMIT 1))
ORDER BY i.priority DESC, i.seq LIMIT ?5
"""
_CLAIM = f"""\
UPDATE agent_session_inputs SET status = 'CLAIMED', claimed_by = ?2, claimed_until = ?6, updated_at = ?1
WHERE seq IN ({_READY}) RETURNING {_COLUMNS}, -priority, seq
"""
_RENEW = f"""\
UPDATE agent_session_inputs SET claimed_until = ?1, updated_at = ?2
WHERE input_id = ?3 AND status = 'CLAIMED' AND claimed_by = ?4 RETURNING {_COLUMNS}
"""
_ONE, _EACH = "= ?1", "IN (SELECT value FROM json_each(?1))"
"""`?1` is one id, or a list of them as JSON."""

_COMPLETE = """\
UPDATE agent_session_inputs SET status = ?3, claimed_by = NULL, claimed_until = NULL, updated_at = ?2
WHERE input_id {which} AND status = 'CLAIMED' AND claimed_by = ?4 RETURNING """
_PROCESSED = "UPDATE session_events SET processed_at = ?2 WHERE event_id {which} AND processed_at IS NULL"
# It was not used, so its place in a list stays.
_REST = """\
UPDATE agent_sessions SET status = 'idle', row_version = row_version + 1
WHERE session_id {which} AND status = 'rescheduling'
  AND NOT EXISTS (SELECT 1 FROM agent_session_inputs q
                  WHERE q.session_id = agent_sessions.session_id AND q.status = 'QUEUED')
  AND NOT EXISTS (SELECT 1 FROM agent_session_inputs c
                  WHERE c.session_id = agent_sessions.session_id AND c.status = 'CLAIMED')
"""
_COMPLETE_ONE = _COMPLETE.format(which=_ONE) + _COLUMNS
_COMPLETE_EACH = _COMPLETE.format(which=_EACH) + "input_id, session_id"
_PROCESSED_ONE, _PROCESSED_EACH = _PROCESSED.format(which=_ONE), _PROCESSED.format(which=_EACH)
_REST_ONE, _REST_EACH = _REST.format(which=_ONE), _REST.format(which=_EACH)
_PLACE = itemgetter(14, 15)
_ENDS = ("DONE", "FAILED", "PAUSED")
_IN_A_RUN = """\
SELECT 1 FROM wake_inputs p JOIN wakes w ON w.wake_id = p.wake_id WHERE p.input_id = ? AND w.ended_at IS NULL
"""
# A run of our own knows better what it did, and its lease says when it is lost: those are left to it. The addition
# keeps the planner on the index of what is claimed, here and in `expired`, instead of reading every input there ever
# was.
_LOST = f"""\
SELECT {_COLUMNS} FROM agent_session_inputs i WHERE i.status = 'CLAIMED' AND i.claimed_until <= ?1
  AND NOT EXISTS (SELECT 1 FROM wake_inputs p JOIN wakes w ON w.wake_id = p.wake_id
                  WHERE p.input_id = i.input_id AND w.ended_at IS NULL)
ORDER BY i.seq + 0
"""
_WORKED = """\
SELECT 1 FROM session_output_events WHERE input_id = ?
  AND event_type IN ('tool_call', 'output_delta', 'thinking_delta', 'run_completed', 'run_failed') LIMIT 1
"""


class NewInput(NamedTuple):
    """What is asked of a session. Without an `input_id` it gets one."""

    workspace_id: str
    session_id: str
    payload: Mapping[str, Any]
    priority: int = 0
    idempotency_key: str | None = None
    event_type: str = USER_MESSAGE
    input_id: str | None = None


class QueuedInput(NamedTuple):
    """A row of the queue. `available_at` is empty for one that may run at once."""

    input_id: str
    session_id: str
    workspace_id: str
    event_type: str
    payload: dict[str, Any]
    status: str
    priority: int
    available_at: str
    attempt: int
    idempotency_key: str | None
    claimed_by: str | None
    claimed_until: str | None
    created_at: str
    updated_at: str


class InputQueue:
    def __init__(self, database: Database, outbox: Outbox | None = None) -> None:
        """`outbox` is the one whose signal somebody waits for; without one the files follow at the next look."""
        self._database = database
        self._outbox = outbox or Outbox(database)

    def enqueue(
        self,
        workspace_id: str,
        session_id: str,
        payload: Mapping[str, Any],
        *,
        priority: int = 0,
        idempotency_key: str | None = None,
        event_type: str = USER_MESSAGE,
        input_id: str | None = None,
    ) -> QueuedInput:
        """Append an event and its input. A key that was used before in the workspace returns the first input.

        A session that does not exist is made. Raises `DomainError`: `workspace_not_found`, `session_not_found` for one
        of another workspace, conflict `session_terminated`, conflict `input_exists` for an id in use, unprocessable
        `event_type_invalid` for a decision, which belongs to the action it decides.
        """
        item = NewInput(workspace_id, session_id, payload, priority, idempotency_key, event_type, input_id)
        with self._database.transaction():
            return self._require(self.enqueue_all((item,))[0])

    def enqueue_all(self, items: Sequence[NewInput]) -> list[str]:
        """Enqueue several at once, all or nothing; their ids, in order. Raises what `enqueue` raises."""
        now = utc_now()
        ids, events, inputs = list[str](), list[tuple[Value, ...]](), list[tuple[Value, ...]]()
        sessions: dict[str, str] = {}
        with self._database.transaction():
            used = self._used_keys(items)
            for workspace, session, payload, priority, key, event_type, input_id in items:
                if key is not None and (first := used.get((workspace, key))) is not None:
                    ids.append(first)
                    continue
                if event_type in DECISIONS:
                    raise _decision(event_type)
                if input_id is None:
                    input_id = new_id()
                elif self.get(input_id) is not None:
                    raise _taken(input_id)
                if key is not None:
                    used[workspace, key] = input_id
                if sessions.setdefault(session, workspace) != workspace:
                    raise not_found("session", session)
                text = encode(payload)
                ids.append(input_id)
                events.append((input_id, session, event_type, text, now))
                inputs.append((input_id, session, workspace, event_type, text, priority, key, now, now))
            self._accept(sessions, now)
            self._database.execute_many(_EVENT, events)
            self._database.execute_many(_INPUT, inputs)
            self._note_for_files(sessions)
        return ids

    def get(self, input_id: str) -> QueuedInput | None:
        return self._first(f"SELECT {_COLUMNS} FROM agent_session_inputs WHERE input_id = ?", (input_id,))

    def by_key(self, workspace_id: str | None, idempotency_key: str) -> QueuedInput | None:
        """The input of a key; the oldest of any workspace when none is named."""
        return self._first(
            f"SELECT {_COLUMNS} FROM agent_session_inputs WHERE (?1 IS NULL OR workspace_id = ?1)"
            " AND idempotency_key = ?2 ORDER BY seq LIMIT 1",
            (workspace_id, idempotency_key),
        )

    def claim(
        self,
        limit: int,
        claimed_by: str,
        lease_seconds: float,
        *,
        distinct_sessions: bool = False,
        exclude_session_ids: Collection[str] = (),
    ) -> list[QueuedInput]:
        """At most `limit` inputs, the highest priority first, then the oldest; they are `claimed_by`'s until the lease
        runs out.

        None of a session that has an input claimed by anybody already, is held, ended, leased to somebody else, or
        waits for decisions. With `distinct_sessions` at most one of each session.
        """
        now, until = utc_now(), from_now(lease_seconds)
        excluded = encode(list(exclude_session_ids))
        values = (now, claimed_by, excluded, int(distinct_sessions), limit, until)
        with self._database.transaction():
            rows = self._database.tuples(_CLAIM, values)
        rows.sort(key=_PLACE)
        return [_record(row) for row in rows]

    def renew(self, input_id: str, claimed_by: str, lease_seconds: float) -> QueuedInput | None:
        """Hold it longer. None when it is not claimed by `claimed_by` any more: whoever asked has lost it."""
        with self._database.transaction():
            values = (from_now(lease_seconds), utc_now(), input_id, claimed_by)
            return self._first(_RENEW, values)

    def complete(self, input_id: str, status: str, claimed_by: str) -> QueuedInput | None:
        """End it as DONE, FAILED or PAUSED. None, with nothing changed, unless `claimed_by` has it claimed."""
        now = _end_time(status)
        with self._database.transaction():
            found = self._first(_COMPLETE_ONE, (input_id, now, status, claimed_by))
            if found is not None:
                self._database.execute(_PROCESSED_ONE, (input_id, now))
                self._database.execute(_REST_ONE, (found.session_id,))
                self._note_for_files((found.session_id,))
        return found

    def complete_all(self, input_ids: Sequence[str], status: str, claimed_by: str) -> list[str]:
        """End several at once; the ids of those that `claimed_by` had claimed."""
        now = _end_time(status)
        with self._database.transaction():
            done = self._database.tuples(_COMPLETE_EACH, (encode(list(input_ids)), now, status, claimed_by))
            self._database.execute(_PROCESSED_EACH, (encode([row[0] for row in done]), now))
            sessions = {row[1] for row in done}
            self._database.execute(_REST_EACH, (encode(list(sessions)),))
            self._note_for_files(sessions)
        return [row[0] for row in done]

    def rewrite(
        self,
        input_id: str,
        *,
        payload: Mapping[str, Any] | None = None,
        priority: int | None = None,
        available_at: str | None = None,
    ) -> QueuedInput | None:
        """Change what a queued input asks, or its place. None when it is not queued."""
        with self._database.transaction():
            return self._first(
                "UPDATE agent_session_inputs SET payload = coalesce(?1, payload), priority = coalesce(?2, priority),"
                " available_at = coalesce(?3, available_at), updated_at = ?4"
                f" WHERE input_id = ?5 AND status = 'QUEUED' RETURNING {_COLUMNS}",
                (None if payload is None else encode(payload), priority, available_at, utc_now(), input_id),
            )

    def force(self, input_id: str, status: str) -> QueuedInput | None:
        """End an input whoever had it, or give a claimed one back (QUEUED). None when it is not queued or claimed.

        Raises conflict `input_running` for one that a run is working on: that is for the session to stop.
        """
        if status not in (*_ENDS, "CANCELLED", "QUEUED"):
            raise DomainError("unprocessable", "status_invalid", f"No input can be set to {status!r}.")
        now = utc_now()
        with self._database.transaction():
            if self._database.scalar(_IN_A_RUN, (input_id,)) is not None:
                raise DomainError(
                    "conflict", "input_running", "A run is working on this input. Stop the run instead."
                )
            found = self._first(
                "UPDATE agent_session_inputs SET status = ?1, claimed_by = NULL, claimed_until = NULL, updated_at = ?2"
                f" WHERE input_id = ?3 AND status IN ('QUEUED', 'CLAIMED') RETURNING {_COLUMNS}",
                (status, now, input_id),
            )
            if found is not None and status != "QUEUED":
                self._database.execute(_PROCESSED_ONE, (input_id, now))
                self._database.execute(_REST_ONE, (found.session_id,))
                self._note_for_files((found.session_id,))
        return found

    def expired(self, now: str | None = None) -> list[QueuedInput]:
        """Claimed inputs whose lease ran out, the oldest first."""
        rows = self._database.tuples(
            f"SELECT {_COLUMNS} FROM agent_session_inputs WHERE status = 'CLAIMED' AND claimed_until <= ?"
            " ORDER BY seq + 0",
            (now or utc_now(),),
        )
        return [_record(row) for row in rows]

    def recover_expired(self) -> list[QueuedInput]:
        """Give back what its owner lost: queued again where nothing was said or done yet, failed otherwise.

        Inputs of a run that has not ended are left to the recovery of runs. Returns each as it is now.
        """
        if not self._database.tuples(_LOST, (utc_now(),)):
            return []  # asked all the time, and hardly ever anything: that must not cost a write
        with self._database.transaction():
            lost = [_record(row) for row in self._database.tuples(_LOST, (utc_now(),))]
            for item in lost:
                if item.attempt + 1 < RECOVERABLE_ATTEMPTS and not self._worked(item.input_id):
                    self._give_back(item)
                else:
                    self._fail(item)
            self._note_for_files({item.session_id for item in lost})
            return [self._require(item.input_id) for item in lost]

    def has_ready(self, session_id: str) -> bool:
        """Whether the session has a queued input that may run now, whatever else holds it back."""
        found = self._database.scalar(
            "SELECT 1 FROM agent_session_inputs WHERE session_id = ? AND status = 'QUEUED' AND available_at <= ?"
            " LIMIT 1",
            (session_id, utc_now()),
        )
        return found is not None

    def _note_for_files(self, session_ids: Collection[str]) -> None:
        """The files of an agent's session are behind its log now."""
        for session_id in session_ids:
            self._outbox.mark(session_id, EVENTS)
            self._outbox.mark(session_id, SESSION)

    def _first(self, sql: str, values: Sequence[Value]) -> QueuedInput | None:
        rows = self._database.tuples(sql, values)
        return _record(rows[0]) if rows else None

    def _require(self, input_id: str) -> QueuedInput:
        found = self.get(input_id)
        if found is None:
            raise not_found("input", input_id)
        return found

    def _used_keys(self, items: Sequence[NewInput]) -> dict[tuple[str, str], str]:
        keys = {item.idempotency_key for item in items if item.idempotency_key is not None}
        if not keys:
            return {}
        rows = self._database.tuples(
            "SELECT workspace_id, idempotency_key, input_id FROM agent_session_inputs"
            " WHERE workspace_id IN (SELECT value FROM json_each(?))"
            " AND idempotency_key IN (SELECT value FROM json_each(?))",
            (encode(list({item.workspace_id for item in items})), encode(list(keys))),
        )
        return {(workspace_id, key): input_id for workspace_id, key, input_id in rows}

    def _accept(self, sessions: Mapping[str, str], now: str) -> None:
        """Make ready for something new what is there, and make what is not. `sessions` says whose workspace each is."""
        wanted = encode(list(sessions))
        there = {
            session: (workspace, status)
            for session, workspace, status in self._database.tuples(_THERE, (wanted,))
        }
        for session_id, workspace_id in sessions.items():
            owner, status = there.get(session_id, (None, None))
            if owner is None:
                self._create_session(workspace_id, session_id, now)
            elif owner != workspace_id:
                raise not_found("session", session_id)
            elif status == "terminated":
                raise DomainError(
                    "conflict", "session_terminated", "This session has ended. Start another one to go on."
                )
        self._database.execute(_ACCEPT, (now, wanted))

    def _create_session(self, workspace_id: str, session_id: str, now: str) -> None:
        workspace = self._database.row(
            "SELECT kind FROM workspaces WHERE id = ? AND deleted_at_utc IS NULL", (workspace_id,)
        )
        if workspace is None:
            raise not_found("workspace", workspace_id)
        self._database.execute(
            "INSERT INTO agent_sessions (session_id, workspace_id, kind, created_by, harness_session_id, created_at,"
            " updated_at) VALUES (?, ?, 'workspace_session', 'queue', ?, ?, ?)",
            (session_id, workspace_id, session_id, now, now),
        )

    def _worked(self, input_id: str) -> bool:
        return self._database.scalar(_WORKED, (input_id,)) is not None

    def _give_back(self, item: QueuedInput) -> None:
        self._database.execute(
            "UPDATE agent_session_inputs SET status = 'QUEUED', attempt = attempt + 1, available_at = '',"
            " claimed_by = NULL, claimed_until = NULL, updated_at = ? WHERE input_id = ?",
            (utc_now(), item.input_id),
        )

    def _fail(self, item: QueuedInput) -> None:
        now = utc_now()
        error = {
            "type": "claim_expired",
            "message": "The worker that had this message did not finish it. Send it again to go on.",
        }
        self._database.execute(
            "UPDATE agent_session_inputs SET status = 'FAILED', claimed_by = NULL, claimed_until = NULL,"
            " updated_at = ? WHERE input_id = ?",
            (now, item.input_id),
        )
        self._database.execute(_PROCESSED_ONE, (item.input_id, now))
        self._database.execute(
            "UPDATE agent_sessions SET last_error = ?, row_version = row_version + 1, updated_at = ?,"
            " status = CASE WHEN status = 'rescheduling' THEN 'idle' ELSE status END WHERE session_id = ?",
            (encode(error), now, item.session_id),
        )


def _record(row: tuple[Any, ...]) -> QueuedInput:
    """From a row that begins with `_COLUMNS`."""
    return QueuedInput._make((*row[:4], decode(row[4]), *row[5:14]))


def _end_time(status: str) -> str:
    if status not in _ENDS:
        raise DomainError("unprocessable", "status_invalid", f"An input ends as one of {', '.join(_ENDS)}.")
    return utc_now()


def _taken(input_id: str) -> DomainError:
    return DomainError("conflict", "input_exists", f"The input id {input_id!r} is already in use.")


def _decision(event_type: str) -> DomainError:
    return DomainError(
        "unprocessable",
        "event_type_invalid",
        f"{event_type} decides about an action. Answer the action of the session instead.",
    )
