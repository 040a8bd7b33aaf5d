"""Where requests to a provider really go: URL rules, wire protocol and headers. Pure functions."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from holaboss_client.config import ProviderKind

WireProtocol = Literal["openai_chat", "openai_responses", "anthropic_messages"]

_OPENAI_HOST = "api.openai.com"
_ANTHROPIC_HOST = "api.anthropic.com"
_OPENROUTER_HOST = "openrouter.ai"
_GEMINI_HOST = "generativelanguage.googleapis.com"
_VENDOR_HOSTS = frozenset({_OPENAI_HOST, _ANTHROPIC_HOST, _OPENROUTER_HOST, _GEMINI_HOST})
_PROXY_ROUTE = re.compile(r"/(openai|anthropic|google)(/v1)?$")
# People paste the address of a whole call; what comes after the base is taken off.
_CALL = re.compile(r"/(chat/completions|responses|messages|models)$")
_RESPONSES_IDS = frozenset({"openai_direct", "openai", "holaboss_model_proxy", "holaboss"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`base_url` is what a model client takes as its base; `via_proxy` asks for the headers of a Holaboss
    proxy.
    """

    protocol: WireProtocol
    base_url: str
    via_proxy: bool = False

    @property
    def shown_url(self) -> str:
        """For people: an Anthropic client adds `/v1` by itself, which is shown where it is part of a route."""
        adds_version = self.via_proxy and self.protocol == "anthropic_messages"
        return f"{self.base_url}/v1" if adds_version else self.base_url


def url_problem(base_url: str) -> str | None:
    """Why this cannot be a base URL, as a sentence; None when it can."""
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        return "This is not a valid URL."
    if parts.scheme not in ("http", "https"):
        return "The URL must start with http:// or https://."
    if not parts.hostname or port == 0 or re.search(r"[\s\\]", parts.netloc):
        return "The URL has no valid host."
    if parts.username or parts.password:
        return "A key does not belong in the URL; enter it in the key field."
    if parts.query or parts.fragment:
        return "The URL must not have a query or a fragment."
    return None


def endpoint(kind: ProviderKind, base_url: str, provider_id: str, model: str) -> Endpoint:
    """How `model` of this provider is reached. `base_url` has passed `url_problem`."""
    parts = _trimmed(base_url)
    if kind == "anthropic_native":
        return Endpoint("anthropic_messages", _anthropic(parts))
    if kind == "holaboss_proxy":
        return _proxy(parts, provider_id, model)
    protocol = openai_protocol(provider_id, model) if kind == "openai_compatible" else "openai_chat"
    return Endpoint(protocol, _openai(parts, openrouter=kind == "openrouter"))


def openai_protocol(provider_id: str, model: str) -> WireProtocol:
    return (
        "openai_responses" if provider_id in _RESPONSES_IDS and model.startswith("gpt-5") else "openai_chat"
    )


def is_loopback(base_url: str) -> bool:
    host = (urlsplit(base_url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _trimmed(base_url: str) -> SplitResult:
    parts = urlsplit(base_url.strip())
    path = _CALL.sub("", parts.path.rstrip("/")).rstrip("/")
    return parts._replace(path=path, query="", fragment="")


def _openai(parts: SplitResult, *, openrouter: bool = False) -> str:
    path = parts.path
    if parts.hostname == _GEMINI_HOST:
        path = "/v1beta/openai" if path in ("", "/v1", "/v1beta") else path
    elif openrouter or parts.hostname == _OPENROUTER_HOST:
        path = "/api/v1" if path in ("", "/api") else path
    elif path == "":
        path = "/v1"
    return urlunsplit(parts._replace(path=path))


def _anthropic(parts: SplitResult) -> str:
    return urlunsplit(parts._replace(path=parts.path.removesuffix("/v1")))


def _proxy(parts: SplitResult, provider_id: str, model: str) -> Endpoint:
    """A proxy root gets the route of the vendor; the endpoint of a vendor is used directly, without proxy
    headers.
    """
    root_path = _PROXY_ROUTE.sub("", parts.path)
    if parts.hostname == _ANTHROPIC_HOST:
        return Endpoint("anthropic_messages", _anthropic(parts))
    if parts.hostname in _VENDOR_HOSTS or (parts.path.endswith("/v1") and root_path == parts.path):
        direct = openai_protocol(provider_id, model) if parts.hostname == _OPENAI_HOST else "openai_chat"
        return Endpoint(direct, _openai(parts))
    root = urlunsplit(parts._replace(path=root_path))
    if model.startswith("claude"):
        return Endpoint("anthropic_messages", f"{root}/anthropic", via_proxy=True)
    return Endpoint(openai_protocol(provider_id, model), f"{root}/openai/v1", via_proxy=True)
