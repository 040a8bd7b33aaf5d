"""Who answers a search: three services by key, and a library without one.

The search of a model's own provider is not here: it is part of the request to the model (`native`).
"""

from __future__ import annotations

from typing import Protocol

from holaboss_runtime.harness.contract import SearchClient
from holaboss_runtime.harness.host.throwaway import ask_helper
from holaboss_runtime.harness.host.web.digging import dig
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.http import ask_json, open_client
from holaboss_runtime.harness.host.web.results import SearchResult, results_of

TIMEOUT_S = 25.0
SNIPPET_CHARS = 1_000


class Searcher(Protocol):
    async def search(self, query: str, count: int) -> list[SearchResult]:
        """At most `count`. Raises `WebError`."""
        ...


class ExaSearch:
    def __init__(self, api_key: str, base_url: str = "https://api.exa.ai") -> None:
        self._api_key = api_key
        self._url = f"{base_url}/search"

    async def search(self, query: str, count: int) -> list[SearchResult]:
        body = {
            "query": query,
            "numResults": count,
            "type": "auto",
            "contents": {"text": {"maxCharacters": SNIPPET_CHARS}},
        }
        async with open_client(TIMEOUT_S) as client:
            request = client.build_request("POST", self._url, json=body, headers={"x-api-key": self._api_key})
            answer = await ask_json("Exa", client, request)
        found = results_of(
            answer.get("results"), title="title", url="url", snippets=("highlights", "summary", "text")
        )
        return found[:count]


class TavilySearch:
    def __init__(self, api_key: str, base_url: str = "https://api.tavily.com") -> None:
        self._api_key = api_key
        self._url = f"{base_url}/search"

    async def search(self, query: str, count: int) -> list[SearchResult]:
        body = {"query": query, "max_results": count, "search_depth": "basic"}
        headers = {"authorization": f"Bearer {self._api_key}"}
        async with open_client(TIMEOUT_S) as client:
            request = client.build_request("POST", self._url, json=body, headers=headers)
            answer = await ask_json("Tavily", client, request)
        return results_of(answer.get("results"), title="title", url="url", snippets=("content",))[:count]


class BraveSearch:
    def __init__(self, api_key: str, base_url: str = "https://api.search.brave.com") -> None:
        self._api_key = api_key
        self._url = f"{base_url}/res/v1/web/search"

    async def search(self, query: str, count: int) -> list[SearchResult]:
        parameters = {"q": query, "count": str(count), "text_decorations": "false"}
        headers = {"x-subscription-token": self._api_key, "accept": "application/json"}
        async with open_client(TIMEOUT_S) as client:
            request = client.build_request("GET", self._url, params=parameters, headers=headers)
            answer = await ask_json("Brave Search", client, request)
        listed = dig(answer, "web", "results")
        found = results_of(listed, title="title", url="url", snippets=("description", "extra_snippets"))
        return found[:count]


class KeylessSearch:
    """The library runs in a process of its own: it uses threads of its own, which nobody could stop."""

    async def search(self, query: str, count: int) -> list[SearchResult]:
        answer = await ask_helper("web-search", {"query": query, "count": count}, TIMEOUT_S)
        for said in answer.said:
            if "results" in said:
                return results_of(said["results"], title="title", url="href", snippets=("body",))[:count]
            if said.get("nothing"):
                return []
        why = "did not answer in time" if answer.timed_out else "cannot be reached"
        raise WebError(
            f"The public search services {why}. Try again later, or ask the person to add a search key in Settings."
        )


def searcher_of(client: SearchClient) -> Searcher:
    """`native` has no searcher of its own: where it could not be used, the library stands in. Raises `WebError` for
    a service whose key is not there: nobody else is asked in its place."""
    if client.provider in ("exa", "tavily", "brave") and not client.api_key:
        raise WebError(
            f"The key of the search service {client.provider} is not here. The person can enter it in Settings."
        )
    match client.provider:
        case "exa":
            return ExaSearch(client.api_key)
        case "tavily":
            return TavilySearch(client.api_key)
        case "brave":
            return BraveSearch(client.api_key)
        case "keyless" | "native":
            return KeylessSearch()
