"""Claiming: which inputs of a session run next, taken together with its lease in one transaction.

Everything is decided again inside that transaction, so that two processes can never take the same input.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from holaboss_client.agents import SessionEventType as Event
from holaboss_client.base import new_id, utc_now
from holaboss_client.events import RunEvent
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.runs.profile import Backoff
from holaboss_runtime.sessions.owners import Owners
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.session_log import SessionLog
from holaboss_runtime.store import activations
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.inputs import CHILD_RESULTS, CONTROL, INTERRUPT, InputRecord
from holaboss_runtime.store.pending_actions import APPROVED, QUESTION, ActionRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import ONE, RUNNING, TERMINATED, SessionRecord
from holaboss_runtime.store.turns import RequestFacts
from holaboss_runtime.store.wakes import WakeRecord

LEASE_S = 300.0
ANY_TIME = "9999"
"""Later than every time: also what waits for a retry."""

Skipped = Literal[
    "idle", "lease_contended", "requires_action", "held", "deferred", "terminated", "waits_for_key", "changed"
]


@dataclass(frozen=True, slots=True)
class Claim:
    """Inputs that a wake has claimed under a lease. `input` leads: the turn is filed under it. `decisions` are handed
    to the harness by this wake and by no other."""

    input: InputRecord
    wake: WakeRecord
    epoch: int
    session: SessionRecord
    inputs: tuple[InputRecord, ...]
    decisions: tuple[ActionRecord, ...] = ()
    request: RequestFacts = field(default_factory=RequestFacts)
    backoff: Backoff = field(default_factory=Backoff)
    unattended: bool = False
    """Nobody can be asked while it runs."""

    @property
    def acts(self) -> bool:
        """An approved call is made by this run, whether or not anything is heard of it."""
        return any(decision.status == APPROVED for decision in self.decisions)

    @property
    def only_stops(self) -> bool:
        """A person said stop, and nothing else; what was to be tried again is over with it."""
        return only_stops(self.inputs)

    @property
    def text(self) -> str:
        """What was asked, as a transcript shows it."""
        return "\n\n".join(taken.text for taken in self.inputs if taken.text)


class Claimer:
    def __init__(self, records: Records, publisher: Publisher, owners: Owners, owner: str) -> None:
        self._records = records
        self._publish = publisher
        self._log = SessionLog(records)
        self._owners = owners
        self._owner = owner

    def peek(
        self, session: SessionRecord, *, at: str | None = None, past: Collection[str] = ()
    ) -> list[InputRecord] | Skipped:
        """What the next run of a session would take right now (or `at` a later time), its lead first; or why there
        is none. Inputs in `past` are passed over: they wait for a key."""
        if session.status == TERMINATED:
            return "terminated"
        if session.hold is not None:
            return "held"
        if self._records.wakes.running(session.session_id) is not None:
            return "lease_contended"  # by whoever runs it, or found it abandoned first
        if self._records.inputs.claimed_elsewhere(session.session_id, utc_now()):
            return "lease_contended"  # by a worker of the queue
        waiting = self._records.inputs.claimable(session.session_id, at or utc_now(), past=past)
        if any(found.event_type == INTERRUPT for found in waiting):  # also what waits for a retry
            waiting = self._records.inputs.claimable(session.session_id, ANY_TIME, past=past)
        blocked = bool(self._records.actions.open(session.session_id))
        if blocked and not any(found.event_type == INTERRUPT for found in waiting):
            return "requires_action"
        if not waiting:
            later = self._records.inputs.retrying(session.session_id) is not None
            return "deferred" if later else "idle"
        return self._lead_first(_chosen(session.coalesce, waiting))

    def claim(
        self,
        session_id: str,
        lead_id: str,
        *,
        reason: str = "worker",
        lease_s: float = LEASE_S,
        at: str | None = None,
        past: Collection[str] = (),
    ) -> Claim | Skipped:
        """Take the session and what is next in it, if that is still led by `lead_id`."""
        until = from_now(lease_s)
        with self._records.database.transaction():
            session = self._records.sessions.get(session_id)
            if session is None:
                return "idle"
            inputs = self.peek(session, at=at, past=past)
            if isinstance(inputs, str):
                return self._contended(session) if inputs == "lease_contended" else inputs
            if inputs[0].input_id != lead_id:
                return "changed"
            epoch = self._lease(session, until)
            return (
                self._contended(session)
                if epoch is None
                else self._begin(session, inputs, epoch, until, reason)
            )

    def _contended(self, session: SessionRecord) -> Skipped:
        self._note(session, activations.BLOCKED, new_id(), {"blockedReason": "lease_contended"})
        return "lease_contended"

    def _lease(self, session: SessionRecord, until: str) -> int | None:
        if session.lease_owner is not None and not self._owners.is_alive(session.lease_owner):
            self._records.sessions.break_lease(session.session_id)
        return self._records.sessions.acquire_lease(session.session_id, self._owner, until)

    def _begin(
        self, session: SessionRecord, inputs: list[InputRecord], epoch: int, until: str, reason: str
    ) -> Claim:
        session_id = session.session_id
        for found in inputs:
            if self._records.inputs.claim(found.input_id, self._owner, until) is None:
                raise RuntimeError(f"input {found.input_id} vanished inside a transaction")
        wake = self._records.wakes.begin(
            new_id(), session_id, [found.input_id for found in inputs], epoch, reason=reason
        )
        if any(found.event_type == INTERRUPT for found in inputs):
            self._interrupt(session, wake.wake_id)
        for found in inputs:
            if found.event_type == Event.USER_MESSAGE or found.payload.get("kind") == QUESTION:
                self._records.messages.insert(
                    found.workspace_id, session_id, found.input_id, "user", found.text
                )
            self._publish.queue(found.workspace_id, session_id, found.input_id)
        self._records.sessions.begin_run(session_id, epoch)
        self._log.status_changed(session_id, session.status, RUNNING, reason, wake.wake_id)
        self._log.wake_started(session_id, wake.wake_id, reason)
        self._note(session, activations.LEASED, wake.wake_id, {"reason": reason, "leaseOwner": self._owner})
        claim = Claim(inputs[0], wake, epoch, session, tuple(inputs))
        if not claim.only_stops:
            decisions = self._records.actions.deliver(session_id, wake.wake_id)
            claim = Claim(inputs[0], wake, epoch, session, tuple(inputs), tuple(decisions))
        lead = claim.input
        said = (RunEvent.RUN_CLAIMED, {"instruction_preview": preview(claim.text)})
        self._records.outputs.append(lead.workspace_id, session_id, lead.input_id, [said])
        self._publish.state(session_id)
        return claim

    def _interrupt(self, session: SessionRecord, wake_id: str) -> None:
        """Whatever waited for a person or for its time is off."""
        discarded = self._records.actions.cancel(session.session_id)
        self._records.scheduled.cancel_all(session.session_id)
        if discarded:
            names = ", ".join(action.tool_name for action in discarded)
            self._log.idle(session.session_id, "interrupted", f"Discarded: {names}.", wake_id=wake_id)

    def _lead_first(self, inputs: list[InputRecord]) -> list[InputRecord]:
        """What led an earlier attempt leads again: its turn has begun to be filed under it."""
        for place, found in enumerate(inputs):
            if found.attempt > 0 and self._records.wakes.latest_of(found.input_id) is not None:
                return [found, *inputs[:place], *inputs[place + 1 :]]
        return inputs

    def _note(self, session: SessionRecord, kind: str, claim_id: str, payload: dict[str, object]) -> None:
        if session.agent_id is not None:
            self._records.activations.append(
                kind,
                claim_id=claim_id,
                agent_id=session.agent_id,
                session_id=session.session_id,
                payload=payload,
            )


def only_stops(inputs: Sequence[InputRecord]) -> bool:
    """Interrupts without a word, and at most what they keep from its next attempt."""
    others = [taken for taken in inputs if taken.event_type != INTERRUPT or taken.payload.get("note")]
    return len(others) < len(inputs) and all(taken.attempt > 0 for taken in others)


def _chosen(coalesce: str, waiting: Sequence[InputRecord]) -> list[InputRecord]:
    """One message at a time for a conversation, with what its subagents came to; everything for an agent. What steers a
    run comes first for both."""
    if coalesce != ONE:
        return list(waiting)
    control = [found for found in waiting if found.event_type in CONTROL]
    if any(found.event_type == INTERRUPT for found in control):
        control += [found for found in waiting if found.attempt > 0 and found not in control]
    return control or [*waiting[:1], *(found for found in waiting[1:] if found.event_type == CHILD_RESULTS)]
