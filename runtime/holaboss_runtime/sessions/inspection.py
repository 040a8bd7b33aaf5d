"""What the runs of a session left behind, and what was said anywhere. Reads only, and whole records."""

from __future__ import annotations

from typing import Any

from holaboss_client.agents import ActivationList
from holaboss_client.inspection import (
    BoundaryList,
    CompactionBoundary,
    RequestSnapshotList,
    ResumeContext,
    SearchHit,
    SearchHits,
    TurnResultList,
)
from holaboss_runtime.runs import continuity
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.search import Search


class Inspection:
    """Sessions and workspaces are looked up by whoever asks; an unknown one simply has nothing."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._search = Search(records.database)

    def activations(
        self, agent_id: str, *, session_id: str | None, claim_id: str | None, kind: str | None, limit: int
    ) -> ActivationList:
        items = self._records.activations.select(
            agent_id,
            session_id=session_id,
            claim_id=claim_id,
            kinds=() if kind is None else (kind,),
            limit=limit,
        )
        return ActivationList(items=items, count=len(items))

    def turn_results(self, session_id: str, *, before_seq: int | None, limit: int) -> TurnResultList:
        items = self._records.turns.newest(session_id, limit=limit, before_seq=before_seq)
        return TurnResultList(items=items, count=len(items))

    def request_snapshots(self, session_id: str, *, before: str | None, limit: int) -> RequestSnapshotList:
        """`before` is the input id of the last one of the page before."""
        items = self._records.snapshots.page(session_id, before=before, limit=limit)
        return RequestSnapshotList(items=items, count=len(items))

    def boundaries(self, session_id: str, *, before_seq: int | None, limit: int) -> BoundaryList:
        found = self._records.boundaries.page(session_id, limit=limit, before_seq=before_seq)
        items = [CompactionBoundary.model_validate(one) for one in found]
        return BoundaryList(items=items, count=len(items))

    def resume_context(self, session_id: str) -> ResumeContext:
        """From the newest boundary; without one from the newest turns and messages."""
        boundary = self._records.boundaries.latest(session_id)
        if boundary is not None:
            restoration: dict[str, Any] = boundary["restoration_context"] or {}
            return ResumeContext(
                session_id=session_id,
                compaction_restoration_context=restoration or None,
                recent_runtime_context=boundary["recent_runtime_context"],
                session_resume_context=_restored(boundary, restoration),
            )
        turns = self._records.turns.newest(session_id, limit=continuity.PRESERVED_TURNS)
        said = self._records.messages.newest_of(session_id, "user", limit=continuity.RESUME_MESSAGES)
        return ResumeContext(
            session_id=session_id,
            recent_runtime_context=continuity.runtime_context(turns[0]) if turns else None,
            session_resume_context=continuity.session_resume_context(
                turns, [continuity.UserMessage(*one) for one in said]
            ),
        )

    def search(
        self, workspace_id: str, query: str, *, session_id: str | None, before: str | None, limit: int
    ) -> SearchHits:
        """Raises `DomainError` `cursor_invalid`."""
        found = self._search.search(workspace_id, query, session_id=session_id, before=before, limit=limit)
        items = [
            SearchHit(
                kind=hit.kind,
                input_id=hit.input_id,
                session_id=hit.session_id,
                role=hit.role,
                created_at=hit.created_at,
                snippet=hit.snippet,
                cursor=hit.cursor,
            )
            for hit in found
        ]
        return SearchHits(items=items, count=len(items))


def _restored(boundary: dict[str, Any], restoration: dict[str, Any]) -> dict[str, Any] | None:
    resume = restoration.get("session_resume_context")
    if resume is None:
        return None
    return resume | {
        "compaction_source": restoration.get("compaction_source"),
        "compaction_boundary_id": boundary["boundary_id"],
        "compaction_boundary_summary": boundary["summary"],
        "restoration_order": restoration.get("restoration_order", []),
        "preserved_turn_input_ids": boundary["preserved_turn_input_ids"],
        "restored_memory_paths": restoration.get("restored_memory_paths", []),
    }
