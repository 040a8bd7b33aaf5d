"""What a dead process left behind: wakes that began and never ended.

Nothing said and nothing done means that the input runs again; anything else is shown, ended and left to the person.
Both go through the transactions every other run ends in, under a new lease, so that nothing can end twice.
"""

from __future__ import annotations

import logging

from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.retry import MAX_RETRIES
from holaboss_runtime.sessions.settle import Claim, Settler, interrupted
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.turns import RequestFacts
from holaboss_runtime.store.wakes import WakeRecord

log = logging.getLogger(__name__)
RECOVERY_LEASE_S = 60.0


class Recovery:
    def __init__(self, records: Records, settler: Settler, owner: str) -> None:
        self._records = records
        self._settler = settler
        self._owner = owner

    def recover_all(self, dead_owner_prefix: str) -> int:
        """End or requeue every abandoned wake; how many there were."""
        abandoned = self._records.wakes.abandoned(dead_owner_prefix)
        for wake in abandoned:
            self.recover(wake)
        return len(abandoned)

    def recover(self, wake: WakeRecord) -> None:
        with self._records.database.transaction(durable=True):
            self._records.sessions.break_lease(wake.session_id)
            epoch = self._records.sessions.acquire_lease(
                wake.session_id, self._owner, from_now(RECOVERY_LEASE_S)
            )
            claimed = self._records.inputs.get(wake.lead_input_id)
            if epoch is None or claimed is None:
                raise RuntimeError(f"wake {wake.wake_id} has no session or input to recover")
            fold = TurnFold.of(self._records.outputs.of_inputs([claimed.input_id])[claimed.input_id])
            claim = Claim(claimed, wake, epoch, request=self._request(claimed.input_id, fold))
            if fold.progressed or claimed.attempt >= MAX_RETRIES:
                self._settler.finish(claim, fold, interrupted(fold))
            else:
                self._settler.requeue(claim, delay_s=0.0, why=interrupted(fold).payload)
        log.info("recovered wake %s of session %s", wake.wake_id, wake.session_id)

    def _request(self, input_id: str, fold: TurnFold) -> RequestFacts:
        snapshot = self._records.snapshots.get(input_id)
        return RequestFacts(
            prompt_section_ids=tuple(fold.started.get("prompt_section_ids", ())),
            capability_manifest_fingerprint=fold.started.get("capability_manifest_fingerprint"),
            request_snapshot_fingerprint=snapshot.fingerprint if snapshot else None,
            prompt_cache_profile=fold.started.get("prompt_cache_profile"),
        )
