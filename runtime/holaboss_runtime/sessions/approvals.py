"""What nobody decides in time: an approval that runs out is declined, as an inbound event like any other decision.

It knows no timer. Whoever looks for work asks it what is overdue; a decision that was made in time always wins, because
both are one guarded step in a transaction of their own.
"""

from __future__ import annotations

import logging

from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.store.pending_actions import ActionRecord
from holaboss_runtime.store.records import Records

EXPIRY_S = 86_400.0
"""How long an approval waits, unless the person set another time."""

NOBODY_ANSWERED = "Nobody answered in time."

log = logging.getLogger(__name__)


class Approvals:
    def __init__(self, records: Records, inbound: Inbound) -> None:
        self._records = records
        self._inbound = inbound

    def expire(self, now: str, session_id: str | None = None) -> int:
        """Decline what is overdue at `now`, in one session or in all; how many requests that were.

        A session that is paused stays so: the decision waits with everything else.
        """
        if not self._records.actions.overdue(now, session_id):
            return 0
        with self._records.database.transaction():
            # Asked again inside: a person, or another process, may have been faster.
            overdue = self._records.actions.overdue(now, session_id)
            for action in overdue:
                self._decline(action)
        return len(overdue)

    def _decline(self, action: ActionRecord) -> None:
        session = self._records.sessions.get(action.session_id)
        if session is None:
            raise RuntimeError(f"session {action.session_id} of request {action.id} is not there")
        declined = {"request_id": action.id, "allowed": False, "note": NOBODY_ANSWERED, "expired": True}
        self._inbound.append_inbound(session, Event.USER_TOOL_CONFIRMATION, declined, resumes=False)
        log.info("request %s of session %s was not decided in time", action.id, action.session_id)
