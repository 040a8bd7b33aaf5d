"""Rows of `evolve_skill_candidates`: skills that a review of turns drafted, for a person to accept or dismiss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family

_TIMES = {
    "proposed": "proposed_at",
    "dismissed": "dismissed_at",
    "accepted": "accepted_at",
    "promoted": "promoted_at",
}


@dataclass(frozen=True, slots=True)
class SkillCandidate:
    """`status` is draft, proposed, accepted, promoted or dismissed; `kind` is skill_create or skill_patch."""

    candidate_id: str
    workspace_id: str
    session_id: str
    input_id: str
    task_proposal_id: str | None
    kind: str
    status: str
    title: str
    summary: str
    slug: str
    skill_path: str
    content_fingerprint: str
    confidence: float | None
    evaluation_notes: str | None
    source_turn_input_ids: list[str]
    created_at: str
    updated_at: str
    proposed_at: str | None
    dismissed_at: str | None
    accepted_at: str | None
    promoted_at: str | None


class SkillCandidates:
    def __init__(self, database: Database) -> None:
        self._rows = Family(
            database,
            "evolve_skill_candidates",
            SkillCandidate,
            key=("candidate_id",),
            json_columns=("source_turn_input_ids",),
        )

    def create(self, workspace_id: str, **values: Any) -> SkillCandidate:  # noqa: ANN401
        """`values` are the columns; session_id, input_id, kind, title, summary, slug, skill_path and
        content_fingerprint are needed."""
        given = {name: value for name, value in values.items() if value is not None}
        return self._rows.put({"candidate_id": new_id(), "workspace_id": workspace_id, **given})

    def get(self, candidate_id: str) -> SkillCandidate | None:
        return self._rows.get(candidate_id)

    def of_proposal(self, task_proposal_id: str) -> SkillCandidate | None:
        found = self._rows.select({"task_proposal_id": task_proposal_id}, order="created_at DESC", limit=1)
        return found[0] if found else None

    def page(self, workspace_id: str, *, status: str | None = None, limit: int = 200) -> list[SkillCandidate]:
        return self._rows.select(
            {"workspace_id": workspace_id, "status": status},
            order="created_at DESC, candidate_id DESC",
            limit=limit,
        )

    def set_status(
        self, candidate_id: str, status: str, *, task_proposal_id: str | None = None
    ) -> SkillCandidate | None:
        """Move it on, noting when. None when it is not there."""
        changes: dict[str, Any] = {"status": status}
        if status in _TIMES:
            changes[_TIMES[status]] = utc_now()
        if task_proposal_id is not None:
            changes["task_proposal_id"] = task_proposal_id
        return self._rows.update((candidate_id,), changes)
