"""What a run may ask of the web, by the configuration: who searches for it and who draws, and which tools that leaves.

A tool nobody would answer is not promised: neither to the model, nor in the prompt, nor in the record of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holaboss_runtime.harness.contract import ImageClient, SearchClient
from holaboss_runtime.runs.ports import Model, Models
from holaboss_runtime.runs.profile import Executor

SEARCH_TOOL = "web_search"
IMAGE_TOOL = "image_generate"


@dataclass(frozen=True, slots=True)
class WebClients:
    """Of one run. `secrets` are the keys in them."""

    search: SearchClient | None
    images: ImageClient | None

    @classmethod
    def of(cls, models: Models, model: Model) -> WebClients:
        search = models.web_search(model.protocol, model.base_url)
        images = models.image_generation()
        return cls(
            SearchClient(provider=search.provider, api_key=search.api_key) if search else None,
            ImageClient(
                provider_id=images.provider_id,
                model_id=images.model_id,
                kind=images.kind,
                base_url=images.base_url,
                api_key=images.api_key,
            )
            if images
            else None,
        )

    def narrowed(self, executor: Executor) -> Executor:
        """The executor without the tools that nobody would answer."""
        missing = [SEARCH_TOOL] * (self.search is None) + [IMAGE_TOOL] * (self.images is None)
        return executor.without(*missing) if missing else executor

    def fields(self, tools: tuple[str, ...]) -> dict[str, Any]:
        """Of the package of a run that has these tools: no key goes where it is not needed."""
        return {
            "web_search": self.search if SEARCH_TOOL in tools else None,
            "image_generation": self.images if IMAGE_TOOL in tools else None,
        }
