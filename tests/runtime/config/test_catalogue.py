"""What is known of models, and what a client is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_runtime.config.catalogue import UNKNOWN, facts_of
from tests.runtime.config.conftest import Made

GPT = ("none", "low", "medium", "high", "xhigh")


@pytest.mark.parametrize(
    ("provider", "model", "window", "output", "images", "values", "default"),
    [
        ("openai_direct", "gpt-5.4", 1_050_000, 128_000, True, GPT, "medium"),
        ("openai_direct", "gpt-5.4-pro", 1_050_000, 128_000, True, GPT, "medium"),
        ("openai_direct", "gpt-5.4-mini", 400_000, 128_000, True, GPT, "medium"),
        ("openai_direct", "gpt-5.4-nano", 400_000, 128_000, True, GPT, "medium"),
        ("openai_direct", "gpt-5.3-codex", 400_000, 128_000, True, GPT[1:], "medium"),
        ("anthropic_direct", "claude-sonnet-4-6", 1_000_000, 128_000, True, GPT[1:4], "medium"),
        ("anthropic_direct", "claude-opus-4-6", 1_000_000, 128_000, True, (*GPT[1:4], "max"), "medium"),
        (
            "anthropic_direct",
            "claude-haiku-4-5",
            200_000,
            64_000,
            True,
            ("1024", "2048", "8192", "16384"),
            "8192",
        ),
        (
            "gemini_direct",
            "gemini-2.5-pro",
            1_048_576,
            65_536,
            True,
            ("-1", "128", "2048", "8192", "32768"),
            "8192",
        ),
        (
            "openrouter_direct",
            "anthropic/claude-sonnet-4-6",
            1_000_000,
            128_000,
            True,
            ("minimal", *GPT[1:4]),
            "medium",
        ),
        ("holaboss_model_proxy", "claude-sonnet-4-6", 1_000_000, 128_000, True, GPT[1:4], "medium"),
        ("ollama_direct", "llama3.1:8b", 65_536, 8_192, False, (), None),
        ("ollama_direct", "something:7b", 65_536, 8_192, False, (), None),
        ("my_server", "qwen3:8b", 65_536, 8_192, False, (), None),
        ("my_server", "gpt-oss:20b", 65_536, 8_192, False, (), None),
        ("minimax_direct", "MiniMax-M2.7", 204_800, 8_192, False, (), None),
        ("my_server", "nobody-knows-it", 65_536, 8_192, True, (), None),
        ("demo", "scripted", 65_536, 8_192, False, (), None),
    ],
)
def test_facts(
    provider: str,
    model: str,
    window: int,
    output: int,
    images: bool,
    values: tuple[str, ...],
    default: str | None,
) -> None:
    facts = facts_of(provider, model)
    assert (facts.context_window, facts.max_output, facts.takes_images) == (window, output, images)
    assert (facts.thinking_values, facts.default_thinking) == (values, default)


def test_a_default_is_one_of_the_values() -> None:
    for model in ("gpt-5.4", "gpt-5.3-codex", "claude-opus-4-6", "claude-haiku-4-5", "gemini-2.5-flash"):
        facts = facts_of("any", model)
        assert facts.default_thinking in facts.thinking_values


@pytest.mark.parametrize(
    ("stated", "changes"),
    [
        ({}, {}),
        ({"context_window": 8192, "max_output": 1024}, {"context_window": 8192, "max_output": 1024}),
        ({"context_window": "8192", "max_output": -1, "reasoning": "yes"}, {}),
        ({"context_window": True, "max_output": 10**12}, {}),
        ({"input_modalities": ["text"]}, {"takes_images": False}),
        ({"input_modalities": ["text", "image"]}, {"takes_images": True}),
        (
            {"thinking_values": ["low", 7, " "], "default_thinking_value": "low"},
            {"thinking_values": ("low",), "default_thinking": "low", "reasons": True},
        ),
        (
            {"thinking_values": ["a", "b"], "default_thinking_value": "c"},
            {"thinking_values": ("a", "b"), "default_thinking": "a", "reasons": True},
        ),
        ({"thinking_values": ["a"], "reasoning": False}, {"reasons": False}),
    ],
)
def test_the_settings_file_says_the_rest(stated: dict[str, Any], changes: dict[str, Any]) -> None:
    facts = facts_of("my_server", "my-model", stated)
    expected = {name: getattr(UNKNOWN, name) for name in UNKNOWN.__slots__} | changes
    assert {name: getattr(facts, name) for name in UNKNOWN.__slots__} == expected


DOCUMENT = {
    "providers": {
        "my_server": {"kind": "openai_compatible", "base_url": "http://127.0.0.1:9/v1"},
        "ollama_direct": {"kind": "openai_compatible", "base_url": "http://127.0.0.1:11434/v1"},
    },
    "models": {
        "my_server/vision": {"provider": "my_server", "model": "vision", "input_modalities": ["text"]},
        "ollama_direct/llama3.1:8b": {"provider": "ollama_direct", "model": "llama3.1:8b"},
    },
}


@pytest.mark.anyio
async def test_a_run_and_a_picker_get_the_same_facts(make: Made) -> None:
    service = make(DOCUMENT)
    model = await service.resolve_model("my_server/vision", headers={})
    assert not model.facts.takes_images
    views = {view.id: view for view in service.catalogue().providers}
    assert not views["my_server"].model_facts["vision"].takes_images
    assert views["anthropic_direct"].model_facts["claude-haiku-4-5"].thinking_values[0] == "1024"
    for view in views.values():
        assert set(view.model_facts) == {*view.models, *view.default_models}


def test_who_cannot_look_at_pictures(make: Made) -> None:
    service = make(DOCUMENT)
    assert service.blind_model("my_server/vision") == "vision"
    assert service.blind_model("ollama_direct/llama3.1:8b") == "llama3.1:8b"
    assert service.blind_model("my_server/other") is None
    assert service.blind_model("nobody/knows") is None
