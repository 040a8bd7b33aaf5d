"""What a client is shown of the configuration. No key can get in here: only where it is."""

from __future__ import annotations

from holaboss_client.config import (
    KeyState,
    ModelFacts,
    ModelTarget,
    ProviderCatalogue,
    ProviderView,
    RuntimeConfig,
)
from holaboss_runtime.config.builtin import BUILTIN, BUILTIN_PROVIDERS, PROXY_ID
from holaboss_runtime.config.catalogue import facts_of
from holaboss_runtime.config.document import ConfigFile
from holaboss_runtime.config.endpoints import endpoint, url_problem
from holaboss_runtime.config.keys import KeyRing, needs_key
from holaboss_runtime.config.resolution import resolve_target
from holaboss_runtime.config.settings import ProviderEntry, Settings
from holaboss_runtime.errors import DomainError


def config_view(
    settings: Settings, file: ConfigFile, *, auth_token_present: bool, web_search_keys: dict[str, KeyState]
) -> RuntimeConfig:
    values = settings.values
    proxy = settings.providers.get(PROXY_ID)
    return RuntimeConfig(
        config_path=str(file.path),
        loaded_from_file=file.loaded,
        auth_token_present=auth_token_present,
        user_id=values.get("user_id"),
        sandbox_id=values.get("sandbox_id"),
        model_proxy_base_url=(proxy.base_url or None) if proxy else values.get("model_proxy_base_url"),
        default_model=settings.default_model,
        subagent_model=settings.subagent_model,
        runtime_mode=values.get("runtime_mode"),
        default_provider=values.get("default_provider"),
        holaboss_enabled=settings.holaboss_enabled,
        desktop_browser_enabled=settings.browser_enabled,
        desktop_browser_url=settings.browser_url,
        web_search_provider=settings.search.provider,
        web_search_keys=web_search_keys,
        image_provider=values.get("image_provider"),
        image_model=values.get("image_model"),
    )


def catalogue_of(
    settings: Settings, keys: KeyRing, *, notices: list[str], overridden: list[str]
) -> ProviderCatalogue:
    custom = [provider_id for provider_id in settings.providers if provider_id not in BUILTIN]
    ids = [*(provider.id for provider in BUILTIN_PROVIDERS), *custom]
    return ProviderCatalogue(
        providers=[_provider_view(provider_id, settings, keys) for provider_id in ids],
        default_provider=settings.default_provider,
        default_model=_effective_default(settings),
        background_tasks=ModelTarget(provider=settings.background_provider, model=settings.background_model),
        overridden=overridden,
        notices=list(notices),
    )


def _effective_default(settings: Settings) -> str | None:
    """`<provider id>/<model id>` of what a run without a model would use; None when it could not run."""
    try:
        return "/".join(resolve_target(settings, None))
    except DomainError:
        return None


def _provider_view(provider_id: str, settings: Settings, keys: KeyRing) -> ProviderView:
    builtin = BUILTIN.get(provider_id)
    stored = settings.providers.get(provider_id)
    default_url = builtin.base_url if builtin else ""
    entry = stored or ProviderEntry(
        provider_id, builtin.kind if builtin else "openai_compatible", default_url
    )
    models = settings.models_of(provider_id)
    effective = _effective_url(entry, models)
    return ProviderView(
        id=provider_id,
        name=entry.name or (builtin.name if builtin else provider_id),
        description=builtin.description if builtin else "",
        kind=entry.kind,
        connected=stored is not None,
        custom=builtin is None,
        base_url=entry.base_url,
        effective_url=effective,
        default_base_url=default_url,
        key_state=keys.state(entry),
        key_required=needs_key(entry),
        models=models,
        default_models=list(builtin.models) if builtin else [],
        model_facts=_facts(provider_id, [*models, *(builtin.models if builtin else ())], settings),
        background_model=builtin.background_model if builtin else None,
        key_url=builtin.key_url if builtin else None,
    )


def _facts(provider_id: str, models: list[str], settings: Settings) -> dict[str, ModelFacts]:
    found: dict[str, ModelFacts] = {}
    for model in models:
        entry = facts_of(provider_id, model, settings.stated.get((provider_id, model)))
        found[model] = ModelFacts(
            context_window=entry.context_window,
            max_output=entry.max_output,
            takes_images=entry.takes_images,
            thinking_values=list(entry.thinking_values),
            default_thinking_value=entry.default_thinking,
        )
    return found


def _effective_url(entry: ProviderEntry, models: list[str]) -> str:
    if url_problem(entry.base_url) is not None:
        return entry.base_url
    return endpoint(entry.kind, entry.base_url, entry.id, models[0] if models else "").shown_url
