"""Who searches the web and who draws pictures, and with which key. Pure; reads what `settings` read.

A search key is kept like a provider's key, under the name `web-search:<provider>`. Nothing here is asked or opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from holaboss_client.config import ProviderKind
from holaboss_runtime.config.document import Document
from holaboss_runtime.config.endpoints import WireProtocol, endpoint, url_problem

SearchProvider = Literal["native", "keyless", "exa", "tavily", "brave"]
ImageKind = Literal["openai_images", "openrouter_chat", "gemini"]

SEARCH_PREFIX = "web-search:"
KEYED: tuple[SearchProvider, ...] = ("exa", "tavily", "brave")
OFF = "off"
SEARCH_CHOICES: tuple[str, ...] = (*get_args(SearchProvider), OFF)
_NOTHING: Document = {}
_BLOCKS = ("web_search", "webSearch", "search")
_OTHER_NAMES = {"exa_hosted_mcp": "exa"}
_NATIVE_HOSTS: dict[WireProtocol, str] = {
    "openai_responses": "api.openai.com",
    "anthropic_messages": "api.anthropic.com",
}
_GEMINI_HOST = "generativelanguage.googleapis.com"
_IMAGE_MODELS: dict[ImageKind, str] = {
    "openai_images": "gpt-image-1.5",
    "openrouter_chat": "google/gemini-3.1-flash-image-preview",
    "gemini": "gemini-3.1-flash-image-preview",
}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`provider` is None where nobody chose one; `keys` are as stored: literals or references to a keychain."""

    provider: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class ResolvedSearch:
    provider: SearchProvider
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ResolvedImages:
    """Everything a client of an image model needs."""

    provider_id: str
    model_id: str
    kind: ImageKind
    base_url: str
    api_key: str = field(repr=False)


def read_search(document: Document) -> SearchSettings:
    """The block `web_search`, also under its older names; what it does not know counts as absent."""
    blocks = (_mapping(document.get(name)) for name in _BLOCKS)
    block: Document = next(filter(None, blocks), _NOTHING)
    provider = _text(block.get("provider"))
    provider = _OTHER_NAMES.get(provider or "", provider)
    keys: dict[str, str] = {}
    for name, stored in _mapping(block.get("providers")).items():
        entry = _mapping(stored)
        kind = _OTHER_NAMES.get(_text(entry.get("kind")) or "", name)
        if kind in KEYED and (key := _text(entry.get("api_key"))):
            keys[kind] = key
    return SearchSettings(provider if provider in SEARCH_CHOICES else None, keys)


def search_provider_of(secret_id: str) -> str | None:
    """The search provider a key belongs to; None for a key of anybody else."""
    name = secret_id.removeprefix(SEARCH_PREFIX)
    return name if secret_id.startswith(SEARCH_PREFIX) and name in KEYED else None


def resolve_search(
    settings: SearchSettings, keys: Mapping[str, str], protocol: WireProtocol, base_url: str
) -> ResolvedSearch | None:
    """Who answers the searches of a run; None when searching is switched off.

    What a person chose holds, also while its key is missing: a query goes to nobody else. Without a choice it is a
    service whose key is there, else the model's own provider, else the library without a key. `keys` are those that
    are there, by provider.
    """
    chosen = settings.provider
    if chosen == OFF:
        return None
    native = protocol in _NATIVE_HOSTS
    if chosen == "native":
        return ResolvedSearch("native" if native else "keyless")
    if chosen is not None:
        provider = cast("SearchProvider", chosen)
        return ResolvedSearch(provider, keys.get(provider, ""))
    for provider in KEYED:
        if provider in keys:
            return ResolvedSearch(provider, keys[provider])
    own = native and urlsplit(base_url).hostname == _NATIVE_HOSTS[protocol]
    return ResolvedSearch("native" if own else "keyless")


def resolve_images(
    provider_id: str, kind: ProviderKind, base_url: str, model: str | None, api_key: str
) -> ResolvedImages | None:
    """The image model of a connected provider; None for one that draws nothing."""
    if kind not in ("openai_compatible", "openrouter") or url_problem(base_url) is not None:
        return None
    image_kind: ImageKind = "openrouter_chat" if kind == "openrouter" else "openai_images"
    base = endpoint(kind, base_url, provider_id, "").base_url
    if urlsplit(base).hostname == _GEMINI_HOST:
        image_kind, base = "gemini", base.removesuffix("/openai")
    return ResolvedImages(provider_id, model or _IMAGE_MODELS[image_kind], image_kind, base, api_key)


def set_search_key(document: Document, provider: str, value: str | None) -> None:
    """Store a search key, or a reference to one, in the file; None removes it."""
    for name in _BLOCKS:  # one place only, so that no old key stays behind
        providers = _mapping(_mapping(document.get(name)).get("providers"))
        for known, entry in providers.items():
            if known == provider or _OTHER_NAMES.get(_text(_mapping(entry).get("kind")) or "") == provider:
                _mapping(entry).pop("api_key", None)
    if value is not None:
        entry = _open(_open(_open(document, "web_search"), "providers"), provider)
        entry["api_key"] = value


def _open(parent: Document, key: str) -> Document:
    if not isinstance(parent.get(key), dict):
        parent[key] = {}
    return cast("dict[str, Any]", parent[key])


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
