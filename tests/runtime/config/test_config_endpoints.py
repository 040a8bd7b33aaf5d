"""Where requests go: the URL table."""

from __future__ import annotations

import pytest

from holaboss_client.config import ProviderKind
from holaboss_runtime.config.endpoints import Endpoint, endpoint, is_loopback, url_problem

CHAT, RESPONSES, CLAUDE = "openai_chat", "openai_responses", "anthropic_messages"


@pytest.mark.parametrize(
    ("kind", "provider", "model", "given", "protocol", "expected"),
    [
        ("openai_compatible", "openai_direct", "gpt-4.1", "https://api.openai.com", CHAT, "https://api.openai.com/v1"),
        ("openai_compatible", "openai_direct", "gpt-5.4", "https://api.openai.com/v1/", RESPONSES, "https://api.openai.com/v1"),
        ("openai_compatible", "openai", "gpt-5", "https://api.openai.com/v1", RESPONSES, "https://api.openai.com/v1"),
        ("openai_compatible", "mine", "gpt-5", "https://api.openai.com/v1", CHAT, "https://api.openai.com/v1"),
        ("openai_compatible", "gemini_direct", "g", "https://generativelanguage.googleapis.com", CHAT, "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("openai_compatible", "gemini_direct", "g", "https://generativelanguage.googleapis.com/v1beta", CHAT, "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("openai_compatible", "gemini_direct", "g", "https://generativelanguage.googleapis.com/v1beta/openai", CHAT, "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("openai_compatible", "openai_codex", "c", "https://chatgpt.com/backend-api/codex", CHAT, "https://chatgpt.com/backend-api/codex"),
        ("openai_compatible", "ollama_direct", "q", "http://localhost:11434", CHAT, "http://localhost:11434/v1"),
        ("openai_compatible", "ollama_direct", "q", " http://localhost:11434/v1 ", CHAT, "http://localhost:11434/v1"),
        ("openai_compatible", "mine", "m", "http://[::1]:8000/v1/chat/completions", CHAT, "http://[::1]:8000/v1"),
        ("openai_compatible", "mine", "m", "https://gateway.example/team/llm", CHAT, "https://gateway.example/team/llm"),
        ("openrouter", "openrouter_direct", "openai/gpt-5.4", "https://openrouter.ai", CHAT, "https://openrouter.ai/api/v1"),
        ("openrouter", "openrouter_direct", "x", "https://openrouter.ai/api", CHAT, "https://openrouter.ai/api/v1"),
        ("openrouter", "openrouter_direct", "x", "https://openrouter.ai/api/v1", CHAT, "https://openrouter.ai/api/v1"),
        ("anthropic_native", "anthropic_direct", "c", "https://api.anthropic.com", CLAUDE, "https://api.anthropic.com"),
        ("anthropic_native", "anthropic_direct", "c", "https://api.anthropic.com/v1", CLAUDE, "https://api.anthropic.com"),
        ("anthropic_native", "mine", "c", "http://127.0.0.1:9/v1/messages", CLAUDE, "http://127.0.0.1:9"),
        # The endpoint of a vendor where a proxy root was expected is used directly.
        ("holaboss_proxy", "holaboss_model_proxy", "gpt-5.2", "https://api.openai.com/v1", RESPONSES, "https://api.openai.com/v1"),
        ("holaboss_proxy", "holaboss_model_proxy", "claude-x", "https://api.anthropic.com/v1", CLAUDE, "https://api.anthropic.com"),
        ("holaboss_proxy", "holaboss_model_proxy", "llama", "http://127.0.0.1:9000/v1", CHAT, "http://127.0.0.1:9000/v1"),
    ],
)  # fmt: skip
def test_direct(
    kind: ProviderKind, provider: str, model: str, given: str, protocol: str, expected: str
) -> None:
    assert url_problem(given) is None
    found = endpoint(kind, given, provider, model)
    assert (found.protocol, found.base_url, found.via_proxy) == (protocol, expected, False)
    assert found.shown_url == expected


ROOT = "https://your-proxy.example/api/v1/model-proxy"


@pytest.mark.parametrize(
    "given", [ROOT, f"{ROOT}/", f"{ROOT}/openai/v1", f"{ROOT}/anthropic/v1", f"{ROOT}/anthropic"]
)
def test_a_proxy_root_gets_the_route_of_the_vendor(given: str) -> None:
    def at(model: str) -> Endpoint:
        return endpoint("holaboss_proxy", given, "holaboss_model_proxy", model)

    assert at("gpt-5.2") == Endpoint(RESPONSES, f"{ROOT}/openai/v1", via_proxy=True)
    assert at("gpt-4.1-mini") == Endpoint(CHAT, f"{ROOT}/openai/v1", via_proxy=True)
    # The Anthropic client adds /v1/messages by itself.
    assert at("claude-sonnet-4-6") == Endpoint(CLAUDE, f"{ROOT}/anthropic", via_proxy=True)
    assert at("claude-sonnet-4-6").shown_url == f"{ROOT}/anthropic/v1"


@pytest.mark.parametrize(
    "given",
    ["", "api.openai.com", "ftp://x/v1", "https://", "https:///v1", "http://a b/", "http://x:99999", "http://x:0",
     "https://user:pass@x/v1", "https://x/v1?key=1", "https://x/#f", "http://[::1/v1", "javascript:alert(1)", "file:///etc"],
)  # fmt: skip
def test_what_cannot_be_a_base_url(given: str) -> None:
    assert (url_problem(given) or "").endswith(".")


@pytest.mark.parametrize(
    ("given", "loopback"),
    [
        ("http://localhost:11434/v1", True), ("http://LOCALHOST./v1", True), ("http://a.localhost", True),
        ("http://127.8.9.1", True), ("http://[::1]:1/v1", True), ("http://127.0.0.1.example.com", False),
        ("http://localhost.example.com", False), ("http://10.0.0.1", False), ("http://0.0.0.0", False),
    ],
)  # fmt: skip
def test_what_is_this_machine(given: str, loopback: bool) -> None:
    assert is_loopback(given) is loopback
