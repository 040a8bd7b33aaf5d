"""What a dead process left behind: wakes that began and never ended, leases nobody holds, continuity still owed.

Nothing said and nothing done means that the inputs run again; anything else is shown, ended and left to the person. An
approved call is never made twice: once it was handed out, its run is not repeated. Everything goes through the
transactions every other run ends in, under a new lease, so that nothing can end twice.
"""

from __future__ import annotations

import logging

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.sessions.continuity import Continuity
from holaboss_runtime.sessions.owners import Owners
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.retry import MAX_RETRIES
from holaboss_runtime.sessions.settle import Settler, interrupted
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.pending_actions import APPROVED
from holaboss_runtime.store.queue import InputQueue
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import TERMINATED, SessionRecord
from holaboss_runtime.store.turns import RequestFacts
from holaboss_runtime.store.wakes import WakeRecord

log = logging.getLogger(__name__)
RECOVERY_LEASE_S = 60.0


class Recovery:
    def __init__(
        self,
        records: Records,
        publisher: Publisher,
        settler: Settler,
        continuity: Continuity,
        owners: Owners,
        owner: str,
    ) -> None:
        self._records = records
        self._publish = publisher
        self._settler = settler
        self._continuity = continuity
        self._owners = owners
        self._owner = owner
        self._queue = InputQueue(records.database, records.outbox)

    def recover_all(self) -> int:
        """End or requeue every abandoned wake and free what dead owners held; how many wakes there were."""
        recovered = sum(self.recover_or_report(wake.session_id) for wake in self._records.wakes.open())
        with self._records.database.transaction():
            for session in self._records.sessions.leased():
                if not self._is_held(session):
                    self._records.sessions.break_lease(session.session_id)
        self.recover_claims()
        self._continuity.complete_all()
        return recovered

    def recover_claims(self) -> None:
        """Give back what workers of the queue claimed and lost; runs of ours are recovered by their wakes."""
        if not self._queue.expired():
            return
        with self._records.database.transaction():
            for lost in self._queue.recover_expired():
                self._publish.queue(lost.workspace_id, lost.session_id, lost.input_id)
                self._publish.state(lost.session_id)

    def recover_if_abandoned(self, session_id: str) -> bool:
        """End or requeue the open wake of a session when nobody is working on it, and do what its last one left to
        do; whether there was an open one."""
        session = self._records.sessions.get(session_id)
        if session is None or self._is_held(session):
            return False
        wake = self._records.wakes.running(session_id)
        if wake is not None:
            self.recover(wake)
        elif session.lease_owner is not None:
            self._free(session_id)
        self._continuity.complete_all(session_id)
        return wake is not None

    def recover_or_report(self, session_id: str) -> bool:
        """`recover_if_abandoned` for one of many: a session that cannot be recovered must not hold up the others.

        Raises `DomainError` when the disk is in the way, which concerns them all.
        """
        try:
            return self.recover_if_abandoned(session_id)
        except DomainError:
            raise
        except Exception:
            log.exception("session %s could not be recovered", session_id)
            return False

    def recover_own(self, session_id: str) -> None:
        """The same for a run of this very process that could not end itself, or not let go of the session, though the
        lease still holds."""
        session, wake = self._records.sessions.get(session_id), self._records.wakes.running(session_id)
        if session is None or session.lease_owner != self._owner:
            return
        if wake is not None:
            self.recover(wake)
        else:
            with self._records.database.transaction():
                self._records.sessions.release_lease(session_id, session.lease_epoch)

    def recover(self, wake: WakeRecord) -> None:
        with self._records.database.transaction(durable=True):
            still = self._records.wakes.running(wake.session_id)
            if still is None or still.wake_id != wake.wake_id:
                return  # somebody else recovered it
            claim = self._claim(wake)
            said = self._records.outputs.of_inputs([wake.lead_input_id])[wake.lead_input_id]
            fold = TurnFold.of(said)
            claim = Claim(
                claim.input,
                wake,
                claim.epoch,
                claim.session,
                claim.inputs,
                request=self._request(wake.lead_input_id, fold),
            )
            if self._must_not_repeat(claim, fold):
                self._settler.finish(claim, fold, interrupted(fold))
                self._continuity.complete(wake.wake_id)
                self._settler.release(claim)
            else:
                self._settler.requeue(claim, delay_s=0.0, why=interrupted(fold).payload)
        log.info("recovered wake %s of session %s", wake.wake_id, wake.session_id)

    def _free(self, session_id: str) -> None:
        """Its owner died between the commit and the release."""
        with self._records.database.transaction():
            session = self._records.sessions.get(session_id)
            if session is not None and not self._is_held(session):
                self._records.sessions.break_lease(session_id)

    def _claim(self, wake: WakeRecord) -> Claim:
        self._records.sessions.break_lease(wake.session_id)
        epoch = self._records.sessions.acquire_lease(wake.session_id, self._owner, from_now(RECOVERY_LEASE_S))
        inputs = self._records.inputs.of_wake(wake.wake_id)
        session = self._records.sessions.get(wake.session_id)
        if epoch is None or session is None or not inputs:
            raise RuntimeError(f"wake {wake.wake_id} has no session or input to recover")
        return Claim(inputs[0], wake, epoch, session, tuple(inputs))

    def _must_not_repeat(self, claim: Claim, fold: TurnFold) -> bool:
        handed_out = fold.began and any(
            action.status == APPROVED for action in self._records.actions.delivered_to(claim.wake.wake_id)
        )
        over = claim.session.status == TERMINATED or claim.input.attempt >= MAX_RETRIES
        # A subagent can be there before the call that began it is recorded.
        delegated = self._records.subagents.begun_by(claim.session.session_id, claim.input.input_id)
        return fold.progressed or handed_out or delegated or over

    def _is_held(self, session: SessionRecord) -> bool:
        """By somebody who lives, and whose lease has not run out: a process can hang for good."""
        return (
            session.lease_owner is not None
            and session.lease_until is not None
            and session.lease_until > utc_now()
            and self._owners.is_alive(session.lease_owner)
        )

    def _request(self, input_id: str, fold: TurnFold) -> RequestFacts:
        snapshot = self._records.snapshots.get(input_id)
        return RequestFacts(
            prompt_section_ids=tuple(fold.started.get("prompt_section_ids", ())),
            capability_manifest_fingerprint=fold.started.get("capability_manifest_fingerprint"),
            request_snapshot_fingerprint=snapshot.fingerprint if snapshot else None,
            prompt_cache_profile=fold.started.get("prompt_cache_profile"),
        )
