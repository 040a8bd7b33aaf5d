"""The verdict on one call under a policy."""

from __future__ import annotations

from fnmatch import fnmatchcase

from holaboss_runtime.permissions.model import CallFacts, PermissionPolicy, Verdict


def decide(policy: PermissionPolicy, facts: CallFacts) -> Verdict:
    """The strictest rule that fits decides; without one, the default of the policy."""
    fitting = [rule for rule in policy.rules if fnmatchcase(facts.tool, rule.tool)]
    for effect in ("deny", "always_ask", "always_allow"):
        if any(rule.effect == effect for rule in fitting):
            return Verdict(effect)
    return Verdict(policy.default)
