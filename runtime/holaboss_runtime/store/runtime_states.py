"""Writing the state of a session in the words of the queue: which stored fields stand for IDLE, BUSY and the others.

Reading is elsewhere: what a session is gets derived from its row, its queue and its last turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode_optional
from holaboss_runtime.store.outbox import SESSION, Outbox

STATUSES = ("IDLE", "BUSY", "WAITING_USER", "ERROR", "QUEUED", "PAUSED")

# The stored status and hold of each.
_FIELDS: dict[str, tuple[str, str | None]] = {
    "IDLE": ("idle", None),
    "BUSY": ("running", None),
    "WAITING_USER": ("requires_action", None),
    "ERROR": ("idle", None),
    "QUEUED": ("rescheduling", None),
    "PAUSED": ("idle", "user_pause"),
}
_WITHOUT_REASON = {"type": "unknown", "message": "No reason was given."}


class RuntimeStates:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._outbox = Outbox(database)

    def set_status(self, session_id: str, status: str, last_error: Mapping[str, Any] | None = None) -> None:
        """Say what a session is. An error is kept with ERROR and with nothing else.

        Raises `unprocessable` `status_invalid`, conflict `session_running` while a run of the runtime goes on, conflict
        `session_terminated`.
        """
        if status not in _FIELDS:
            raise DomainError("unprocessable", "status_invalid", f"A status is one of {', '.join(STATUSES)}.")
        stored, hold = _FIELDS[status]
        error = (last_error or _WITHOUT_REASON) if status == "ERROR" else None
        with self._database.transaction():
            row = self._database.row(
                "SELECT s.status, w.wake_id FROM agent_sessions s"
                " LEFT JOIN wakes w ON w.session_id = s.session_id AND w.ended_at IS NULL WHERE s.session_id = ?",
                (session_id,),
            )
            if row is not None and row["status"] == "terminated":
                raise DomainError("conflict", "session_terminated", "This session has ended.")
            if row is not None and row["wake_id"] is not None:
                raise DomainError(
                    "conflict",
                    "session_running",
                    "A run goes on in this session. Stop it first, or wait for its end.",
                )
            self._database.execute(
                "UPDATE agent_sessions SET status = ?, hold = ?, last_error = ?, updated_at = ?,"
                " row_version = row_version + 1 WHERE session_id = ?",
                (stored, hold, encode_optional(error), utc_now(), session_id),
            )
            self._outbox.mark(session_id, SESSION)

    def lease(self, session_id: str, worker: str | None, until: str | None) -> None:
        """Take or prolong the lease for `worker`, or end the one it has (None).

        Raises conflict `session_leased` while somebody else holds one that has not run out.
        """
        now = utc_now()
        taking = worker is not None and until is not None
        with self._database.transaction():
            changed = self._database.execute(
                "UPDATE agent_sessions SET lease_owner = ?1, lease_until = ?2, heartbeat_at = ?3,"
                " lease_epoch = lease_epoch + (?1 IS NOT NULL AND lease_owner IS NOT ?1)"
                " WHERE session_id = ?4 AND (lease_until IS NULL OR lease_until <= ?3 OR lease_owner = ?5)",
                (worker if taking else None, until if taking else None, now, session_id, worker),
            )
        if not changed:
            raise DomainError(
                "conflict",
                "session_leased",
                "Somebody else is working on this session. Wait for its lease to end.",
            )
