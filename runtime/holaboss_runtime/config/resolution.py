"""Which provider and which of its models a model id means. Pure; the rules are in the order of the code."""

from __future__ import annotations

from holaboss_runtime.config.builtin import BUILTIN, PROXY_ID, VENDORS
from holaboss_runtime.config.settings import ProviderEntry, Settings
from holaboss_runtime.errors import DomainError

Target = tuple[str, str]


def resolve_target(settings: Settings, requested: str | None) -> Target:
    """`(provider id, model id)` of a requested model, or of the default one.

    Raises `DomainError`: `model_not_configured` when no connected provider offers it, `model_id_invalid` for
    an id its provider cannot have.
    """
    wanted = (requested or "").strip() or settings.default_model
    target = _listed(settings, wanted) or (_prefixed if "/" in wanted else _bare)(settings, wanted)
    if target is None:
        raise _not_configured(settings, wanted, is_default=not (requested or "").strip())
    provider_id, model = target
    if provider_id == PROXY_ID and settings.providers[PROXY_ID].kind == "holaboss_proxy":
        model = _without_vendor(model)
    check_model_id(provider_id, model)
    return provider_id, model


def check_model_id(provider_id: str, model: str) -> None:
    builtin = BUILTIN.get(provider_id)
    if not model or (builtin is not None and builtin.flat_ids and "/" in model):
        name = builtin.name if builtin else provider_id
        raise DomainError(
            "unprocessable",
            "model_id_invalid",
            f"{model!r} is not a model id of {name}. Use it without a slash.",
        )


def _listed(settings: Settings, wanted: str) -> Target | None:
    target = settings.models.get(wanted)
    return target if target is not None and target[0] in settings.providers else None


def _prefixed(settings: Settings, wanted: str) -> Target | None:
    prefix, _, rest = wanted.partition("/")
    for provider_id in (prefix, VENDORS.get(prefix)):
        if provider_id is not None and provider_id in settings.providers:
            return provider_id, rest
    return _unique(settings, wanted) or _carried(settings, prefix, rest)


def _bare(settings: Settings, wanted: str) -> Target | None:
    default = settings.default_provider
    if default is not None and wanted in settings.models_of(default):
        return default, wanted
    if (unique := _unique(settings, wanted)) is not None:
        return unique
    if wanted.startswith("claude"):
        return _claude(settings, wanted)
    if default is not None:
        return default, wanted
    return next(
        ((known, wanted) for known in ("openai", "openai_direct") if known in settings.providers), None
    )


def _unique(settings: Settings, wanted: str) -> Target | None:
    """The one provider that lists exactly this model."""
    found = {
        target
        for target in settings.models.values()
        if target[1] == wanted and target[0] in settings.providers
    }
    return found.pop() if len(found) == 1 else None


def _claude(settings: Settings, wanted: str) -> Target | None:
    native = [entry.id for entry in _default_first(settings) if entry.kind == "anthropic_native"]
    return (native[0], wanted) if native else _carried(settings, "anthropic", wanted)


def _carried(settings: Settings, vendor: str, model: str) -> Target | None:
    """A provider that passes on the models of several vendors: a proxy by bare id, OpenRouter and others by
    full id.
    """
    for entry in _default_first(settings):
        builtin = BUILTIN.get(entry.id)
        if entry.kind == "holaboss_proxy" and vendor in VENDORS:
            return entry.id, model
        if entry.kind == "openrouter":
            return entry.id, f"{vendor}/{model}"
        if (
            entry.id == settings.default_provider
            and vendor not in VENDORS
            and not (builtin and builtin.flat_ids)
        ):
            return entry.id, f"{vendor}/{model}"
    return None


def _default_first(settings: Settings) -> list[ProviderEntry]:
    return sorted(settings.providers.values(), key=lambda entry: entry.id != settings.default_provider)


def _without_vendor(model: str) -> str:
    vendor, slash, rest = model.partition("/")
    return rest if slash and vendor in VENDORS else model


def _not_configured(settings: Settings, wanted: str, *, is_default: bool) -> DomainError:
    if not settings.providers:
        detail = "No model provider is connected. Open Settings, Model Providers, and connect one."
    elif is_default:
        detail = f"No connected provider offers the default model {wanted!r}. Choose another one in Settings."
    else:
        detail = f"No connected provider offers the model {wanted!r}. Choose another or connect one."
    return DomainError("unprocessable", "model_not_configured", detail, model=wanted)
