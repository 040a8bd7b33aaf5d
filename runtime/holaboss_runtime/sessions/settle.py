"""The end of a run: one durable transaction, guarded by the epoch of the lease the run was given.

Whoever sees the terminal event may rely on everything of the turn being readable, and on the session being free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_client.base import new_id
from holaboss_client.events import OutputEvent, RunEvent
from holaboss_client.permissions import RuleText
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import PendingCall, RunnerEvent
from holaboss_runtime.runs.coalesce import coalesce
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.agent_effects import AgentEffects, CustomToolRequest, Effects
from holaboss_runtime.sessions.approvals import EXPIRY_S
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.sessions.leftovers import (
    PERMISSION_DENIED,
    Leftovers,
    denials_of,
    refused_unasked,
)
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.sessions.retry import MAX_RETRIES
from holaboss_runtime.sessions.session_log import SessionLog
from holaboss_runtime.sessions.subagent_reports import SubagentReports
from holaboss_runtime.store import activations, inputs
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.pending_actions import CUSTOM_TOOL, TOOL_CONFIRMATION, NewAction
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import IDLE, REQUIRES_ACTION, RESCHEDULING, TERMINATED, Settlement
from holaboss_runtime.store.turns import Layout, TurnFinish

INTERRUPTED = "interrupted"
INTERRUPTED_SENTENCE = (
    'The runtime stopped and cut this run off. What it did is kept; send "continue" to go on.'
)
SUMMARY_CHARS = 220


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


@dataclass(frozen=True, slots=True)
class _Commit:
    """A turn on its way into the database."""

    claim: Claim
    fold: TurnFold
    terminal: RunnerEvent
    ending: _Ending
    effects: Effects
    text: str
    """What the agent said to the person."""

    @property
    def failed(self) -> bool:
        return self.terminal.event_type == RunEvent.RUN_FAILED

    @property
    def pending(self) -> list[PendingCall]:
        waiting = self.ending.session_status == REQUIRES_ACTION and self.terminal.result is not None
        return self.terminal.result.pending if waiting and self.terminal.result else []

    @property
    def stop_reason(self) -> str:
        """Of the turn."""
        parked = not self.failed and refused_unasked(self.claim, self.terminal.result)
        return PERMISSION_DENIED if parked else _stop_reason(self.terminal)

    @property
    def summary(self) -> str:
        if self.failed:
            return str(self.terminal.payload.get("message", ""))
        return self.effects.summary or preview(self.text, SUMMARY_CHARS)


class Settler:
    """An approval that a run asks for waits `approval_s` seconds."""

    def __init__(
        self,
        records: Records,
        publisher: Publisher,
        agent_effects: AgentEffects,
        reports: SubagentReports,
        *,
        approval_s: float = EXPIRY_S,
    ) -> None:
        self._records = records
        self._publish = publisher
        self._log = SessionLog(records)
        self._agent_effects = agent_effects
        self._reports = reports
        self._leftovers = Leftovers(records, publisher)
        self._approval_s = approval_s

    def finish(self, claim: Claim, fold: TurnFold, terminal: RunnerEvent) -> bool:
        """Commit the turn; the lease stays until its continuity is written. False, with nothing written, when the
        lease went to somebody else."""
        ending = _ending(terminal)
        said = fold.assistant_text or (terminal.result.assistant_text.strip() if terminal.result else "")
        effects = self._agent_effects.of(claim.session, said, ended_well=ending is _COMPLETED["success"])
        commit = _Commit(claim, fold, terminal, ending, effects, effects.text)
        with self._records.database.transaction(durable=True):
            status, stop_reason = self._status_after(commit)
            if not self._is_open(claim) or not self._settle_session(commit, status, stop_reason):
                return False
            self._settle_inputs(commit)
            if not fold.began:
                self._records.actions.take_back(claim.wake.wake_id)
            self._write_log(commit, status, stop_reason)
            self._compact_previous(claim.session.session_id)
            self._insert_turn(commit)
            self._remember(commit)
            self._leftovers.keep_outputs(claim, terminal.result)
            self._leftovers.park(claim, terminal.result)
            self._records.wakes.end(
                claim.wake.wake_id,
                result=ending.wake_result,
                stop_reason=commit.stop_reason,
                error=str(terminal.payload.get("message", "")) if commit.failed else None,
            )
            self._journal(commit, status, stop_reason)
            self._say_end(commit)
            self._reports.turn_ended(claim.session)
        return True

    def requeue(self, claim: Claim, *, delay_s: float, why: dict[str, Any]) -> bool:
        """Nothing was said or done: the inputs go back and keep their place. False when the lease is lost."""
        lead, session_id, wake_id = claim.input, claim.session.session_id, claim.wake.wake_id
        with self._records.database.transaction(durable=True):
            waiting = Settlement(
                RESCHEDULING, RESCHEDULING, counts_as_turn=False, follow_ups=claim.session.follow_ups
            )
            if not self._is_open(claim) or not self._records.sessions.settle(
                session_id, claim.epoch, waiting
            ):
                return False
            available_at = from_now(delay_s)
            for taken in claim.inputs:
                self._records.inputs.requeue(taken.input_id, available_at=available_at)
            self._records.actions.take_back(wake_id)
            self._records.wakes.end(wake_id, result="retry", stop_reason=why.get("type"))
            message = str(why.get("message", ""))
            self._log.status_changed(session_id, "running", RESCHEDULING, message or "retry", wake_id)
            self._log.wake_completed(session_id, wake_id, "error", message)
            self._note(
                claim, activations.REQUEUED, {"immediateRetryAt": available_at, "errorMessage": message}
            )
            retrying = {
                "attempt": lead.attempt + 1,
                "attempts": MAX_RETRIES + 1,
                "delay_s": round(delay_s, 3),
                "message": message,
            }
            self._records.outputs.append(
                lead.workspace_id, session_id, lead.input_id, [(RunEvent.RUN_RETRYING, retrying)]
            )
            self._records.sessions.release_lease(session_id, claim.epoch)
            self._publish.state(session_id)
        return True

    def _is_open(self, claim: Claim) -> bool:
        """A wake ends once; the lease outlives it by a moment."""
        wake = self._records.wakes.running(claim.session.session_id)
        return wake is not None and wake.wake_id == claim.wake.wake_id

    def release(self, claim: Claim) -> None:
        """Let the session go on, after its continuity."""
        with self._records.database.transaction():
            self._records.sessions.release_lease(claim.session.session_id, claim.epoch)

    def _status_after(self, commit: _Commit) -> tuple[str, str]:
        """The session's status once this turn is over, and why it stopped."""
        if commit.pending or commit.effects.custom_tool is not None:
            return REQUIRES_ACTION, REQUIRES_ACTION
        if commit.effects.continues:
            return RESCHEDULING, RESCHEDULING
        if commit.claim.session.agent_id is not None and self._more_queued(commit.claim):
            return RESCHEDULING, commit.ending.session_stop_reason
        return commit.ending.session_status, commit.ending.session_stop_reason

    def _settle_session(self, commit: _Commit, status: str, stop_reason: str) -> bool:
        """A hold stays when the run was paused or when more is queued behind it."""
        keep_hold = commit.ending.turn_status == "paused" or self._more_queued(commit.claim)
        return self._records.sessions.settle(
            commit.claim.session.session_id,
            commit.claim.epoch,
            Settlement(
                status=status,
                stop_reason=stop_reason,
                last_error=_last_error(commit.terminal.payload) if commit.failed else None,
                counts_as_turn=not commit.failed,
                keep_hold=keep_hold,
                follow_ups=commit.effects.follow_ups,
            ),
        )

    def _more_queued(self, claim: Claim) -> bool:
        facts = self._records.facts.get(claim.session.session_id)
        return facts is not None and facts.next_input is not None

    def _settle_inputs(self, commit: _Commit) -> None:
        for taken in commit.claim.inputs:
            self._records.events.mark_processed(taken.input_id, commit.claim.wake.wake_id)
            self._records.inputs.settle(taken.input_id, commit.ending.input_status)

    def _write_log(self, commit: _Commit, status: str, stop_reason: str) -> None:
        """What the agent used and said, what it now waits for, and how the wake ended, in that order."""
        claim = commit.claim
        session_id, wake_id = claim.session.session_id, claim.wake.wake_id
        asked = {action.call_id: action for action in claim.decisions}
        for call in commit.fold.tool_calls:
            if call.get("phase") == "completed":
                self._log.tool_used(
                    session_id,
                    wake_id,
                    call,
                    action=asked.get(call.get("call_id")),
                    spans=claim.session.agent_id is not None,
                )
        if commit.text:
            lead = claim.input
            self._records.messages.insert(
                lead.workspace_id, session_id, lead.input_id, "assistant", commit.text
            )
            if commit.effects.custom_tool is None:
                self._log.agent_said(session_id, wake_id, lead.input_id, commit.text, commit.summary)
        ended = self._records.sessions.status(session_id) in (None, TERMINATED)
        if ended:
            blocking = list[str]()  # nobody will decide, and nothing will wake it
        else:
            blocking = self._open_actions(commit)
            self._agent_effects.apply(claim, commit.effects)
        if status == RESCHEDULING:
            self._log.status_changed(session_id, "running", status, stop_reason, wake_id)
        elif not ended:
            self._log.idle(session_id, stop_reason, commit.summary, blocking=blocking, wake_id=wake_id)
        self._log.wake_completed(
            session_id, wake_id, commit.ending.wake_result, commit.summary, commit.effects.problems
        )

    def _open_actions(self, commit: _Commit) -> list[str]:
        """One request for each call that waits; the ids of the events that ask."""
        asked = [self._open_call(commit.claim, call) for call in commit.pending]
        custom = commit.effects.custom_tool
        return asked if custom is None else [*asked, self._open_custom(commit.claim, custom)]

    def _open_call(self, claim: Claim, call: PendingCall) -> str:
        event_id, request_id = new_id(), new_id()
        self._log.tool_blocked(
            claim.session.session_id,
            claim.wake.wake_id,
            event_id=event_id,
            request_id=request_id,
            call_id=call.call_id,
            tool_name=call.tool_name,
            arguments=call.tool_args,
        )
        action = NewAction(
            request_id,
            call.kind,
            call.call_id,
            call.tool_name,
            call.tool_args,
            event_id,
            reason=call.reason,
            suggestions=tuple(RuleText.model_validate(rule.model_dump()) for rule in call.suggestions),
            expires_at=from_now(self._approval_s) if call.kind == TOOL_CONFIRMATION else None,
        )
        self._records.actions.insert(claim.session.session_id, claim.wake.wake_id, action)
        return event_id

    def _open_custom(self, claim: Claim, wish: CustomToolRequest) -> str:
        event_id, request_id = new_id(), new_id()
        self._log.custom_tool_asked(
            claim.session.session_id,
            claim.wake.wake_id,
            event_id=event_id,
            request_id=request_id,
            tool_name=wish.name,
            arguments=wish.arguments,
        )
        action = NewAction(request_id, CUSTOM_TOOL, None, wish.name, wish.arguments, event_id)
        self._records.actions.insert(claim.session.session_id, claim.wake.wake_id, action)
        return event_id

    def _insert_turn(self, commit: _Commit) -> None:
        claim, terminal = commit.claim, commit.terminal
        usage = terminal.payload.get("usage") or (terminal.result.usage if terminal.result else None)
        self._records.turns.insert(
            workspace_id=claim.input.workspace_id,
            session_id=claim.session.session_id,
            input_id=claim.input.input_id,
            seq=claim.wake.seq,
            started_at=claim.wake.started_at,
            finish=TurnFinish(
                status=commit.ending.turn_status,
                stop_reason=commit.stop_reason,
                assistant_text=commit.text,
                tool_usage_summary=commit.fold.tool_usage_summary(),
                permission_denials=denials_of(terminal.result, commit.fold),
                token_usage=usage or None,
                containment=terminal.result.containment if terminal.result else None,
            ),
            request=claim.request,
            layout=layout_of(claim.text, commit.text, commit.fold.steps),
        )

    def _remember(self, commit: _Commit) -> None:
        history = commit.terminal.result.history if commit.terminal.result else None
        if history is not None:
            self._records.harness_history.insert(
                commit.claim.session.session_id,
                commit.claim.wake.seq,
                history.adapter,
                history.version,
                history.payload,
            )

    def _journal(self, commit: _Commit, status: str, stop_reason: str) -> None:
        claim = commit.claim
        processed = [taken.input_id for taken in claim.inputs]
        details = {"wakeId": claim.wake.wake_id, "stopReason": stop_reason, "processedEventIds": processed}
        self._note(claim, activations.ACKED, details)
        if status == RESCHEDULING:
            facts = self._records.facts.get(claim.session.session_id)
            due = facts.next_wake_at if facts else None
            self._note(claim, activations.REQUEUED, {"immediateRetryAt": None, "nextQueuedWakeAt": due})

    def _note(self, claim: Claim, kind: str, payload: dict[str, Any]) -> None:
        if claim.session.agent_id is not None:
            self._records.activations.append(
                kind,
                claim_id=claim.wake.wake_id,
                agent_id=claim.session.agent_id,
                session_id=claim.session.session_id,
                payload=payload,
            )

    def _say_end(self, commit: _Commit) -> None:
        lead, session_id = commit.claim.input, commit.claim.session.session_id
        said = (commit.terminal.event_type, commit.terminal.payload)
        if not self._records.outputs.has_ended(lead.input_id):  # by a worker of the queue that gave it back
            self._records.outputs.append(lead.workspace_id, session_id, lead.input_id, [said])
        self._publish.state(session_id)
        self._publish.session(lead.workspace_id, session_id)

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
