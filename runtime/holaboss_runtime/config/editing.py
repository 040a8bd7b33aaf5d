"""Changes to a configuration document. Every function edits the copy it is given and keeps all keys it does
not know.
"""

from __future__ import annotations

import re
from typing import Any, cast

from holaboss_client.config import PutProvider
from holaboss_runtime.config.builtin import BUILTIN, DEMO_ID, PROXY_ID, VENDORS
from holaboss_runtime.config.document import Document
from holaboss_runtime.config.endpoints import url_problem
from holaboss_runtime.config.keys import KEYCHAIN
from holaboss_runtime.config.resolution import check_model_id, resolve_target
from holaboss_runtime.config.settings import PLACES, Settings, lookup, mapping, text
from holaboss_runtime.config.web import SEARCH_CHOICES, search_provider_of, set_search_key
from holaboss_runtime.errors import DomainError

REFERENCES = "secret_references"
_PROVIDER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,4000}")


def connect(document: Document, settings: Settings, provider_id: str, body: PutProvider) -> None:
    """Add or update a provider; the first one also becomes the default and takes the background tasks.

    The demo model counts as none: the first real provider takes over from it. Raises `DomainError` for values no
    provider can have.
    """
    check_provider_id(provider_id)
    providers = _open(document, "providers")
    is_new = not isinstance(providers.get(provider_id), dict)
    stored = _open(providers, provider_id)
    if provider_id != DEMO_ID:
        _set_address(stored, provider_id, body)
    models = body.models
    if models is None and is_new:
        models = list(BUILTIN[provider_id].models) if provider_id in BUILTIN else []
    if models is not None:
        _set_models(document, provider_id, models)
    if is_new and not settings.providers.keys() - {provider_id, DEMO_ID}:
        _seed_defaults(document, provider_id)
    elif models is not None:
        _move_default(document, settings, provider_id, models)


def disconnect(document: Document, settings: Settings, provider_id: str) -> None:
    """Remove a provider, its models, and every default that refers to it."""
    default_model = settings.values.get("default_model")
    try:
        refers = default_model is not None and resolve_target(settings, default_model)[0] == provider_id
    except DomainError:
        refers = False
    _open(document, "providers").pop(provider_id, None)
    models = _open(document, "models")
    for key in _model_keys(document, provider_id):
        del models[key]
    if refers:
        set_setting(document, "default_model", "")
    default_provider = settings.values.get("default_provider")
    if default_provider is not None and VENDORS.get(default_provider, default_provider) == provider_id:
        set_setting(document, "default_provider", "")
    if settings.background_provider == provider_id:
        _open(document, "runtime").pop("background_tasks", None)
    if provider_id == PROXY_ID:
        set_setting(document, "model_proxy_base_url", "")
        set_setting(document, "auth_token", "")


def set_background(document: Document, provider: str | None, model: str | None) -> None:
    runtime = _open(document, "runtime")
    if provider is None:
        runtime.pop("background_tasks", None)
        return
    block = _open(runtime, "background_tasks")
    block["provider"] = provider
    block["model"] = model


def note_reference(document: Document, name: str, held: bool) -> None:
    """The name of a stored secret that a keychain holds; never a value."""
    listed = sorted({*references(document), name} if held else {*references(document)} - {name})
    document[REFERENCES] = listed
    if not listed:
        del document[REFERENCES]


def references(document: Document) -> list[str]:
    listed: object = document.get(REFERENCES)
    found = cast("list[object]", listed) if isinstance(listed, list) else []
    return [name for name in found if isinstance(name, str)]


def set_setting(document: Document, name: str, value: str) -> None:
    """Write a plain setting where the file already has it; an empty value removes it everywhere."""
    places = PLACES[name]
    if name == "model_proxy_base_url" and stored_provider(document, PROXY_ID) is not None:
        places = (("providers", PROXY_ID, "base_url"), *places)
    if not value:
        for *way, last in places:
            _existing(document, way).pop(last, None)
        return
    *way, last = next((place for place in places if text(lookup(document, *place))), places[0])
    parent = document
    for key in way:
        parent = _open(parent, key)
    parent[last] = value


def stored_provider(document: Document, provider_id: str) -> Document | None:
    """The entry of a provider in the file itself, to be edited."""
    stored = mapping(document.get("providers")).get(provider_id)
    return cast(dict[str, Any], stored) if isinstance(stored, dict) else None


def set_key(document: Document, provider_id: str, value: str | None) -> None:
    """Store a key, or a reference to one, where the file knows the provider; None removes it."""
    if (search := search_provider_of(provider_id)) is not None:
        set_search_key(document, search, value)
        return
    stored = stored_provider(document, provider_id)
    if stored is not None:
        stored.pop("api_key", None)
        if value is not None:
            stored["api_key"] = value
    if provider_id == PROXY_ID:
        # The shorthand has its own place for this key; one place only, so that no old key stays behind.
        set_setting(document, "auth_token", value if value is not None and stored is None else "")


