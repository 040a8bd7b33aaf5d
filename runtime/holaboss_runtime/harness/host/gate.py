"""Whether a call may have its effect: the one place between every tool and the sandbox that knows the permissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_ai import ApprovalRequired

from holaboss_runtime.harness.contract import ActionDecision, Denial
from holaboss_runtime.harness.host.sandbox import Sandbox
from holaboss_runtime.harness.host.text import valid_text
from holaboss_runtime.harness.host.tools.base import ToolOutcome
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts, PermissionPolicy, Verdict


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
        self.asked: dict[str, Verdict] = {}
        self.denials: list[Denial] = []

    async def execute(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run a tool. Raises `ApprovalRequired` when a person has to be asked first.

        Nobody is asked about arguments the tool would refuse anyway.
        """
        call_id = valid_text(call_id)
        approval = self._approvals.pop((call_id, name), None)
        arguments = arguments if approval is None else approval.tool_args
        verdict = decide(self._policy, self._sandbox.facts(name, arguments))
        if verdict.effect == "deny":
            return self._refuse(call_id, name, verdict)
        if verdict.effect == "always_ask" and approval is None:
            if (problem := self._sandbox.check(name, arguments)) is not None:
                return problem
            if not self._policy.may_ask:
                return self._refuse(call_id, name, verdict)
            self.asked[call_id] = verdict
            raise ApprovalRequired
        return await self._sandbox.execute(name, arguments)

    def refusal(self, call_id: str, name: str) -> ToolOutcome | None:
        """What the model is told of a tool somebody outside would answer, when the policy forbids it."""
        verdict = decide(self._policy, CallFacts(name))
        return self._refuse(valid_text(call_id), name, verdict) if verdict.effect == "deny" else None

    def _refuse(self, call_id: str, name: str, verdict: Verdict) -> ToolOutcome:
        reason = verdict.reason or f"{name} may not be used here."
        self.denials.append(Denial(call_id=call_id, tool_name=name, reason=reason))
        return ToolOutcome(f"Denied by policy: {reason} Do without it.", error=True, refused=reason)
