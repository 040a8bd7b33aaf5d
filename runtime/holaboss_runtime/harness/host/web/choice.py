"""Whether a run searches through its model's provider, or through a tool of this host, or not at all."""

from __future__ import annotations

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts

SEARCH = "web_search"


def searches_natively(package: RunPackage) -> bool:
    """Only where the rules allow every search: a search of the provider passes no gate."""
    client = package.web_search
    if client is None or client.provider != "native" or SEARCH not in package.tools:
        return False
    if package.model_client.protocol == "openai_chat" or any(
        tool.name == SEARCH for tool in package.custom_tools
    ):
        return False
    return decide(package.permissions, CallFacts(SEARCH, read_only=True)).effect == "always_allow"
