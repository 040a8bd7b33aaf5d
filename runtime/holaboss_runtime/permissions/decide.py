"""The verdict on one call under a policy.

A call is judged by its aspects: each simple command, each path it reads or writes, each host, the server of its tool.

- A rule that says `deny` and fits any aspect wins, whoever made it.
- Otherwise the strictest aspect decides. For each one, the rules of the person come first, then those of the agent,
  then those of the profile, then the default; among the rules of one of these, the last that fits counts.
- A rule of the workspace comes from a file that an agent or a template may have written. It only ever makes things
  stricter, and only where neither the person nor the agent's definition has said anything.
- A command that cannot be told for sure is never allowed by what it begins with. Where a program is not known before it
  runs and rules forbid or ask about programs, it is asked.

Pure and total: any facts have a verdict, and the same facts always the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from holaboss_runtime.permissions.explain import reason_for
from holaboss_runtime.permissions.matching import Aspect, Call, Fit, call_of, fit
from holaboss_runtime.permissions.model import (
    CallFacts,
    Permission,
    PermissionPolicy,
    PermissionRule,
    Verdict,
)
from holaboss_runtime.permissions.suggest import candidates, is_whole_text

MAX_SUGGESTIONS = 4
_STRICTNESS: dict[Permission, int] = {"always_allow": 0, "always_ask": 1, "deny": 2}


def effect_of(policy: PermissionPolicy, facts: CallFacts) -> Permission:
    """The effect of `decide` alone, for those who need neither reason nor suggestions."""
    call = call_of(facts)
    if any(_forbidding(policy, aspect, call) is not None for aspect in call.aspects):
        return "deny"
    return _strictest(policy, call)[0]


def decide(policy: PermissionPolicy, facts: CallFacts) -> Verdict:
    """What is to become of the call, why, and which rules would let it run without asking."""
    call = call_of(facts)
    for aspect in call.aspects:
        if (rule := _forbidding(policy, aspect, call)) is not None:
            return Verdict("deny", reason_for(policy, call, aspect, "deny", rule))
    effect, aspect = _strictest(policy, call)
    if effect == "always_allow":
        return Verdict(effect)
    reason = reason_for(policy, call, aspect, effect, None)
    return Verdict(effect, reason, _suggestions(policy, call) if effect == "always_ask" else ())


def _forbidding(policy: PermissionPolicy, aspect: Aspect, call: Call) -> PermissionRule | None:
    for rule in policy.rules:
        if rule.effect == "deny" and fit(rule, aspect, call) is Fit.YES:
            return rule
    return None


def _strictest(policy: PermissionPolicy, call: Call) -> tuple[Permission, Aspect]:
    """Of aspects that no rule forbids."""
    strictest, decisive = _effect(policy, call.aspects[0], call), call.aspects[0]
    for aspect in call.aspects[1:]:
        effect = _effect(policy, aspect, call)
        if _STRICTNESS[effect] > _STRICTNESS[strictest]:
            strictest, decisive = effect, aspect
    return strictest, decisive


def _effect(policy: PermissionPolicy, aspect: Aspect, call: Call) -> Permission:
    floor: Permission = "always_allow"
    for rule in _by_weight(policy):
        fits = fit(rule, aspect, call)
        if fits is Fit.NO:
            continue
        if rule.source == "workspace" or fits is Fit.MAYBE:
            floor = _stricter(floor, "always_allow" if rule.effect == "always_allow" else "always_ask")
        else:
            return _stricter(floor, rule.effect)
    return _stricter(floor, "always_allow" if aspect.soft else policy.default)


def _by_weight(policy: PermissionPolicy) -> Iterator[PermissionRule]:
    for source in ("person", "agent", "workspace", "profile"):
        yield from (rule for rule in reversed(policy.rules) if rule.source == source)


def _stricter(one: Permission, other: Permission) -> Permission:
    return max(one, other, key=_STRICTNESS.__getitem__)


def _suggestions(policy: PermissionPolicy, call: Call) -> tuple[PermissionRule, ...]:
    """Only rules that really let this very call run."""
    asking = [aspect for aspect in call.aspects if _effect(policy, aspect, call) != "always_allow"]
    found: list[PermissionRule] = []
    for rule in candidates(call, asking):
        kept = policy.model_copy(update={"rules": [*policy.rules, rule]})
        if len(found) >= MAX_SUGGESTIONS or rule in found or (found and is_whole_text(rule)):
            continue
        if _strictest(kept, call)[0] == "always_allow":
            found.append(rule)
    return tuple(found)
