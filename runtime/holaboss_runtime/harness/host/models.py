"""Model clients: one HTTP client per endpoint and key, shared by all runs of this host.

Retrying is the runtime's business, so the SDKs never do; proxies and keys of the environment are unused.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import truststore
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from holaboss_runtime.harness.contract import RunPackage, WireProtocol
from holaboss_runtime.harness.host.model_requests import AdaptedSchemas, AdaptsOnce, sent_as_given
from holaboss_runtime.harness.host.thinking import thinking_settings

CONNECT_S = 10.0
KEPT_CLIENTS = 16
_NO_KEY = "not-set"  # the SDKs insist on a key; local servers ignore it
_OPENAI_HOST = "api.openai.com"
_ANTHROPIC_HOST = "api.anthropic.com"
_ELSEWHERE = ModelProfile(supported_native_tools=frozenset({WebSearchTool}), tool_deferral_mode=None)
"""A server that speaks a vendor's dialect under a model's name need not search for tools by itself: then a hidden tool
would be lost, so this host does it. Searching the web is only left to one that was chosen for it."""


class _ChatModel(AdaptsOnce, OpenAIChatModel):
    pass


class _ResponsesModel(AdaptsOnce, OpenAIResponsesModel):
    pass


@dataclass
class _Endpoint:
    http: httpx2.AsyncClient
    sdk: Any
    runs: int = 0
    models: dict[tuple[str, str], AdaptsOnce] = field(default_factory=dict[tuple[str, str], AdaptsOnce])


class ModelClients:
    """Hands out models for runs. Close it when no run is left."""

    def __init__(self) -> None:
        self._tls = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._endpoints: OrderedDict[tuple[Any, ...], _Endpoint] = OrderedDict()
        self._schemas = AdaptedSchemas()

    @asynccontextmanager
    async def model(self, package: RunPackage) -> AsyncGenerator[tuple[Model, ModelSettings]]:
        """The model of a package and the settings for its requests, for the length of a run."""
        if package.model_client.protocol == "anthropic_messages":
            await asyncio.to_thread(
                warm, "anthropic_messages"
            )  # a second or so, once, when nobody asked earlier
        endpoint = self._endpoint(package)
        endpoint.runs += 1
        try:
            model = self._model(package, endpoint)
            yield model, _settings(package, model)
        finally:
            endpoint.runs -= 1
            await self._forget_old()

    async def close(self) -> None:
        while self._endpoints:
            _, endpoint = self._endpoints.popitem()
            await endpoint.http.aclose()

    def _endpoint(self, package: RunPackage) -> _Endpoint:
        client = package.model_client
        headers = tuple(sorted(client.default_headers.items()))
        key = (client.protocol, client.base_url, client.api_key, headers, package.limits.idle_s)
        if key not in self._endpoints:
            self._endpoints[key] = self._open(package)
        self._endpoints.move_to_end(key)
        return self._endpoints[key]

    def _model(self, package: RunPackage, endpoint: _Endpoint) -> AdaptsOnce:
        asked = (package.provider_id, package.model_id)
        if asked not in endpoint.models:
            endpoint.models[asked] = _model(package, endpoint.sdk)
            endpoint.models[asked].schemas = self._schemas
        return endpoint.models[asked]

    def _open(self, package: RunPackage) -> _Endpoint:
        client = package.model_client
        http = httpx2.AsyncClient(
            verify=self._tls,
            trust_env=False,
            follow_redirects=False,  # a redirect would carry the key to another host
            timeout=httpx2.Timeout(package.limits.idle_s, connect=min(CONNECT_S, package.limits.idle_s)),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8),
        )
        options: dict[str, Any] = {
            "api_key": client.api_key or _NO_KEY,
            "base_url": client.base_url,
            "default_headers": dict(client.default_headers),
            "max_retries": 0,
            "http_client": http,
            "timeout": http.timeout,
        }
        if client.protocol == "anthropic_messages":
            from anthropic import AsyncAnthropic

            sdk: Any = AsyncAnthropic(**options)
            asking = sdk.beta.messages
        else:
            sdk = AsyncOpenAI(**options)
            asking = sdk.chat.completions if client.protocol == "openai_chat" else sdk.responses
        asking.create = sent_as_given(asking.create)
        return _Endpoint(http, sdk)

    async def _forget_old(self) -> None:
        idle = [key for key, endpoint in self._endpoints.items() if endpoint.runs == 0]
        for key in idle[: max(0, len(self._endpoints) - KEPT_CLIENTS)]:
            await self._endpoints.pop(key).http.aclose()


def warm(protocol: WireProtocol) -> None:
    """Import what a protocol needs. Anthropic takes 40 MB; what the OpenAI client loads at its first request takes a
    tenth of a second and more, which would be the first run's."""
    match protocol:
        case "anthropic_messages":
            import pydantic_ai.models.anthropic  # noqa: F401  # pyright: ignore[reportUnusedImport]
        case "openai_responses":
            import openai.resources.responses.responses  # pyright: ignore[reportUnusedImport]
        case "openai_chat":
            import openai.resources.chat.completions.completions  # noqa: F401  # pyright: ignore[reportUnusedImport]


def _model(package: RunPackage, sdk: Any) -> AdaptsOnce:  # noqa: ANN401 - one of two SDK clients
    protocol, host = package.model_client.protocol, httpx2.URL(package.model_client.base_url).host
    if protocol == "anthropic_messages":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        profile = None if host == _ANTHROPIC_HOST else _ELSEWHERE

        class Messages(AdaptsOnce, AnthropicModel):
            pass

        return Messages(package.model_id, provider=AnthropicProvider(anthropic_client=sdk), profile=profile)
    if host == _OPENAI_HOST:
        provider = OpenAIProvider(openai_client=sdk)
    else:
        provider = OpenAICompatibleProvider(package.provider_id, openai_client=sdk, profile=_ELSEWHERE)
    if protocol == "openai_responses":
        return _ResponsesModel(package.model_id, provider=provider)
    return _ChatModel(package.model_id, provider=provider)


def _settings(package: RunPackage, model: Model) -> ModelSettings:
    settings = ModelSettings(framing_announcement="never")
    takes_budget = not model.profile.get("anthropic_disallows_budget_thinking", False)
    if package.model_facts.reasons is False:
        return settings  # asked to think, some servers refuse such a model's request
    picked = thinking_settings(
        package.thinking_value, package.model_client.protocol, takes_budget=takes_budget
    )
    return cast(ModelSettings, {**settings, **picked})  # provider settings extend the common ones
