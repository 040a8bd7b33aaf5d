"""Whether a call may have its effect: the one place between every tool and the sandbox that knows the permissions.

It also ends what leads nowhere: the same call over and over, calls that are refused without end, arguments of a size
nobody means.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from pydantic_ai import ApprovalRequired
from pydantic_ai.messages import ModelResponse, ToolCallPart

from holaboss_runtime.harness.contract import ActionDecision, Denial
from holaboss_runtime.harness.host.failures import DeniedTooOftenError
from holaboss_runtime.harness.host.loop_guard import LoopGuard
from holaboss_runtime.harness.host.sandbox import Sandbox
from holaboss_runtime.harness.host.text import bounded_arguments, clip, valid_text
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts, PermissionPolicy, Verdict

MAX_DENIALS = 40
MAX_ARGUMENT_BYTES = 1024 * 1024
MAX_PROBLEM_CHARS = 4000
MAX_CALLS_PER_ANSWER = 128
MAX_NAME_CHARS = 200


class ToolGate:
    """One per run. An approval is spent by the call it was given for, and only ever with the approved arguments.

    `asked` holds the verdict on each call that waits, by call id; `denials` what was refused by a rule.
    """

    def __init__(
        self, sandbox: Sandbox, policy: PermissionPolicy, approvals: Iterable[ActionDecision] = ()
    ) -> None:
        self._sandbox = sandbox
        self._policy = policy
        self._approvals = {(approval.call_id, approval.tool_name): approval for approval in approvals}
        self._loops = LoopGuard()
        self._too_large: dict[str, str] = {}
        self.asked: dict[str, Verdict] = {}
        self.denials: list[Denial] = []

    def admit(self, response: ModelResponse) -> None:
        """Look at an answer before its calls are made: what is over the bounds is dropped from it, so that nobody
        carries, keeps or sends it again. Calls that lose their arguments are answered with an error."""
        calls: list[Any] = [part for part in response.parts if isinstance(part, ToolCallPart)]
        for place, part in enumerate(calls):
            part.tool_name = part.tool_name[:MAX_NAME_CHARS]
            if len(part.tool_call_id) > MAX_NAME_CHARS:
                part.tool_call_id = sha256(part.tool_call_id.encode("utf-8", "replace")).hexdigest()
            size = _size(part.args)
            if size > MAX_ARGUMENT_BYTES:
                problem = f"The arguments are too large: {size:,} bytes of at most {MAX_ARGUMENT_BYTES:,}. Send less."
            elif place >= MAX_CALLS_PER_ANSWER:
                problem = f"These are too many calls at once; at most {MAX_CALLS_PER_ANSWER} are made. Make them later."
            else:
                continue
            part.args = None
            self._too_large[valid_text(part.tool_call_id)] = problem

    async def execute(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run a tool. Raises `ApprovalRequired` when a person has to be asked first, `ToolLoopError` and
        `DeniedTooOftenError` when the run has to end.

        Nobody is asked about arguments the tool would refuse anyway.
        """
        call_id = valid_text(call_id)
        if (problem := self._too_large.pop(call_id, None)) is not None:
            return ToolOutcome(problem, error=True)
        approval = self._approvals.pop((call_id, name), None)
        arguments = arguments if approval is None else approval.tool_args
        if not _is_json(arguments):  # nobody could be shown what they allow
            return ToolOutcome(
                "The arguments hold a number JSON does not have (NaN or Infinity).", error=True
            )
        if approval is None and (answer := self._loops.answer(name, arguments)) is not None:
            return answer
        outcome = await self._judged(call_id, name, arguments, approved=approval is not None)
        self._loops.made(name, arguments, outcome)
        return outcome

    def refusal(self, call_id: str, name: str) -> ToolOutcome | None:
        """What the model is told of a tool somebody outside would answer, when the policy forbids it."""
        call_id = valid_text(call_id)
        if (problem := self._too_large.pop(call_id, None)) is not None:
            return ToolOutcome(problem, error=True)
        verdict = decide(self._policy, CallFacts(name))
        return self._refuse(call_id, name, verdict) if verdict.effect == "deny" else None

    async def _judged(
        self, call_id: str, name: str, arguments: dict[str, Any], *, approved: bool
    ) -> ToolOutcome:
        facts = await asyncio.to_thread(self._sandbox.facts, name, arguments)
        verdict = decide(self._policy, facts)
        if verdict.effect == "deny":
            return self._refuse(call_id, name, verdict)
        if verdict.effect == "always_ask" and not approved:
            if (problem := self._sandbox.check(name, arguments)) is not None:
                return ToolOutcome(clip(problem.text, MAX_PROBLEM_CHARS), error=True)
            if not self._policy.may_ask:
                return self._refuse(call_id, name, verdict, arguments)
            self.asked[call_id] = verdict
            raise ApprovalRequired
        return await self._sandbox.execute(name, arguments)

    def _refuse(
        self, call_id: str, name: str, verdict: Verdict, unasked: dict[str, Any] | None = None
    ) -> ToolOutcome:
        """`unasked` are the arguments of a call a person would have been asked about."""
        if len(self.denials) >= MAX_DENIALS:
            raise DeniedTooOftenError
        reason = verdict.reason or f"{name} may not be used here."
        self.denials.append(
            Denial(
                call_id=call_id,
                tool_name=name,
                reason=reason,
                would_ask=unasked is not None,
                tool_args=bounded_arguments(unasked or {}),
                suggestions=list(verdict.suggestions),
            )
        )
        hint = "Nobody is there to be asked. " if unasked is not None else ""
        return ToolOutcome(f"Denied by policy: {reason} {hint}Do without it.", error=True, refused=reason)


def _is_json(arguments: dict[str, Any]) -> bool:
    try:
        json.dumps(arguments, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _size(arguments: object) -> int:
    return len(arguments) if isinstance(arguments, str) else len(json.dumps(arguments or {}, default=str))
