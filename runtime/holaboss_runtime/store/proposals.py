"""Rows of `task_proposals` and `memory_update_proposals`: suggestions that wait for a person's consent.

A proposal is decided once: accepting or dismissing one that was decided already changes nothing and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family

_NEWEST_FIRST = "created_at DESC, proposal_id DESC"


@dataclass(frozen=True, slots=True)
class TaskProposal:
    """`state` is not_reviewed, accepted or dismissed; `proposal_source` is proactive or evolve."""

    proposal_id: str
    workspace_id: str
    task_name: str
    task_prompt: str
    task_generation_rationale: str
    proposal_source: str
    source_event_ids: list[str]
    created_at: str
    state: str
    accepted_session_id: str | None
    accepted_input_id: str | None
    accepted_at: str | None


@dataclass(frozen=True, slots=True)
class MemoryProposal:
    """`state` is pending, accepted or dismissed."""

    proposal_id: str
    workspace_id: str
    session_id: str
    input_id: str
    proposal_kind: str
    target_key: str
    title: str
    summary: str
    payload: dict[str, Any]
    evidence: str | None
    confidence: float | None
    source_message_id: str | None
    state: str
    persisted_memory_id: str | None
    created_at: str
    updated_at: str
    accepted_at: str | None
    dismissed_at: str | None


class TaskProposals:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(
            database, "task_proposals", TaskProposal, key=("proposal_id",), json_columns=("source_event_ids",)
        )

    def create(
        self,
        workspace_id: str,
        *,
        task_name: str,
        task_prompt: str,
        task_generation_rationale: str,
        proposal_id: str | None = None,
        proposal_source: str = "proactive",
        source_event_ids: Sequence[str] = (),
        created_at: str | None = None,
        state: str = "not_reviewed",
    ) -> TaskProposal:
        """Raises conflict `task_proposals_exists` for an id in use."""
        return self._rows.put(
            {
                "proposal_id": proposal_id or new_id(),
                "workspace_id": workspace_id,
                "task_name": task_name,
                "task_prompt": task_prompt,
                "task_generation_rationale": task_generation_rationale,
                "proposal_source": proposal_source,
                "source_event_ids": list(source_event_ids),
                "created_at": created_at or utc_now(),
                "state": state,
            }
        )

    def get(self, proposal_id: str) -> TaskProposal | None:
        return self._rows.get(proposal_id)

    def page(
        self, workspace_id: str, *, state: str | None = None, limit: int = -1, offset: int = 0
    ) -> list[TaskProposal]:
        return self._rows.select(
            {"workspace_id": workspace_id, "state": state}, order=_NEWEST_FIRST, limit=limit, offset=offset
        )

    def set_state(self, proposal_id: str, state: str) -> TaskProposal | None:
        """Whatever it was before; None when it is not there."""
        return self._rows.update((proposal_id,), {"state": state})

    def accept(self, proposal_id: str, *, session_id: str, input_id: str) -> TaskProposal:
        """Raises `task_proposal_not_found`, or conflict `proposal_decided`."""
        with self._database.transaction():
            self._undecided(proposal_id)
            accepted = {
                "state": "accepted",
                "accepted_session_id": session_id,
                "accepted_input_id": input_id,
                "accepted_at": utc_now(),
            }
            return _present(self._rows.update((proposal_id,), accepted))

    def dismiss(self, proposal_id: str) -> TaskProposal:
        """Raises `task_proposal_not_found`, or conflict `proposal_decided`."""
        with self._database.transaction():
            self._undecided(proposal_id)
            return _present(self._rows.update((proposal_id,), {"state": "dismissed"}))

    def _undecided(self, proposal_id: str) -> None:
        found = self.get(proposal_id)
        if found is None:
            raise not_found("task_proposal", proposal_id)
        if found.state != "not_reviewed":
            raise _decided(found.state)


class MemoryProposals:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(
            database,
            "memory_update_proposals",
            MemoryProposal,
            key=("proposal_id",),
            json_columns=("payload",),
        )

    def create(
        self,
        workspace_id: str,
        *,
        session_id: str,
        input_id: str,
        proposal_kind: str,
        target_key: str,
        title: str,
        summary: str,
        payload: Mapping[str, Any] | None = None,
        evidence: str | None = None,
        confidence: float | None = None,
        source_message_id: str | None = None,
    ) -> MemoryProposal:
        return self._rows.put(
            {
                "proposal_id": new_id(),
                "workspace_id": workspace_id,
                "session_id": session_id,
                "input_id": input_id,
                "proposal_kind": proposal_kind,
                "target_key": target_key,
                "title": title,
                "summary": summary,
                "payload": dict(payload or {}),
                "evidence": evidence,
                "confidence": confidence,
                "source_message_id": source_message_id,
            }
        )

    def get(self, proposal_id: str) -> MemoryProposal | None:
        return self._rows.get(proposal_id)

    def page(
        self, workspace_id: str, *, limit: int = 200, offset: int = 0, **equal: str | None
    ) -> list[MemoryProposal]:
        """The newest first. `equal` narrows by session_id, input_id, state."""
        return self._rows.select(
            {"workspace_id": workspace_id, **equal}, order=_NEWEST_FIRST, limit=limit, offset=offset
        )

    def accept(
        self, proposal_id: str, *, persisted_memory_id: str, summary: str | None = None
    ) -> MemoryProposal:
        """Raises `memory_proposal_not_found`, or conflict `proposal_decided`."""
        changes: dict[str, Any] = {
            "state": "accepted",
            "accepted_at": utc_now(),
            "persisted_memory_id": persisted_memory_id,
        }
        return self._decide(proposal_id, changes if summary is None else {**changes, "summary": summary})

    def dismiss(self, proposal_id: str) -> MemoryProposal:
        """Raises `memory_proposal_not_found`, or conflict `proposal_decided`."""
        return self._decide(proposal_id, {"state": "dismissed", "dismissed_at": utc_now()})

    def _decide(self, proposal_id: str, changes: Mapping[str, Any]) -> MemoryProposal:
        with self._database.transaction():
            found = self.get(proposal_id)
            if found is None:
                raise not_found("memory_proposal", proposal_id)
            if found.state != "pending":
                raise _decided(found.state)
            decided = self._rows.update((proposal_id,), changes)
        assert decided is not None, "it was read in the same transaction"
        return decided


def _present(found: TaskProposal | None) -> TaskProposal:
    assert found is not None, "it was read in the same transaction"
    return found


def _decided(state: str) -> DomainError:
    return DomainError("conflict", "proposal_decided", f"This proposal is {state} already.", state=state)
