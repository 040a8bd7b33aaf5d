"""The search of the model's own provider: part of the request to the model, carried out there, told like any call.

Nobody can be asked about a single search of this kind, so it is only used where no question would be asked anyway.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.messages import NativeToolReturnPart
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.settings import ModelSettings

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.text import clip, valid_text
from holaboss_runtime.harness.host.web.choice import searches_natively
from holaboss_runtime.harness.host.web.digging import dig, items_of
from holaboss_runtime.harness.host.web.results import results_of

MOST_SEARCHES = 8
MAX_TEXT_CHARS = 4_000


def native_capabilities(package: RunPackage) -> list[AbstractCapability[object]]:
    """What the provider of the model does for this run by itself."""
    if not searches_natively(package):
        return []
    if package.model_client.protocol == "anthropic_messages":  # the other dialect has no such bound
        return [NativeTool(WebSearchTool(max_uses=MOST_SEARCHES))]
    return [NativeTool(WebSearchTool())]


def with_native_settings(package: RunPackage, settings: ModelSettings) -> ModelSettings:
    """The settings of the model, and that a search names the pages it found where that has to be asked for."""
    if package.model_client.protocol != "openai_responses" or not searches_natively(package):
        return settings
    return cast("ModelSettings", {**settings, "openai_include_web_search_sources": True})


def native_result(part: NativeToolReturnPart[Any]) -> tuple[str, bool, dict[str, Any]]:
    """Text, whether it failed, and details of what a provider did by itself."""
    content = cast("object", part.content)
    sources: object = items_of(content) or dig(content, "sources") or dig(content, "results")
    found = results_of(sources, title="title", url="url", snippets=())
    listed = [{"title": result.title, "url": result.url} for result in found[:20]]
    failed = dig(content, "error_code") is not None or dig(content, "status") == "failed"
    if listed:
        text = "\n".join(f"{entry['title']}\n   {entry['url']}" for entry in listed)
    else:
        text = "The provider's own search failed." if failed else "Done by the model's provider."
    return clip(valid_text(text), MAX_TEXT_CHARS), failed, {"native": True, "results": listed}
