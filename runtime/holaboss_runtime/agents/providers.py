"""Provider words of the agent layer, and the model request they stand for in the provider catalogue."""

from __future__ import annotations

from holaboss_runtime.config.builtin import BUILTIN

DEFAULT = "default"
"""As a provider and as a model: whatever the runtime is configured with."""

CODEX = "openai-codex"
CLAUDE_CLI = "claude-cli"
_ALIASES = {
    "codex": CODEX,
    "openai_codex": CODEX,
    "pi": CODEX,
    "claude": CLAUDE_CLI,
    "claude-code": CLAUDE_CLI,
    "claude_code": CLAUDE_CLI,
}
# Their counterparts in the catalogue, by the prefix a model id carries there.
_VENDOR = {CODEX: "openai", CLAUDE_CLI: "anthropic"}
_ENTRY = {CODEX: "openai_direct", CLAUDE_CLI: "anthropic_direct"}
_FAMILIES = ("opus", "sonnet", "haiku")


def canonical(provider: str) -> str:
    """One spelling for each provider; a name that is no alias is an id of the catalogue and stays what it is."""
    return _ALIASES.get(provider, provider)


def known_alias(word: str) -> bool:
    return word in _ALIASES or word in (CODEX, CLAUDE_CLI)


def default_runner(provider: str) -> str:
    return "cli" if provider == CLAUDE_CLI else "embedded"


def default_model(provider: str) -> str | None:
    """None for a provider whose models only its owner knows."""
    if provider == DEFAULT:
        return DEFAULT
    if provider == CLAUDE_CLI:
        return "opus"
    builtin = BUILTIN.get(_ENTRY.get(provider, provider))
    return builtin.models[0] if builtin is not None and builtin.models else None


def model_request(provider: str, model: str) -> str | None:
    """What `resolve_model` is asked for; None is the configured default."""
    if model == DEFAULT:
        return None
    if provider == DEFAULT:
        return model
    if provider == CLAUDE_CLI and model in _FAMILIES:
        model = next(known for known in BUILTIN["anthropic_direct"].models if f"-{model}-" in known)
    vendor = _VENDOR.get(provider)
    if vendor is None:  # never cut: `openrouter/auto` is the whole name of a model of `openrouter`
        return f"{provider}/{model}"
    return model if model.startswith(f"{vendor}/") else f"{vendor}/{model}"
