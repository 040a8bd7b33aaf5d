"""Which provider a model id means."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_runtime.config.environment import Environment
from holaboss_runtime.config.resolution import resolve_target
from holaboss_runtime.config.settings import Settings, read_settings
from holaboss_runtime.errors import DomainError
from tests.runtime.config.conftest import SAMPLE


def settings(document: dict[str, Any], **overrides: str) -> Settings:
    return read_settings(document, Environment(overrides))


PROXY = "holaboss_model_proxy"


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (None, (PROXY, "gpt-5.2")),
        ("  ", (PROXY, "gpt-5.2")),
        ("holaboss/gpt-5.2", (PROXY, "gpt-5.2")),
        ("holaboss_model_proxy/gpt-5-mini", (PROXY, "gpt-5-mini")),
        ("holaboss/openai/gpt-5.2", (PROXY, "gpt-5.2")),
        ("holaboss/anthropic/claude-x", (PROXY, "claude-x")),
        ("openai_direct/gpt-5.2", ("openai_direct", "gpt-5.2")),
        ("openai_direct/not-listed", ("openai_direct", "not-listed")),
        ("openai/gpt-5.4", ("openai_direct", "gpt-5.4")),
        ("openai/gpt-4.1-mini-2025-04-14", ("openai_direct", "gpt-4.1-mini-2025-04-14")),
        ("anthropic/claude-sonnet-4-20250514", ("anthropic_direct", "claude-sonnet-4-20250514")),
        ("google/gemini-2.5-pro", ("gemini_direct", "gemini-2.5-pro")),
        ("claude-sonnet-4-20250514", ("anthropic_direct", "claude-sonnet-4-20250514")),
        ("claude-sonnet-4-6", ("anthropic_direct", "claude-sonnet-4-6")),
        ("openrouter_direct/openai/gpt-5.4", ("openrouter_direct", "openai/gpt-5.4")),
        ("ollama_direct/qwen2.5:0.5b", ("ollama_direct", "qwen2.5:0.5b")),
        ("qwen2.5:0.5b", ("ollama_direct", "qwen2.5:0.5b")),  # one provider lists it
        ("gpt-5.2", (PROXY, "gpt-5.2")),  # two list it: the default one
        ("never-heard-of", (PROXY, "never-heard-of")),
    ],
)
def test_with_the_sample_configuration(requested: str | None, expected: tuple[str, str]) -> None:
    assert resolve_target(settings(SAMPLE), requested) == expected


def only(*providers: str, default: str | None = None, models: tuple[str, ...] = ()) -> Settings:
    return settings(
        {
            "providers": {name: {"base_url": "http://127.0.0.1:9/v1"} for name in providers},
            "models": {model: {} for model in models},
            "runtime": {"default_provider": default},
        }
    )


@pytest.mark.parametrize(
    ("configured", "requested", "expected"),
    [
        (only("openai_direct", "ollama_direct"), "gpt-5.4", ("openai_direct", "gpt-5.4")),
        (only("openai_direct"), None, ("openai_direct", "gpt-5.4")),
        (only("ollama_direct"), "llama3.1:8b", ("ollama_direct", "llama3.1:8b")),
        (only("openrouter_direct"), "openai/gpt-5.4", ("openrouter_direct", "openai/gpt-5.4")),
        (only("openrouter_direct"), "claude-opus-4-6", ("openrouter_direct", "anthropic/claude-opus-4-6")),
        (only(PROXY), "openai/gpt-5.4", (PROXY, "gpt-5.4")),
        (only(PROXY), "claude-opus-4-6", (PROXY, "claude-opus-4-6")),
        (only(PROXY, "openrouter_direct", default=PROXY), "anthropic/c", (PROXY, "c")),
        (only(PROXY, "openrouter_direct", default="openrouter_direct"), "anthropic/c", ("openrouter_direct", "anthropic/c")),  # noqa: E501
        (only("vllm", default="vllm"), "Qwen/Qwen3-8B", ("vllm", "Qwen/Qwen3-8B")),
        (only("vllm", "openai_direct", models=("vllm/Qwen/Qwen3-8B",)), "Qwen/Qwen3-8B", ("vllm", "Qwen/Qwen3-8B")),
        (only("openai"), "openai/gpt-5.4", ("openai", "gpt-5.4")),
        (only("vllm", models=("vllm/a", "vllm/b")), None, ("vllm", "a")),
    ],
)  # fmt: skip
def test_with_few_providers(configured: Settings, requested: str | None, expected: tuple[str, str]) -> None:
    assert resolve_target(configured, requested) == expected


@pytest.mark.parametrize(
    ("configured", "requested", "code"),
    [
        (only(), None, "model_not_configured"),
        (only(), "openai/gpt-5.4", "model_not_configured"),
        (only("ollama_direct", "vllm"), "gpt-5.4", "model_not_configured"),
        (only("ollama_direct"), "anthropic/claude-x", "model_not_configured"),
        (only("openai_direct"), "anthropic_direct/claude-x", "model_not_configured"),
        (only("openai_direct"), "openai_direct/openai/gpt-5.4", "model_id_invalid"),
        (only("anthropic_direct"), "anthropic_direct/", "model_id_invalid"),
    ],
)
def test_what_no_provider_offers(configured: Settings, requested: str | None, code: str) -> None:
    with pytest.raises(DomainError) as raised:
        resolve_target(configured, requested)
    assert raised.value.code == code
    assert raised.value.detail.endswith(".")


@pytest.mark.parametrize(
    "entry",
    [
        {"provider": "fake", "model": "m-1"},
        {"provider_id": "fake", "model_id": "m-1"},
        {},
        {"provider": "fake", "model": "m-1", "label": "One", "reasoning": True},
    ],
)
def test_both_spellings_of_a_model_entry(entry: dict[str, Any]) -> None:
    document = {"providers": {"fake": {}}, "models": {"fake/m-1": entry}}
    assert resolve_target(settings(document), "m-1") == ("fake", "m-1")


def test_the_old_shorthand() -> None:
    found = settings(
        {
            "model_proxy_base_url": "https://p.example/proxy",
            "auth_token": "t",
            "default_model": "openai/gpt-5.4",
        }
    )
    assert found.default_provider == PROXY
    assert found.providers[PROXY].api_key == "t"
    assert resolve_target(found, None) == (PROXY, "gpt-5.4")
    assert resolve_target(found, "claude-x") == (PROXY, "claude-x")


def test_the_environment_overrides_the_file() -> None:
    found = settings(
        SAMPLE,
        model_proxy_base_url="https://other.example/proxy",
        auth_token="other",
        default_model="anthropic/claude-sonnet-4-20250514",
    )
    assert found.providers[PROXY].base_url == "https://other.example/proxy"
    assert found.providers[PROXY].api_key == "other"
    assert resolve_target(found, None) == ("anthropic_direct", "claude-sonnet-4-20250514")
    alone = settings({}, model_proxy_base_url="https://other.example/proxy", default_model="anthropic/c-1")
    assert resolve_target(alone, None) == (PROXY, "c-1")


@pytest.mark.parametrize(
    "document",
    [
        {"providers": [], "models": "x", "runtime": 3},
        {"providers": {"p": 7, "q": {"kind": "nonsense", "base_url": 5, "headers": {"a": 1}}}},
        {"models": {"": {}, "x": None, "a/b": {"provider": 3}}},
        {"runtime": {"background_tasks": [], "default_model": {}}, "capabilities": None, "integrations": []},
    ],
)
def test_values_of_the_wrong_type_count_as_absent(document: dict[str, Any]) -> None:
    found = settings(document)
    assert found.default_model == "openai/gpt-5.4"
    assert "p" not in found.providers
