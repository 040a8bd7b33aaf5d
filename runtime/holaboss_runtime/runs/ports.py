"""What a run needs from the rooms that know workspaces and models, and nothing more of them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from holaboss_client.workspaces import Workspace
from holaboss_runtime.config.web import ImageKind, SearchProvider
from holaboss_runtime.harness.contract import WireProtocol

KEY_MISSING = "provider_key_missing"
"""The code of a `DomainError` that a person can cure by storing a key; the input waits for that."""


class Facts(Protocol):
    """What is known of a model; sizes in tokens."""

    @property
    def context_window(self) -> int: ...
    @property
    def max_output(self) -> int: ...
    @property
    def takes_images(self) -> bool: ...
    @property
    def reasons(self) -> bool | None: ...


class Model(Protocol):
    """A model and everything needed to call it. `api_key` stays in memory."""

    @property
    def provider_id(self) -> str: ...
    @property
    def provider_name(self) -> str: ...
    @property
    def model_id(self) -> str: ...
    @property
    def protocol(self) -> WireProtocol: ...
    @property
    def base_url(self) -> str: ...
    @property
    def api_key(self) -> str: ...
    @property
    def default_headers(self) -> dict[str, str]: ...
    @property
    def facts(self) -> Facts: ...


class Search(Protocol):
    """Who searches the web. `api_key` stays in memory."""

    @property
    def provider(self) -> SearchProvider: ...
    @property
    def api_key(self) -> str: ...


class Images(Protocol):
    """Who draws. `api_key` stays in memory."""

    @property
    def provider_id(self) -> str: ...
    @property
    def model_id(self) -> str: ...
    @property
    def kind(self) -> ImageKind: ...
    @property
    def base_url(self) -> str: ...
    @property
    def api_key(self) -> str: ...


class Models(Protocol):
    async def resolve_model(self, requested: str | None, *, headers: dict[str, str]) -> Model:
        """Raises `DomainError`: `KEY_MISSING`, or `model_not_configured` and its like, which no retry can cure."""
        ...

    def blind_model(self, requested: str | None) -> str | None:
        """The name of the model if it is known not to take pictures."""
        ...

    def subagent_model(self) -> str | None:
        """The model that subagents are given, if the person chose one for them."""
        ...

    def live_secrets(self) -> frozenset[str]: ...

    def web_search(self, protocol: WireProtocol, base_url: str) -> Search | None:
        """Who answers the searches of a run with a model that is reached like this; None when nobody does."""
        ...

    def image_generation(self) -> Images | None:
        """The image model; None when there is none."""
        ...


class Workspaces(Protocol):
    def get(self, workspace_id: str) -> Workspace:
        """Raises `DomainError` `workspace_not_found`."""
        ...

    def folder(self, workspace_id: str) -> Path:
        """Raises `DomainError` `workspace_folder_missing`."""
        ...