def refer_to_keychain(document: Document, provider_id: str) -> None:
    """Put a reference in the place of the key, if the file knows the provider at all."""
    is_search = search_provider_of(provider_id) is not None
    shorthand = provider_id == PROXY_ID and any(
        lookup(document, *place) for place in PLACES["model_proxy_base_url"]
    )
    if stored_provider(document, provider_id) is not None or shorthand or is_search:
        set_key(document, provider_id, KEYCHAIN + provider_id)


def check_provider_id(provider_id: str) -> None:
    if not _PROVIDER_ID.fullmatch(provider_id):
        raise DomainError(
            "unprocessable",
            "provider_id_invalid",
            "A provider id has at most 64 letters, digits, dots, dashes and underscores.",
        )


def check_secret_id(secret_id: str) -> None:
    """A key belongs to a provider of models, or to one of searches."""
    if search_provider_of(secret_id) is None:
        check_provider_id(secret_id)


def check_search_choice(provider: str) -> None:
    if provider and provider not in SEARCH_CHOICES:
        raise DomainError(
            "unprocessable",
            "search_provider_invalid",
            f"There is no search provider {provider[:50]!r}. Choose one of {', '.join(SEARCH_CHOICES)}.",
        )


def check_base_url(base_url: str) -> None:
    if (problem := url_problem(base_url)) is not None:
        raise DomainError("unprocessable", "base_url_invalid", problem)


def _set_address(stored: Document, provider_id: str, body: PutProvider) -> None:
    builtin = BUILTIN.get(provider_id)
    if body.kind is not None:
        stored["kind"] = body.kind
    elif "kind" not in stored:
        stored["kind"] = builtin.kind if builtin else "openai_compatible"
    base_url = (
        (body.base_url or "").strip() if body.base_url is not None else text(stored.get("base_url")) or ""
    )
    base_url = base_url or (builtin.base_url if builtin else "")
    if not base_url:
        raise DomainError("unprocessable", "base_url_required", "This provider needs a base URL.")
    check_base_url(base_url)
    stored["base_url"] = base_url
    if body.name is not None:
        stored["name"] = body.name.strip()[:100]
    if body.headers is not None:
        stored["headers"] = _checked_headers(body.headers)


def _checked_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise DomainError("unprocessable", "header_invalid", f"{name[:100]!r} is not a valid header.")
    return dict(headers)


def _set_models(document: Document, provider_id: str, models: list[str]) -> None:
    wanted = list(dict.fromkeys(filter(None, (model.strip() for model in models))))
    for model in wanted:
        check_model_id(provider_id, model)
    block = _open(document, "models")
    kept = {_model_id(key, block[key]): block[key] for key in _model_keys(document, provider_id)}
    for key in _model_keys(document, provider_id):
        del block[key]
    for model in wanted:
        block[f"{provider_id}/{model}"] = kept.get(model) or {"provider": provider_id, "model": model}


def _seed_defaults(document: Document, provider_id: str) -> None:
    builtin = BUILTIN.get(provider_id)
    listed = [_model_id(key, mapping(document["models"])[key]) for key in _model_keys(document, provider_id)]
    set_setting(document, "default_provider", provider_id)
    set_setting(document, "default_model", f"{provider_id}/{listed[0]}" if listed else "")
    set_background(document, provider_id, builtin.background_model if builtin else None)


def _move_default(document: Document, settings: Settings, provider_id: str, models: list[str]) -> None:
    """A default that was listed and is not any more moves to the first model that is."""
    for listed in settings.models_of(provider_id):
        if settings.values.get("default_model") == f"{provider_id}/{listed}" and listed not in models:
            set_setting(document, "default_model", f"{provider_id}/{models[0]}" if models else "")


def _model_keys(document: Document, provider_id: str) -> list[str]:
    block = mapping(document.get("models"))
    return [key for key, value in block.items() if _provider_of(key, value) == provider_id]


def _provider_of(key: str, value: object) -> str:
    entry = mapping(value)
    named = text(entry.get("provider")) or text(entry.get("provider_id")) or key.partition("/")[0]
    return VENDORS.get(named, named)


def _model_id(key: str, value: object) -> str:
    entry = mapping(value)
    return text(entry.get("model")) or text(entry.get("model_id")) or key.partition("/")[2]


def _open(parent: Document, key: str) -> Document:
    """The mapping under a key, made when it is not there."""
    if not isinstance(parent.get(key), dict):
        parent[key] = {}
    return cast(dict[str, Any], parent[key])


def _existing(document: Document, way: list[str]) -> Document:
    for key in way:
        document = mapping(document.get(key))
    return document
