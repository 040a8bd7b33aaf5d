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


@dataclass(frozen=True, slots=True)
class Environment:
    """`overrides` by setting name; `keys` and `base_urls` by provider id. A provider in `base_urls` has a
    key.
    """

    overrides: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict[str, str])


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
    return Environment(overrides, keys, base_urls)
