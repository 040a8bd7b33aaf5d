"""What the runs of a session left behind, and what an operator asks of the store, as it travels."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel
from holaboss_client.sessions import TurnResult


class TurnResultList(WireModel):
    """The newest first."""

    items: list[TurnResult]
    count: int


class RequestSnapshot(WireModel):
    """What was asked of the model. Texts of prompt sections are named by fingerprint in `payload`."""

    input_id: str
    snapshot_kind: str
    fingerprint: str
    payload: dict[str, Any]
    created_at: str
    updated_at: str


class RequestSnapshotList(WireModel):
    """The newest first."""

    items: list[RequestSnapshot]
    count: int


class CompactionBoundary(WireModel):
    """The hand-off that a finished turn left to the next run."""

    seq: int
    boundary_id: str
    workspace_id: str
    session_id: str
    input_id: str
    boundary_type: str
    previous_boundary_id: str | None
    summary: str | None
    recent_runtime_context: dict[str, Any] | None
    restoration_context: dict[str, Any] | None
    preserved_turn_input_ids: list[str]
    request_snapshot_fingerprint: str | None
    created_at: str
    updated_at: str


class BoundaryList(WireModel):
    """The newest first."""

    items: list[CompactionBoundary]
    count: int


class ResumeContext(WireModel):
    """What the next run of a session starts from; null where there is nothing.

    `session_resume_context` holds at most four `recent_turns` (`input_id, status, stop_reason, summary, completed_at`)
    and three `recent_user_messages` (220 characters each), the newest first. Restored from a boundary it also names
    that boundary, in `compaction_source, compaction_boundary_id, compaction_boundary_summary, restoration_order,
    preserved_turn_input_ids, restored_memory_paths`.
    """

    session_id: str
    compaction_restoration_context: dict[str, Any] | None = None
    recent_runtime_context: dict[str, Any] | None = None
    session_resume_context: dict[str, Any] | None = None


class FileProblem(WireModel):
    """Something about a file under `.openboa`; `detail` says what was done about it and what to do next."""

    path: str
    code: str
    detail: str


class RebuildProjections(RequestModel):
    """`POST /store/rebuild-projections`: of one agent, or of all."""

    agent_id: str | None = None


class RebuiltProjections(WireModel):
    """`lines` were written to journals; not `complete` when some file could not be written and is still due."""

    lines: int
    complete: bool
    problems: list[FileProblem]


class ImportedTree(WireModel):
    """`POST /store/import`: ids of what is new in the database."""

    agents: list[str]
    sessions: list[str]
    events: int
    problems: list[FileProblem]


class SearchHit(WireModel):
    """`kind` is message or tool_output. Matches in `snippet` stand between U+0002 and U+0003.
    `cursor` as `before` gives the hits that follow."""

    kind: str
    input_id: str
    session_id: str
    role: str | None
    created_at: str
    snippet: str
    cursor: str


class SearchHits(WireModel):
    """The newest first."""

    items: list[SearchHit] = Field(default_factory=list[SearchHit])
    count: int
