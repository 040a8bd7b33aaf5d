from __future__ import annotations

from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import ModelFacts, WireProtocol
from holaboss_runtime.harness.host.thinking import Thinking, parse_thinking, thinking_settings
from tests.runtime.harness.asking import PROTOCOLS
from tests.runtime.harness.conftest import BuildPackage, Listener
from tests.support.scripted_provider import ScriptedProvider, say


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
        (
            "max",
            "openai_responses",
            True,
            {"openai_reasoning_effort": "xhigh", "openai_reasoning_summary": "auto"},
        ),
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


ASKED: dict[WireProtocol, tuple[str, Any]] = {
    "openai_chat": ("reasoning_effort", "high"),
    "openai_responses": ("reasoning", {"effort": "high", "summary": "auto"}),
    "anthropic_messages": ("thinking", {"type": "enabled", "budget_tokens": 16384}),
}


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_thinking_is_asked_for_and_streams_in_every_dialect(
    listener: Listener, package: BuildPackage, provider: ScriptedProvider, protocol: WireProtocol
) -> None:
    provider.enqueue(say("An answer.", thinking="One thought after another."))
    events = await listener.run(package(protocol=protocol, thinking_value="high"))
    told = [event.payload for event in events if event.event_type == RunEvent.THINKING_DELTA]
    assert "".join(payload["delta"] for payload in told) == "One thought after another."
    assert {payload["content_index"] for payload in told} == {0}
    name, value = ASKED[protocol]
    assert provider.requests[-1].body[name] == value


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("value", "reasons"), [(None, None), ("high", False)])
async def test_who_was_not_asked_or_cannot_is_left_alone(
    listener: Listener,
    package: BuildPackage,
    provider: ScriptedProvider,
    protocol: WireProtocol,
    value: str | None,
    reasons: bool | None,
) -> None:
    facts = ModelFacts(reasons=reasons)
    await listener.run(package(protocol=protocol, thinking_value=value, model_facts=facts))
    assert not {"reasoning_effort", "thinking", "reasoning"} & provider.requests[-1].body.keys()
