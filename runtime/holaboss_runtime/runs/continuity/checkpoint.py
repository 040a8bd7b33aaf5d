"""The record an agent session is continued from, and the checkpoint document made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from holaboss_client.agents import SessionEvent, SessionEventType
from holaboss_runtime.runs.agent_context.budget import clip
from holaboss_runtime.runs.directive import LearningWish, Outcome

VERSION = 6
RESPONSE_CHARS = 8_000
MAX_EVENT_IDS = 500
MAX_EVALUATIONS = 12
OUTCOME_TITLE_CHARS = 400
OUTCOME_DETAIL_CHARS = 4_000
MAX_CRITERIA = 20


@dataclass(frozen=True, slots=True)
class QueuedWake:
    """A wake that still waits. `due_at` is ISO-8601 UTC."""

    reason: str
    due_at: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class EventCursor:
    """Ids of session events: the last one the model was shown, the last inbound one that was processed, the last one
    this turn added."""

    context: str | None = None
    processed: str | None = None
    produced: str | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Where an agent session stands after a wake.

    `consecutive` counts follow-ups in a row, `turns` all turns. `problems` and `shown` come from the directive and
    the context of this wake and are read again by the next one; `evaluations` are oldest first.
    """

    session_id: str
    agent_id: str
    updated_at: str
    wake_id: str
    stop_reason: str
    outcome: Outcome
    summary: str
    response: str
    turns: int = 0
    consecutive: int = 0
    next_wake_at: str | None = None
    processed_event_ids: tuple[str, ...] = ()
    cursor: EventCursor = field(default_factory=EventCursor)
    active_outcome: Mapping[str, Any] | None = None
    queued_wakes: tuple[QueuedWake, ...] = ()
    learnings: tuple[LearningWish, ...] = ()
    setup_fingerprint: str | None = None
    evaluations: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict[str, str])


def active_outcome(
    events: Iterable[SessionEvent], checkpoint: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The outcome the newest of `events` defines, else the one of the last checkpoint; as the checkpoint spells it."""
    defined: dict[str, Any] | None = None
    for event in events:
        if event.type == SessionEventType.USER_DEFINE_OUTCOME:
            defined = _outcome(event.payload)
    kept = (checkpoint or {}).get("activeOutcome")
    return defined or (cast(dict[str, Any], kept) if isinstance(kept, dict) else None)


def checkpoint_document(record: SessionRecord) -> dict[str, Any]:
    """The content of `checkpoint.json`. `directiveProblems` and `shown` are ours; the rest is version 6."""
    return {
        "version": VERSION,
        "sessionId": record.session_id,
        "agentId": record.agent_id,
        "updatedAt": record.updated_at,
        "lastWakeId": record.wake_id,
        "lastEventIds": list(record.processed_event_ids[-MAX_EVENT_IDS:]),
        "eventCursor": {
            "lastContextEventId": record.cursor.context,
            "lastProcessedEventId": record.cursor.processed,
            "lastProducedEventId": record.cursor.produced,
        },
        "lastOutcome": record.outcome,
        "lastSummary": record.summary,
        "responseMessage": clip(record.response, RESPONSE_CHARS),
        "nextWakeAt": record.next_wake_at,
        "consecutiveFollowUps": record.consecutive,
        "activeOutcome": dict(record.active_outcome) if record.active_outcome else None,
        "queuedWakes": [
            {"reason": wake.reason, "dueAt": wake.due_at, "note": wake.note} for wake in record.queued_wakes
        ],
        "stopReason": record.stop_reason,
        "lastAgentSetupFingerprint": record.setup_fingerprint,
        "outcomeEvaluationHistory": [dict(item) for item in record.evaluations[-MAX_EVALUATIONS:]],
        "directiveProblems": list(record.problems),
        "shown": dict(record.shown),
    }


def _outcome(payload: dict[str, Any]) -> dict[str, Any]:
    detail = payload.get("detail")
    listed = payload.get("success_criteria")
    criteria = cast(list[object], listed) if isinstance(listed, list) else []
    return {
        "title": clip(str(payload.get("title") or ""), OUTCOME_TITLE_CHARS),
        "detail": None if detail is None else clip(str(detail), OUTCOME_DETAIL_CHARS),
        "successCriteria": [clip(str(item), OUTCOME_TITLE_CHARS) for item in criteria[:MAX_CRITERIA]],
    }
