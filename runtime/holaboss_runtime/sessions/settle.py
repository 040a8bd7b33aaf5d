"""The end of a run: one durable transaction, guarded by the epoch of the lease the run was given.

Whoever sees the terminal event may rely on everything of the turn being readable, and on the session being free.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holaboss_client.events import OutputEvent, RunEvent
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.runs.coalesce import coalesce
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.retry import MAX_RETRIES
from holaboss_runtime.store import inputs
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import IDLE, REQUIRES_ACTION, RESCHEDULING, Settlement
from holaboss_runtime.store.turns import Layout, RequestFacts, TurnFinish
from holaboss_runtime.store.wakes import WakeRecord

AGENT_MESSAGE = "agent.message"
INTERRUPTED = "interrupted"
INTERRUPTED_SENTENCE = (
    'The runtime stopped and cut this run off. What it did is kept; send "continue" to go on.'
)


@dataclass(frozen=True, slots=True)
class Claim:
    """An input that a wake has claimed under a lease."""

    input: InputRecord
    wake: WakeRecord
    epoch: int
    session_kind: str = "workspace_session"
    request: RequestFacts = field(default_factory=RequestFacts)


@dataclass(frozen=True, slots=True)
class _Ending:
    """The words that each record has for one way to end."""

    turn_status: str
    input_status: str
    wake_result: str
    session_status: str
    session_stop_reason: str


_COMPLETED = {
    "success": _Ending("completed", inputs.DONE, "success", IDLE, "idle"),
    "waiting_user": _Ending("waiting_user", inputs.DONE, "blocked", REQUIRES_ACTION, "requires_action"),
    "paused": _Ending("paused", inputs.PAUSED, "aborted", IDLE, "idle"),
}
_FAILED = _Ending("failed", inputs.FAILED, "error", IDLE, "idle")


class Settler:
    def __init__(self, records: Records, publisher: Publisher) -> None:
        self._records = records
        self._publish = publisher

    def finish(self, claim: Claim, fold: TurnFold, terminal: RunnerEvent) -> bool:
        """Commit the turn. False, with nothing written, when the lease went to somebody else."""
        ending = _ending(terminal)
        queued, wake = claim.input, claim.wake
        with self._records.database.transaction(durable=True):
            if not self._release(claim, ending, terminal):
                return False
            text = fold.assistant_text or (terminal.result.assistant_text.strip() if terminal.result else "")
            self._records.events.mark_processed(queued.input_id, wake.wake_id)
            self._records.inputs.settle(queued.input_id, ending.input_status)
            if text:
                self._records.messages.insert(
                    queued.workspace_id, queued.session_id, queued.input_id, "assistant", text
                )
                self._records.events.append(
                    queued.session_id,
                    AGENT_MESSAGE,
                    {"message": text, "input_id": queued.input_id},
                    wake_id=wake.wake_id,
                )
            self._compact_previous(queued.session_id)
            self._insert_turn(claim, fold, terminal, text, ending)
            self._remember(claim, terminal)
            self._end_wake(claim, terminal, ending)
            self._records.outputs.append(
                queued.workspace_id,
                queued.session_id,
                queued.input_id,
                [(terminal.event_type, terminal.payload)],
            )
            self._publish.state(queued.session_id)
            self._publish.session(queued.workspace_id, queued.session_id)
        return True

    def requeue(self, claim: Claim, *, delay_s: float, why: dict[str, Any]) -> bool:
        """Nothing was said or done: the input goes back and keeps its place. False when the lease is lost."""
        queued = claim.input
        with self._records.database.transaction(durable=True):
            waiting = Settlement(RESCHEDULING, RESCHEDULING, last_error=None, counts_as_turn=False)
            if not self._records.sessions.settle(queued.session_id, claim.epoch, waiting):
                return False
            self._records.inputs.requeue(queued.input_id, available_at=from_now(delay_s))
            self._records.wakes.end(claim.wake.wake_id, result="retry", stop_reason=why.get("type"))
            retrying = {
                "attempt": queued.attempt + 1,
                "attempts": MAX_RETRIES + 1,
                "delay_s": round(delay_s, 3),
                "message": str(why.get("message", "")),
            }
            self._records.outputs.append(
                queued.workspace_id,
                queued.session_id,
                queued.input_id,
                [(RunEvent.RUN_RETRYING, retrying)],
            )
            self._publish.state(queued.session_id)
        return True

    def _release(self, claim: Claim, ending: _Ending, terminal: RunnerEvent) -> bool:
        """Free the session. A hold stays when the run was paused or when more is queued behind it."""
        failed = terminal.event_type == RunEvent.RUN_FAILED
        facts = self._records.facts.get(claim.input.session_id)
        more_queued = facts is not None and facts.next_input is not None
        return self._records.sessions.settle(
            claim.input.session_id,
            claim.epoch,
            Settlement(
                status=ending.session_status,
                stop_reason=ending.session_stop_reason,
                last_error=_last_error(terminal.payload) if failed else None,
                counts_as_turn=not failed,
                keep_hold=more_queued or ending.turn_status == "paused",
            ),
        )

    def _insert_turn(
        self, claim: Claim, fold: TurnFold, terminal: RunnerEvent, text: str, ending: _Ending
    ) -> None:
        queued = claim.input
        usage = terminal.payload.get("usage") or (terminal.result.usage if terminal.result else None)
        self._records.turns.insert(
            workspace_id=queued.workspace_id,
            session_id=queued.session_id,
            input_id=queued.input_id,
            seq=claim.wake.seq,
            started_at=claim.wake.started_at,
            finish=TurnFinish(
                status=ending.turn_status,
                stop_reason=_stop_reason(terminal),
                assistant_text=text,
                tool_usage_summary=fold.tool_usage_summary(),
                permission_denials=fold.permission_denials(),
                token_usage=usage or None,
            ),
            request=claim.request,
            layout=layout_of(queued.text, text, fold.steps),
        )

    def _remember(self, claim: Claim, terminal: RunnerEvent) -> None:
        history = terminal.result.history if terminal.result else None
        if history is not None:
            self._records.harness_history.insert(
                claim.input.session_id, claim.wake.seq, history.adapter, history.version, history.payload
            )

    def _end_wake(self, claim: Claim, terminal: RunnerEvent, ending: _Ending) -> None:
        failed = terminal.event_type == RunEvent.RUN_FAILED
        self._records.wakes.end(
            claim.wake.wake_id,
            result=ending.wake_result,
            stop_reason=_stop_reason(terminal),
            error=str(terminal.payload.get("message", "")) if failed else None,
        )

    def _compact_previous(self, session_id: str) -> None:
        """Join the deltas of the turn before this one: nobody streams it any more, and rows cost more than text."""
        latest = self._records.turns.latest(session_id)
        if latest is None:
            return
        events = self._records.outputs.of_inputs([latest[1].input_id])[latest[1].input_id]
        joined = coalesce(events)
        if len(joined) < len(events):
            kept = {event.id for event in joined}
            self._records.outputs.replace_deltas(
                _changed(events, joined), [event.id for event in events if event.id not in kept]
            )


def layout_of(user_text: str, answer: str, steps: int) -> Layout:
    return Layout(len(user_text), _lines(user_text), len(answer), _lines(answer), steps)


def failure(error: DomainError) -> RunnerEvent:
    """A run that could not start, as the event that ends it."""
    payload = {"type": error.code, "message": error.detail, "retryable": False}
    context = {name: error.context[name] for name in ("provider_id", "model_id") if name in error.context}
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload | context)


def interrupted(fold: TurnFold) -> RunnerEvent:
    """The end of a run that its process did not live to see."""
    payload = {
        "type": INTERRUPTED,
        "message": INTERRUPTED_SENTENCE,
        "provider_id": fold.started.get("provider_id"),
        "model_id": fold.started.get("model_id"),
        "retryable": False,
    }
    return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload)


def _ending(terminal: RunnerEvent) -> _Ending:
    if terminal.event_type == RunEvent.RUN_FAILED:
        return _FAILED
    return _COMPLETED.get(str(terminal.payload.get("status", "success")), _COMPLETED["success"])


def _stop_reason(terminal: RunnerEvent) -> str:
    if terminal.event_type == RunEvent.RUN_FAILED:
        return str(terminal.payload.get("type", "error"))
    return str(terminal.payload.get("status", "success"))


def _last_error(payload: dict[str, Any]) -> dict[str, Any]:
    error = {"code": payload.get("type", "error"), "message": payload.get("message", "")}
    return error | {name: payload[name] for name in ("provider_id", "model_id") if payload.get(name)}


def _lines(text: str) -> int:
    return text.count("\n") + 1 if text else 0


def _changed(before: list[OutputEvent], after: list[OutputEvent]) -> list[OutputEvent]:
    old = {event.id: event.payload for event in before}
    return [event for event in after if event.payload is not old[event.id]]
