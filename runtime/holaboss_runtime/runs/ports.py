"""What a run needs from the rooms that know workspaces and models, and nothing more of them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from holaboss_client.workspaces import Workspace
from holaboss_runtime.harness.contract import WireProtocol

KEY_MISSING = "provider_key_missing"
"""The code of a `DomainError` that a person can cure by storing a key; the input waits for that."""


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


class Models(Protocol):
    async def resolve_model(self, requested: str | None, *, headers: dict[str, str]) -> Model:
        """Raises `DomainError`: `KEY_MISSING`, or `model_not_configured` and its like, which no retry can cure."""
        ...

    def live_secrets(self) -> frozenset[str]: ...


class Workspaces(Protocol):
    def get(self, workspace_id: str) -> Workspace:
        """Raises `DomainError` `workspace_not_found`."""
        ...

    def folder(self, workspace_id: str) -> Path:
        """Raises `DomainError` `workspace_folder_missing`."""
        ...
