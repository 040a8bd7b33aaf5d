"""`web_search`: what the web says about something.

Where the model's own provider searches, this tool is not registered: the search is part of the request to the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from holaboss_runtime.harness.contract import SearchClient
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.results import rendered
from holaboss_runtime.harness.host.web.search import Searcher, searcher_of
from holaboss_runtime.permissions.model import CallFacts

NAME = "web_search"


class WebSearchInput(ToolInput):
    query: str = Field(min_length=1, max_length=400, description="What to look for, in a few words")
    num_results: int = Field(default=8, ge=1, le=10, description="How many results")


def about(_: dict[str, Any]) -> CallFacts:
    return CallFacts(NAME, read_only=True)


def web_search_tool(choose: Callable[[SearchClient], Searcher] = searcher_of) -> HostTool:
    async def web_search(workspace: Workspace, request: WebSearchInput) -> ToolOutcome:
        client = workspace.package.web_search
        if client is None:
            raise ToolError("There is no web search here.")
        try:
            results = await choose(client).search(request.query, request.num_results)
        except WebError as error:
            raise ToolError(str(error)) from error
        listed = [{"title": result.title, "url": result.url} for result in results]
        return ToolOutcome(rendered(results), details={"query": request.query, "results": listed})

    return HostTool(
        NAME,
        "Search the web. Results are titles, addresses and excerpts.",
        WebSearchInput,
        web_search,
        about=about,
    )


WEB_SEARCH = web_search_tool()
