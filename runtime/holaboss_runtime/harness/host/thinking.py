"""What a person picked as thinking effort, as the settings a provider understands."""

from __future__ import annotations

from typing import Any, NamedTuple

from holaboss_runtime.harness.contract import WireProtocol

_LEVELS = ("minimal", "low", "medium", "high", "xhigh")
_SYNONYMS = {
    "none": "off",
    "false": "off",
    "0": "off",
    "max": "xhigh",
    "default": "low",
    "true": "medium",
    "enabled": "medium",
}
_SMALLEST_BUDGET = 1024  # Anthropic refuses less
_ANSWER_TOKENS = 8192


class Thinking(NamedTuple):
    """`level` is `off`, one of the five levels, or a label only the provider knows; `budget` is in tokens."""

    level: str
    budget: int | None = None


def parse_thinking(value: str | None) -> Thinking | None:
    """None when nothing was asked for."""
    text = (value or "").strip()
    lowered = text.lower()
    lowered = _SYNONYMS.get(lowered, lowered)
    if not lowered:
        return None
    if lowered == "off" or lowered in _LEVELS:
        return Thinking(lowered)
    try:
        budget = int(lowered)
    except ValueError:
        return Thinking(text)
    return Thinking(_level_of(budget), budget if budget > 0 else None)


def _level_of(budget: int) -> str:
    if budget < 0:
        return "high"
    return next(
        (level for level, most in (("minimal", 1024), ("low", 4096), ("medium", 12288)) if budget <= most),
        "high",
    )


def thinking_settings(value: str | None, protocol: WireProtocol, *, takes_budget: bool) -> dict[str, Any]:
    """Model settings for a picked value; empty when nothing was picked.

    `takes_budget` says whether this Anthropic model still accepts a number of thinking tokens.
    """
    thinking = parse_thinking(value)
    if thinking is None:
        return {}
    if protocol == "anthropic_messages":
        return _anthropic_settings(thinking, takes_budget=takes_budget)
    if thinking.level == "off":
        return {"thinking": False}
    raw = (value or "").strip()
    label = raw if raw.lower() == "max" and protocol == "openai_chat" else thinking.level
    effort = {"openai_reasoning_effort": label}
    # This dialect thinks in silence unless it is asked to tell.
    return effort | {"openai_reasoning_summary": "auto"} if protocol == "openai_responses" else effort


def _anthropic_settings(thinking: Thinking, *, takes_budget: bool) -> dict[str, Any]:
    if thinking.budget is not None and takes_budget:
        budget = max(_SMALLEST_BUDGET, thinking.budget)
        enabled = {"type": "enabled", "budget_tokens": budget}
        return {"anthropic_thinking": enabled, "max_tokens": budget + _ANSWER_TOKENS}
    if thinking.level == "off":
        return {"thinking": False}
    return {"thinking": thinking.level if thinking.level in _LEVELS else "medium"}
