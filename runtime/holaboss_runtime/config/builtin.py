"""The providers Holaboss knows by name, with what a person would otherwise have to look up.

Facts only: how a request is sent lives in `endpoints`, which one a model id means in `resolution`.
"""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_client.config import ProviderKind

PROXY_ID = "holaboss_model_proxy"
DEMO_ID = "demo"
DEFAULT_MODEL = "openai/gpt-5.4"


@dataclass(frozen=True, slots=True)
class BuiltinProvider:
    """`variable` is the prefix of `…_API_KEY` and `…_BASE_URL`, which a standalone runtime takes from its
    environment.

    `vendor_ids` are the prefixes by which a model id may call this provider. `flat_ids`: its model ids have
    no slash.
    """

    id: str
    name: str
    description: str
    kind: ProviderKind
    base_url: str
    models: tuple[str, ...]
    background_model: str | None
    key_url: str | None = None
    variable: str | None = None
    vendor_ids: tuple[str, ...] = ()
    flat_ids: bool = False


BUILTIN_PROVIDERS: tuple[BuiltinProvider, ...] = (
    BuiltinProvider(
        id=PROXY_ID,
        name="Holaboss",
        description="Many models through one Holaboss model proxy.",
        kind="holaboss_proxy",
        base_url="",
        models=("gpt-5.4", "gpt-5.4-mini", "claude-sonnet-4-6"),
        background_model="gpt-5.4-mini",
        vendor_ids=("holaboss",),
    ),
    BuiltinProvider(
        id="openai_direct",
        name="OpenAI",
        description="GPT models with your own OpenAI key.",
        kind="openai_compatible",
        base_url="https://api.openai.com/v1",
        models=("gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex"),
        background_model="gpt-5.4-mini",
        key_url="https://platform.openai.com/api-keys",
        variable="OPENAI",
        vendor_ids=("openai",),
        flat_ids=True,
    ),
    BuiltinProvider(
        id="anthropic_direct",
        name="Anthropic",
        description="Claude models with your own Anthropic key.",
        kind="anthropic_native",
        base_url="https://api.anthropic.com",
        models=("claude-sonnet-4-6", "claude-opus-4-6", "claude-haiku-4-5"),
        background_model="claude-sonnet-4-6",
        key_url="https://console.anthropic.com/settings/keys",
        variable="ANTHROPIC",
        vendor_ids=("anthropic",),
        flat_ids=True,
    ),
    BuiltinProvider(
        id="openrouter_direct",
        name="OpenRouter",
        description="Models of many vendors with one OpenRouter key.",
        kind="openrouter",
        base_url="https://openrouter.ai/api/v1",
        models=("openai/gpt-5.4", "openai/gpt-5.4-mini", "anthropic/claude-sonnet-4-6"),
        background_model="openai/gpt-5.4-mini",
        key_url="https://openrouter.ai/settings/keys",
        variable="OPENROUTER",
        vendor_ids=("openrouter",),
    ),
    BuiltinProvider(
        id="gemini_direct",
        name="Gemini",
        description="Google's Gemini models with your own key.",
        kind="openai_compatible",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        models=("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"),
        background_model="gemini-2.5-flash",
        key_url="https://aistudio.google.com/apikey",
        variable="GEMINI",
        vendor_ids=("google", "gemini"),
        flat_ids=True,
    ),
    BuiltinProvider(
        id="ollama_direct",
        name="Ollama",
        description="Models that run on this computer. No key needed.",
        kind="openai_compatible",
        base_url="http://localhost:11434/v1",
        models=("llama3.1:8b", "qwen3:8b", "gpt-oss:20b"),
        background_model=None,
        vendor_ids=("ollama",),
    ),
    BuiltinProvider(
        id="minimax_direct",
        name="MiniMax",
        description="MiniMax models with your own key.",
        kind="openai_compatible",
        base_url="https://api.minimax.io/v1",
        models=("MiniMax-M2.7", "MiniMax-M2.7-highspeed"),
        background_model="MiniMax-M2.7",
        key_url="https://platform.minimax.io",
        variable="MINIMAX",
        vendor_ids=("minimax",),
        flat_ids=True,
    ),
    BuiltinProvider(
        id=DEMO_ID,
        name="Demo model (offline, scripted)",
        description="Answers from a fixed script, to look around without a key. It is not an AI model.",
        kind="openai_compatible",
        base_url="",
        models=("scripted",),
        background_model="scripted",
    ),
)

BUILTIN: dict[str, BuiltinProvider] = {provider.id: provider for provider in BUILTIN_PROVIDERS}
VENDORS: dict[str, str] = {
    vendor: provider.id for provider in BUILTIN_PROVIDERS for vendor in provider.vendor_ids
}
