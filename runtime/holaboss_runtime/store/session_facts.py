"""Everything a session's public state is derived from, read in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_runtime.store.database import Database, Row
from holaboss_runtime.store.json_text import decode_optional

_FACTS = """\
SELECT s.workspace_id, s.session_id, s.agent_id, s.status, s.stop_reason, s.hold, s.last_error, s.heartbeat_at,
  s.lease_until,
  w.lead_input_id AS running_input,
  (SELECT i.input_id FROM agent_session_inputs i WHERE i.session_id = s.session_id AND i.status = 'QUEUED'
   ORDER BY i.attempt > 0 DESC, i.priority DESC, i.seq LIMIT 1) AS next_input,
  (SELECT min(i.available_at) FROM agent_session_inputs i WHERE i.session_id = s.session_id
   AND i.status = 'QUEUED') AS available_at,
  (SELECT count(*) FROM pending_actions a WHERE a.session_id = s.session_id AND a.status = 'open') AS open_actions,
  (SELECT min(d.due_at) FROM session_wakes d WHERE d.session_id = s.session_id
   AND d.completed_at IS NULL) AS next_wake_at,
  t.status AS last_turn_status, t.completed_at AS last_turn_completed_at, t.stop_reason AS last_turn_stop_reason
FROM agent_sessions s
LEFT JOIN wakes w ON w.session_id = s.session_id AND w.ended_at IS NULL
LEFT JOIN turn_results t ON t.session_id = s.session_id
  AND t.seq = (SELECT max(seq) FROM turn_results WHERE session_id = s.session_id)
"""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    workspace_id: str
    session_id: str
    agent_id: str | None
    status: str
    stop_reason: str | None
    hold: str | None
    last_error: dict[str, Any] | None
    heartbeat_at: str | None
    lease_until: str | None
    running_input: str | None
    next_input: str | None
    available_at: str | None
    """When the first waiting input may run; empty text for at once."""
    open_actions: int
    next_wake_at: str | None
    last_turn_status: str | None
    last_turn_completed_at: str | None
    last_turn_stop_reason: str | None


class SessionFactRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, session_id: str) -> SessionFacts | None:
        row = self._database.row(f"{_FACTS} WHERE s.session_id = ?", (session_id,))
        return None if row is None else _facts(row)

    def of_workspace(self, workspace_id: str) -> list[SessionFacts]:
        """Sessions that are not archived, the most recently used first."""
        rows = self._database.rows(
            f"{_FACTS} WHERE s.workspace_id = ? AND s.archived_at IS NULL"
            " ORDER BY s.updated_at DESC, s.session_id DESC",
            (workspace_id,),
        )
        return [_facts(row) for row in rows]


def _facts(row: Row) -> SessionFacts:
    return SessionFacts(
        workspace_id=row["workspace_id"],
        session_id=row["session_id"],
        agent_id=row["agent_id"],
        status=row["status"],
        stop_reason=row["stop_reason"],
        hold=row["hold"],
        last_error=decode_optional(row["last_error"]),
        heartbeat_at=row["heartbeat_at"],
        lease_until=row["lease_until"],
        running_input=row["running_input"],
        next_input=row["next_input"],
        available_at=row["available_at"],
        open_actions=row["open_actions"],
        next_wake_at=row["next_wake_at"],
        last_turn_status=row["last_turn_status"],
        last_turn_completed_at=row["last_turn_completed_at"],
        last_turn_stop_reason=row["last_turn_stop_reason"],
    )
