"""Whether a call may have its effect: the one place between every tool and the sandbox that knows the permissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_ai import ApprovalRequired

from holaboss_runtime.harness.contract import ActionDecision, ToolPermission
from holaboss_runtime.harness.host.sandbox import Sandbox
from holaboss_runtime.harness.host.text import valid_text
from holaboss_runtime.harness.host.tools.base import ToolOutcome


class ToolGate:
    """One per run. An approval is spent by the call it was given for, and only ever with the approved arguments."""

    def __init__(
        self,
        sandbox: Sandbox,
        permissions: Mapping[str, ToolPermission],
        approvals: Iterable[ActionDecision] = (),
    ) -> None:
        self._sandbox = sandbox
        self._permissions = permissions
        self._approvals = {(approval.call_id, approval.tool_name): approval for approval in approvals}

    async def execute(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run a tool. Raises `ApprovalRequired` when a person has to be asked first.

        Nobody is asked about arguments the tool would refuse anyway.
        """
        approval = self._approvals.pop((valid_text(call_id), name), None)
        if (refusal := self.refusal(name)) is not None:
            return refusal
        if approval is not None:
            return await self._sandbox.execute(name, approval.tool_args)
        if self._permissions.get(name) == "always_ask":
            if (problem := self._sandbox.check(name, arguments)) is not None:
                return problem
            raise ApprovalRequired
        return await self._sandbox.execute(name, arguments)

    def refusal(self, name: str) -> ToolOutcome | None:
        """What the model is told of a tool that the policy forbids; None for any other."""
        if self._permissions.get(name) != "deny":
            return None
        return ToolOutcome(f"Denied by policy: {name} may not be used here. Do without it.", error=True)
