"""What a policy says of whole tools, whatever the arguments of a call: which can be offered, and which never run.

Every run asks this about all of its tools, and policies seldom change: each answer is worked out once.
"""

from __future__ import annotations

from functools import lru_cache

from holaboss_runtime.permissions.decide import effect_of
from holaboss_runtime.permissions.model import CallFacts, Permission, PermissionPolicy, PermissionRule


class Standing:
    """The part of a policy that holds for every call of a tool. A refusal that depends on arguments is the gate's."""

    def __init__(self, policy: PermissionPolicy) -> None:
        always = tuple(
            rule for rule in policy.rules if not (rule.command or rule.path or rule.host or rule.server)
        )
        self._policy = PermissionPolicy(default=policy.default, rules=list(always))
        self._answers = _answers(policy.default, always)

    def of(self, tool: str) -> Permission:
        if tool not in self._answers:
            self._answers[tool] = effect_of(self._policy, CallFacts(tool))
        return self._answers[tool]


@lru_cache(maxsize=64)
def _answers(default: Permission, rules: tuple[PermissionRule, ...]) -> dict[str, Permission]:
    """Answers by tool, the same for equal policies."""
    return {}
