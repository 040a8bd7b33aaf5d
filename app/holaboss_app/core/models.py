"""Names of models and providers as a person reads them. A model id is `<provider id>/<model>`."""

from __future__ import annotations

from collections.abc import Mapping

from holaboss_client.config import ProviderCatalogue

DEMO_PROVIDER = "demo"
"""The provider that answers from a script."""


def short_name(model: str) -> str:
    """`provider/model` without its provider."""
    return model.partition("/")[2] or model


def is_demo(model: str | None) -> bool:
    """Whether `provider/model` is the scripted one."""
    return bool(model) and str(model).partition("/")[0] == DEMO_PROVIDER


def provider_names(catalogue: ProviderCatalogue | None) -> Mapping[str, str]:
    """Names by provider id."""
    return {provider.id: provider.name for provider in catalogue.providers} if catalogue else {}
