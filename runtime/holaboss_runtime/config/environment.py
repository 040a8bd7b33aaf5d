"""What the environment decides: three overrides of the file, and provider keys of a standalone runtime.

Secrets are taken out of the process environment when they are read, so that no child can inherit one.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field

from holaboss_runtime.config.builtin import BUILTIN_PROVIDERS

OVERRIDES: dict[str, str] = {
    "model_proxy_base_url": "HOLABOSS_MODEL_PROXY_BASE_URL",
    "auth_token": "HOLABOSS_SANDBOX_AUTH_TOKEN",
    "default_model": "HOLABOSS_DEFAULT_MODEL",
}
MCP_CONSENT, MCP_TRUSTED = "HOLABOSS_MCP_CONSENT", "trusted"
_NEVER = frozenset({"HOLABOSS_RUNTIME_TOKEN", "PATH", "HOME"})
"""Ours, or what programs need to be found."""


@dataclass(frozen=True, slots=True)
class Environment:
    """`overrides` by setting name; `keys` and `base_urls` by provider id. A provider in `base_urls` has a
    key.
    """

    overrides: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict[str, str])
    placeholders: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables that `{env:NAME}` of an MCP server may read: those that HOLABOSS_MCP_ENV names, standalone only."""
    secrets_key: str | None = field(default=None, repr=False)
    mcp_trusted: bool = False
    """Commands of workspace files are started as MCP servers unasked: HOLABOSS_MCP_CONSENT, standalone only."""


def take_environment(environ: MutableMapping[str, str], *, embedded: bool) -> Environment:
    """Read our variables and remove the secret ones. An embedded runtime gets its provider keys from its
    parent.
    """
    overrides = {
        name: value for name, variable in OVERRIDES.items() if (value := environ.get(variable, "").strip())
    }
    environ.pop(OVERRIDES["auth_token"], None)
    keys: dict[str, str] = {}
    base_urls: dict[str, str] = {}
    for provider in BUILTIN_PROVIDERS:
        if provider.variable is None:
            continue
        key = environ.pop(f"{provider.variable}_API_KEY", "").strip()
        if key and not embedded:
            keys[provider.id] = key
            base_urls[provider.id] = environ.get(f"{provider.variable}_BASE_URL", "").strip()
    secrets_key = environ.pop("HOLABOSS_SECRETS_KEY", "").strip() or None
    placeholders = {} if embedded else _placeholders(environ)
    trusted = environ.get(MCP_CONSENT, "").strip() == MCP_TRUSTED and not embedded
    return Environment(overrides, keys, base_urls, placeholders, None if embedded else secrets_key, trusted)


def _placeholders(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Taken out of the environment, because they are most likely secrets."""
    wanted = {name.strip() for name in environ.get("HOLABOSS_MCP_ENV", "").split(",")} - _NEVER
    return {name: environ.pop(name) for name in sorted(wanted) if name.isidentifier() and name in environ}
