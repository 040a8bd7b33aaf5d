from __future__ import annotations

from typing import Any

import pytest

from holaboss_runtime.harness.contract import WireProtocol
from holaboss_runtime.harness.host.thinking import Thinking, parse_thinking, thinking_settings


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("  ", None),
        ("off", Thinking("off")),
        ("None", Thinking("off")),
        ("0", Thinking("off")),
        ("High", Thinking("high")),
        ("max", Thinking("xhigh")),
        ("default", Thinking("low")),
        ("true", Thinking("medium")),
        ("-1", Thinking("high")),
        ("1024", Thinking("minimal", 1024)),
        ("4096", Thinking("low", 4096)),
        ("12288", Thinking("medium", 12288)),
        ("12289", Thinking("high", 12289)),
        ("ultra", Thinking("ultra")),
    ],
)
def test_values(value: str | None, expected: Thinking | None) -> None:
    assert parse_thinking(value) == expected


@pytest.mark.parametrize(
    ("value", "protocol", "takes_budget", "expected"),
    [
        (None, "openai_chat", True, {}),
        ("off", "openai_chat", True, {"thinking": False}),
        ("medium", "openai_chat", True, {"openai_reasoning_effort": "medium"}),
        ("max", "openai_chat", True, {"openai_reasoning_effort": "max"}),
        ("max", "openai_responses", True, {"openai_reasoning_effort": "xhigh"}),
        ("ultra", "openai_chat", True, {"openai_reasoning_effort": "ultra"}),
        ("8000", "openai_chat", True, {"openai_reasoning_effort": "medium"}),
        ("low", "anthropic_messages", True, {"thinking": "low"}),
        ("off", "anthropic_messages", True, {"thinking": False}),
        ("ultra", "anthropic_messages", True, {"thinking": "medium"}),
        ("8000", "anthropic_messages", False, {"thinking": "medium"}),
        (
            "8000",
            "anthropic_messages",
            True,
            {"anthropic_thinking": {"type": "enabled", "budget_tokens": 8000}, "max_tokens": 16192},
        ),
    ],
)
def test_settings(
    value: str | None, protocol: WireProtocol, takes_budget: bool, expected: dict[str, Any]
) -> None:
    assert thinking_settings(value, protocol, takes_budget=takes_budget) == expected
