"""What the document means: one frozen reading of `runtime-config.json` with the environment laid over it.

Lenient in what it reads: both spellings of a key, the old shorthand and the structured catalogue, and a value
of the wrong type counts as absent. Strict in what it yields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from holaboss_client.config import ProviderKind
from holaboss_runtime.config.builtin import BUILTIN, DEFAULT_MODEL, DEMO_ID, PROXY_ID, VENDORS
from holaboss_runtime.config.document import Document
from holaboss_runtime.config.environment import Environment
from holaboss_runtime.config.web import SearchSettings, read_search

KINDS: tuple[ProviderKind, ...] = get_args(ProviderKind)

# Where a setting may be, in order of precedence; the first is where it is written when it is nowhere yet.
PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    "default_model": (("runtime", "default_model"), ("default_model",), ("holaboss", "default_model")),
    "default_provider": (("runtime", "default_provider"), ("default_provider",)),
    "runtime_mode": (("runtime", "mode"), ("runtime_mode",)),
    "sandbox_id": (
        ("runtime", "sandbox_id"),
        ("sandbox_id",),
        ("integrations", "holaboss", "sandbox_id"),
        ("holaboss", "sandbox_id"),
    ),
    "user_id": (("integrations", "holaboss", "user_id"), ("user_id",), ("holaboss", "user_id")),
    "model_proxy_base_url": (("model_proxy_base_url",), ("holaboss", "model_proxy_base_url")),
    "auth_token": (("auth_token",), ("integrations", "holaboss", "auth_token"), ("holaboss", "auth_token")),
    "web_search_provider": (
        ("web_search", "provider"),
        ("webSearch", "provider"),
        ("search", "provider"),
    ),
    "image_provider": (("runtime", "image_generation", "provider"),),
    "image_model": (("runtime", "image_generation", "model"),),
}


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A connected provider. `api_key` is as stored: a literal, `keychain:<id>`, or None."""

    id: str
    kind: ProviderKind
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    name: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """`models` maps the key of the file to `(provider id, model id)`; `values` holds the plain settings of
    `PLACES`, `stated` what the file says of a model beside its name.
    """

    providers: Mapping[str, ProviderEntry]
    models: Mapping[str, tuple[str, str]]
    values: Mapping[str, str]
    background_provider: str | None
    background_model: str | None
    subagent_model: str | None
    holaboss_enabled: bool
    browser_enabled: bool
    browser_url: str | None
    search: SearchSettings
    stated: Mapping[tuple[str, str], Mapping[str, Any]] = field(
        default_factory=dict[tuple[str, str], Mapping[str, Any]]
    )

    @property
    def default_provider(self) -> str | None:
        """The configured default where it is connected, else the only provider there is."""
        configured = self.values.get("default_provider")
        if configured is not None:
            configured = configured if configured in self.providers else VENDORS.get(configured)
        if configured in self.providers:
            return configured
        return next(iter(self.providers)) if len(self.providers) == 1 else None

    @property
    def default_model(self) -> str:
        """The configured model, else the first one listed by the provider that comes first, else the
        built-in.
        """
        configured = self.values.get("default_model")
        if configured:
            return configured
        for provider in filter(None, (self.default_provider, "openai_direct", *self.providers)):
            if provider in self.providers and (listed := self.models_of(provider)):
                return f"{provider}/{listed[0]}"
        return DEFAULT_MODEL

    def models_of(self, provider_id: str) -> list[str]:
        """Bare model ids of a provider, in the order of the file."""
        found = dict.fromkeys(model for provider, model in self.models.values() if provider == provider_id)
        return list(found)


def read_settings(document: Document, environment: Environment) -> Settings:
    values = {name: value for name in PLACES if (value := read_setting(document, name)) is not None}
    values |= environment.overrides
    providers = dict(_providers(document))
    _lay_proxy(providers, values, environment)
    for provider_id, base_url in environment.base_urls.items():
        # A key in the environment connects a provider; the file, where it has one, still says the rest.
        builtin = BUILTIN[provider_id]
        if provider_id not in providers:
            providers[provider_id] = ProviderEntry(provider_id, builtin.kind, base_url or builtin.base_url)
    models = _models(document, providers)
    background = section(document, "runtime", "background_tasks")
    browser = section(document, "capabilities", "desktop_browser")
    return Settings(
        providers=providers,
        models=models,
        values=values,
        background_provider=text(background.get("provider")),
        background_model=text(background.get("model")),
        subagent_model=text(section(document, "runtime", "subagents").get("model")),
        holaboss_enabled=section(document, "integrations", "holaboss").get("enabled") is True,
        browser_enabled=browser.get("enabled") is True,
        browser_url=text(browser.get("url")),
        search=read_search(document),
        stated={target: mapping(section(document, "models").get(key)) for key, target in models.items()},
    )


def read_setting(document: Document, name: str) -> str | None:
    return next(
        (value for place in PLACES[name] if (value := text(lookup(document, *place))) is not None), None
    )


def lookup(document: Document, *way: str) -> object:
    """The value at the end of a way of keys; None when any part of it is missing."""
    return section(document, *way[:-1]).get(way[-1])


def section(document: Document, *way: str) -> Document:
    """The mapping at the end of a way of keys; empty when it is missing or something else."""
    found = document
    for key in way:
        found = mapping(found.get(key))
    return found


def mapping(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _providers(document: Document) -> Iterator[tuple[str, ProviderEntry]]:
    for provider_id, value in section(document, "providers").items():
        if not isinstance(value, dict):
            continue
        stored = mapping(cast(object, value))
        builtin = BUILTIN.get(provider_id)
        kind = text(stored.get("kind"))
        headers = {
            name: item for name, item in mapping(stored.get("headers")).items() if isinstance(item, str)
        }
        yield (
            provider_id,
            ProviderEntry(
                id=provider_id,
                kind=kind if kind in KINDS else builtin.kind if builtin else "openai_compatible",
                base_url="" if provider_id == DEMO_ID else _base_url(stored, provider_id),
                api_key=text(stored.get("api_key")),
                name=text(stored.get("name")),
                headers=headers,
            ),
        )


def _base_url(stored: Document, provider_id: str) -> str:
    builtin = BUILTIN.get(provider_id)
    return text(stored.get("base_url")) or (builtin.base_url if builtin else "")


def _lay_proxy(providers: dict[str, ProviderEntry], values: dict[str, str], environment: Environment) -> None:
    """The shorthand and the environment say where the proxy is; a structured entry beats the one, not the
    other.
    """
    stored = providers.get(PROXY_ID)
    shorthand_url, shorthand_key = values.get("model_proxy_base_url"), values.get("auth_token")
    if stored is None:
        if shorthand_url:
            providers[PROXY_ID] = ProviderEntry(PROXY_ID, "holaboss_proxy", shorthand_url, shorthand_key)
            values.setdefault("default_provider", PROXY_ID)
        return
    url, key = stored.base_url or shorthand_url, stored.api_key or shorthand_key
    url = environment.overrides.get("model_proxy_base_url", url)
    key = environment.overrides.get("auth_token", key)
    providers[PROXY_ID] = ProviderEntry(PROXY_ID, stored.kind, url or "", key, stored.name, stored.headers)


def _models(document: Document, providers: Mapping[str, ProviderEntry]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for key, value in section(document, "models").items():
        entry = mapping(value)
        prefix, _, rest = key.partition("/")
        provider = text(entry.get("provider")) or text(entry.get("provider_id")) or prefix
        model = text(entry.get("model")) or text(entry.get("model_id")) or rest
        if provider and model:
            found[key] = provider if provider in providers else VENDORS.get(provider, provider), model
    return found
