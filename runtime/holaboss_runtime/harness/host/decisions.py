"""What became of the calls an earlier run left open, in the form in which the agent loop takes it up."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from pydantic_ai import DeferredToolResults, ToolApproved, ToolDenied, ToolFailed, ToolReturn
from pydantic_ai.messages import ToolCallPart

from holaboss_runtime.harness.contract import ActionDecision
from holaboss_runtime.harness.host.history import NO_RESULT
from holaboss_runtime.harness.host.text import clip, valid_text
from holaboss_runtime.harness.host.tools.question import answer_text

NO_OUTPUT = "(no output)"
MAX_OUTPUT_CHARS = 256 * 1024
_MAX_NOTE_CHARS = 4000


class Resumption:
    """The open calls of a conversation with the decisions that belong to them.

    A decision about any other call is not used. An open call without a decision is answered: it has no result.
    `tools` are the names this run has.
    """

    def __init__(
        self, calls: Sequence[ToolCallPart], decisions: Sequence[ActionDecision], tools: Collection[str]
    ) -> None:
        self._tools = tools
        given = {(decision.call_id, decision.tool_name): decision for decision in decisions}
        matched = ((call, given.get(_key(call))) for call in calls)
        self._decisions = {call.tool_call_id: decision for call, decision in matched if decision is not None}
        self.calls = list(calls) if self._decisions else []

    def __bool__(self) -> bool:
        """Whether there is anything to take up."""
        return bool(self.calls)

    @property
    def approvals(self) -> list[ActionDecision]:
        """Those that let a tool of this host run."""
        return [decision for decision in self._decisions.values() if self._lets_run(decision)]

    def results(self) -> DeferredToolResults:
        """With which arguments an approved call runs is the gate's business, which was given the approvals."""
        results = DeferredToolResults()
        for call in self.calls:
            decision = self._decisions.get(call.tool_call_id)
            if decision is not None and self._lets_run(decision):
                results.approvals[call.tool_call_id] = ToolApproved()
            elif decision is not None and decision.kind == "question":
                results.calls[call.tool_call_id] = ToolReturn(_bounded(answer_text(decision)))
            elif decision is not None and decision.outcome in ("denied", "cancelled"):
                results.approvals[call.tool_call_id] = ToolDenied(_refusal(decision))
            elif decision is not None:
                results.calls[call.tool_call_id] = ToolReturn(_text(decision.output))
            else:
                results.calls[call.tool_call_id] = ToolFailed(NO_RESULT)
        return results

    def _lets_run(self, decision: ActionDecision) -> bool:
        confirmed = decision.kind == "tool_confirmation" and decision.outcome == "approved"
        return confirmed and decision.tool_name in self._tools


def _key(call: ToolCallPart) -> tuple[str, str]:
    return valid_text(call.tool_call_id), valid_text(call.tool_name)


def _refusal(decision: ActionDecision) -> str:
    denied = decision.outcome == "denied"
    sentence = "The person denied this call." if denied else "The person discarded this request."
    note = clip(valid_text(decision.note or "").strip(), _MAX_NOTE_CHARS)
    return f"{sentence} They said: {note}" if note else sentence


def _text(output: Any) -> str:  # noqa: ANN401 - whatever was answered
    if output is None:
        return NO_OUTPUT
    return _bounded(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))


def _bounded(text: str) -> str:
    return clip(valid_text(text), MAX_OUTPUT_CHARS)
