"""What an agent session's answer asks for besides its words: to be woken, to remember, to have a tool answered.

The answer of a plain conversation has no such effects. Everything is written in the transaction of the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.agents.definition import Heartbeat
from holaboss_runtime.runs.directive import (
    Directive,
    LearningWish,
    WakeWish,
    parse_directive,
    resolve,
    summary_of,
)
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord


@dataclass(frozen=True, slots=True)
class CustomToolRequest:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Effects:
    """`text` is the answer without its directive."""

    text: str
    summary: str = ""
    continues: bool = False
    follow_ups: int = 0
    wakes: tuple[WakeWish, ...] = ()
    learnings: tuple[LearningWish, ...] = ()
    custom_tool: CustomToolRequest | None = None
    problems: tuple[str, ...] = ()
    """What of the directive could not be used; the agent is told at its next wake."""


class AgentEffects:
    """`heartbeat_of` says how an agent may follow up by itself."""

    def __init__(self, records: Records, heartbeat_of: Callable[[str], Heartbeat]) -> None:
        self._records = records
        self._heartbeat_of = heartbeat_of

    def of(self, session: SessionRecord, answer: str, *, ended_well: bool) -> Effects:
        if session.agent_id is None:
            return Effects(answer)
        text, directive = parse_directive(answer)
        if directive is None or not ended_well:
            return Effects(text, summary=summary_of(text, None))
        return self._effects(session, text, directive)

    def apply(self, claim: Claim, effects: Effects) -> None:
        session_id, agent_id = claim.session.session_id, claim.session.agent_id
        for wish in effects.wakes:
            self._records.scheduled.schedule(
                session_id,
                due_at=from_now(wish.delay_seconds),
                reason=wish.reason,
                note=wish.note,
                dedupe_key=wish.dedupe_key,
                priority=wish.priority,
            )
        for learned in effects.learnings:
            if agent_id is not None:
                self._records.learnings.capture(
                    agent_id,
                    session_id,
                    wake_id=claim.wake.wake_id,
                    kind=learned.kind,
                    title=learned.title,
                    detail=learned.detail,
                    promote=learned.promote,
                    dedupe_key=learned.dedupe_key,
                    source_reason=claim.wake.reason,
                )

    def _effects(self, session: SessionRecord, text: str, directive: Directive) -> Effects:
        heartbeat = self._heartbeat_of(str(session.agent_id))
        resolution = resolve(
            directive,
            consecutive=session.follow_ups,
            max_follow_ups=heartbeat.max_consecutive_follow_ups,
            default_interval_s=heartbeat.interval_s,
        )
        wish = directive.custom_tool
        return Effects(
            text=text,
            summary=summary_of(text, directive),
            continues=bool(resolution.wakes),
            follow_ups=resolution.consecutive,
            wakes=tuple(resolution.wakes),
            learnings=directive.learnings,
            custom_tool=None if wish is None else CustomToolRequest(wish.name, wish.input),
            problems=directive.problems,
        )
