"""What a person may enter about a provider, and what is wrong with it: plain data and rules, no widgets.

The runtime decides for good; these rules answer while someone types, so that nothing invalid is sent.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain, count
from typing import Final
from urllib.parse import SplitResult, urlsplit

from PySide6.QtCore import QCoreApplication

from holaboss_client.config import ProviderKind, ProviderView

KIND_NAMES: Final[dict[ProviderKind, str]] = {
    "openai_compatible": "OpenAI-compatible",
    "anthropic_native": "Anthropic Messages",
    "openrouter": "OpenRouter",
    "holaboss_proxy": "Holaboss model proxy",
}

_ANTHROPIC_HOST: Final = "api.anthropic.com"
_GEMINI_HOST: Final = "generativelanguage.googleapis.com"
_OPENROUTER_HOST: Final = "openrouter.ai"
_VENDOR_HOSTS: Final = frozenset({"api.openai.com", _ANTHROPIC_HOST, _GEMINI_HOST, _OPENROUTER_HOST})
_PROXY_ROUTE: Final = re.compile(r"/(openai|anthropic|google)(/v1)?$")
_CALL: Final = re.compile(r"/(chat/completions|responses|messages|models)$")
"""What people paste along when they copy the address of a whole call."""

LONGEST_ID: Final = 64
LONGEST_NAME: Final = 100
"""What the runtime takes of them, in characters."""


@dataclass(frozen=True, slots=True)
class ProviderDraft:
    """The editable part of a provider card. `models` keeps the order in which they were typed."""

    base_url: str
    models: tuple[str, ...]

    @classmethod
    def of(cls, view: ProviderView) -> ProviderDraft:
        """The stored values, or the catalogue's defaults while the provider is not connected."""
        return cls(view.base_url or view.default_base_url, tuple(view.models or view.default_models))


def split_models(text: str) -> tuple[str, ...]:
    """Model ids from free text: one per line, commas accepted, blanks dropped. Duplicates stay."""
    return tuple(name.strip() for name in re.split(r"[\n,]", text) if name.strip())


def check_base_url(value: str) -> str | None:
    """What is wrong with a base URL, as a sentence; None when it can be used."""
    if not value.strip():
        return _tr("Enter the address of the API, for example https://api.example.com/v1.")
    parts = _split(value)
    if parts is None or parts.scheme not in {"http", "https"}:
        return _tr("The address must start with https:// or http://.")
    if not parts.hostname or " " in value.strip():
        return _tr("The address has no valid host name.")
    if parts.username or parts.password:
        return _tr("Leave user name and password out of the address; enter the key below.")
    if parts.query or parts.fragment:
        return _tr("The address must end with its path, without ? or #.")
    return None


def check_models(models: tuple[str, ...], *, slashes: bool) -> str | None:
    """What is wrong with a list of model ids, as a sentence; None when it can be saved."""
    seen: set[str] = set()
    for model in models:
        if model in seen:
            return _tr("“{model}” is listed twice.").format(model=model)
        seen.add(model)
        if any(character.isspace() for character in model):
            return _tr("“{model}” contains a space; write one model id per line.").format(model=model)
        if "/" in model and not slashes:
            return _tr("“{model}” contains a slash, which no model id of this provider does.").format(
                model=model
            )
    return None


def slashes_allowed(view: ProviderView, base_url: str) -> bool:
    """Vendors with their own API have plain model ids; routers and servers of one's own may use any."""
    return view.custom or view.kind in {"openrouter", "holaboss_proxy"} or is_loopback(base_url)


def check_name(name: str, taken: Collection[str]) -> str | None:
    """What is wrong with the name of a new provider; `taken` holds the ids in use."""
    if not name.strip():
        return _tr("Give the provider a name.")
    if not any(character.isalnum() for character in name):
        return _tr("Use at least one letter or digit in the name.")
    if (found := provider_id(name)) and found in taken:
        return _tr("There is already a provider with this name.")
    return None


def provider_id(name: str) -> str:
    """The id of a custom provider: at most 64 lower case letters, digits and underscores. `My Büro!` becomes
    `my_buro`; a name in another script, of which nothing is left, gives an empty id."""
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:LONGEST_ID].strip("_")


def free_provider_id(name: str, taken: Collection[str]) -> str:
    """The id of `name`, or, where its script has no plain letters, the first free one of `custom`, `custom_2`…"""
    if found := provider_id(name):
        return found
    numbered = (f"custom_{number}" for number in count(2))
    return next(candidate for candidate in chain(["custom"], numbered) if candidate not in taken)


def is_loopback(url: str) -> bool:
    """True when requests to `url` stay on this computer; such servers need no key."""
    parts = _split(url)
    host = (parts.hostname or "") if parts else ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def preview_url(kind: ProviderKind, base_url: str, first_model: str = "") -> str:
    """Where requests will go, by the same rules as the runtime's. Empty while `base_url` is not valid."""
    if check_base_url(base_url) is not None:
        return ""
    parts = urlsplit(base_url.strip())
    parts = parts._replace(path=_CALL.sub("", parts.path.rstrip("/")).rstrip("/"))
    if kind == "anthropic_native":
        return parts._replace(path=parts.path.removesuffix("/v1")).geturl()
    if kind == "holaboss_proxy":
        return _proxy_url(parts, first_model)
    return _openai_url(parts, openrouter=kind == "openrouter")


def _openai_url(parts: SplitResult, *, openrouter: bool) -> str:
    shortened: dict[str, str] = {"": "/v1"}
    if parts.hostname == _GEMINI_HOST:
        shortened = dict.fromkeys(("", "/v1", "/v1beta"), "/v1beta/openai")
    elif openrouter or parts.hostname == _OPENROUTER_HOST:
        shortened = dict.fromkeys(("", "/api"), "/api/v1")
    return parts._replace(path=shortened.get(parts.path, parts.path)).geturl()


def _proxy_url(parts: SplitResult, first_model: str) -> str:
    root = _PROXY_ROUTE.sub("", parts.path)
    if parts.hostname == _ANTHROPIC_HOST:
        return parts._replace(path=parts.path.removesuffix("/v1")).geturl()
    if parts.hostname in _VENDOR_HOSTS or (parts.path.endswith("/v1") and root == parts.path):
        return _openai_url(parts, openrouter=False)
    route = "/anthropic/v1" if first_model.startswith("claude") else "/openai/v1"
    return parts._replace(path=root + route).geturl()


def _tr(text: str) -> str:
    return QCoreApplication.translate("ProviderForm", text)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError:
        return None
    return parts
