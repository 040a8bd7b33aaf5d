"""The configuration as the rest of the runtime sees it: what is connected, which model a run gets, and its
key.

Keys that come from a keychain live in this object and nowhere else. Every change is one atomic write, one
CONFIG change event and one call of `on_change`.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from holaboss_client.config import (
    HandedOverSecret,
    KeyState,
    LocalServerList,
    PatchRuntimeConfig,
    ProviderCatalogue,
    ProviderTest,
    PutBackgroundTasks,
    PutProvider,
    RuntimeConfig,
    SecretState,
    TestProvider,
)
from holaboss_client.events import Change
from holaboss_runtime.config import editing
from holaboss_runtime.config.builtin import BUILTIN, DEMO_ID, PROXY_ID, VENDORS
from holaboss_runtime.config.catalogue import UNKNOWN, ModelEntry, facts_of
from holaboss_runtime.config.demo import DemoProvider
from holaboss_runtime.config.document import ConfigFile, Document
from holaboss_runtime.config.endpoints import WireProtocol, endpoint, url_problem
from holaboss_runtime.config.environment import Environment
from holaboss_runtime.config.keys import NOT_A_KEY, KeyRing, is_key, needs_key
from holaboss_runtime.config.resolution import resolve_target
from holaboss_runtime.config.settings import ProviderEntry, Settings, read_settings
from holaboss_runtime.config.views import catalogue_of, config_view
from holaboss_runtime.config.web import (
    KEYED,
    SEARCH_PREFIX,
    ResolvedImages,
    ResolvedSearch,
    resolve_images,
    resolve_search,
    search_provider_of,
)
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.change_log import ChangeLog

KEYLESS = "no-key"  # model clients insist on a key; a server on this machine does not read it


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """Everything a model client needs. `base_url` is the client's base; `default_headers` may carry a key."""

    provider_id: str
    provider_name: str
    model_id: str
    protocol: WireProtocol
    base_url: str
    api_key: str = field(repr=False)
    default_headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    facts: ModelEntry = UNKNOWN


class ConfigService:
    """`hidden` are further secrets of this process (its own token): never a provider key, but to be redacted
    too.
    """

    def __init__(
        self,
        file: ConfigFile,
        changes: ChangeLog,
        *,
        embedded: bool,
        environment: Environment,
        secrets: dict[str, str],
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self._file = file
        self._changes = changes
        self._embedded = embedded
        self._environment = environment
        self._keys = KeyRing(dict(secrets), environment, embedded=embedded)
        self._hidden = hidden
        self._demo = DemoProvider()
        self._editing = asyncio.Lock()
        self._settings: tuple[int, Settings] | None = None
        self._handed_over: dict[str, str] = {}
        self.on_change: Callable[[], None] = _nothing
        self.further_secrets: Callable[[], frozenset[str]] = frozenset
        """Those that others keep, for redaction."""

    async def close(self) -> None:
        """Stop the demo model."""
        await self._demo.close()

    # Reading

    @property
    def settings(self) -> Settings:
        document = self._file.read()
        if self._settings is None or self._settings[0] != self._file.revision:
            self._settings = (self._file.revision, read_settings(document, self._environment))
        return self._settings[1]

    def view(self) -> RuntimeConfig:
        settings = self.settings
        token_present = self._keys.proxy_token(settings) is not None
        search_keys: dict[str, KeyState] = {
            name: self._secret_state(SEARCH_PREFIX + name).key_state for name in KEYED
        }
        return config_view(
            settings, self._file, auth_token_present=token_present, web_search_keys=search_keys
        )

    def catalogue(self) -> ProviderCatalogue:
        settings = self.settings
        overridden = sorted(self._environment.overrides)
        return catalogue_of(settings, self._keys, notices=self._file.notices, overridden=overridden)

    def live_secrets(self) -> frozenset[str]:
        """Every secret value this process holds, for redaction by value."""
        own = self._keys.values(self.settings) | self._hidden | {self._demo.token}
        return own | self.further_secrets()

    async def resolve_model(self, requested: str | None, *, headers: dict[str, str]) -> ResolvedModel:
        """The client settings of a requested model, or of the default one. `headers` go to a Holaboss proxy
        only.

        Raises `DomainError`: `model_not_configured`, `model_id_invalid`, `provider_key_missing` (context
        `provider_id`), `demo_provider_failed`.
        """
        settings = self.settings
        provider_id, model = resolve_target(settings, requested)
        facts = facts_of(provider_id, model, settings.stated.get((provider_id, model)))
        if provider_id == DEMO_ID:
            demo = await self._demo.endpoint()
            name = BUILTIN[DEMO_ID].name
            return ResolvedModel(
                provider_id, name, model, "openai_chat", demo.base_url, demo.token, facts=facts
            )
        entry = settings.providers[provider_id]
        name = entry.name or (BUILTIN[provider_id].name if provider_id in BUILTIN else provider_id)
        if (problem := url_problem(entry.base_url)) is not None:
            raise DomainError(
                "unprocessable",
                "model_not_configured",
                f"{name} has no usable base URL. {problem}",
                provider_id=provider_id,
            )
        target = endpoint(entry.kind, entry.base_url, provider_id, model)
        key = self._keys.key(entry)
        if key is None and needs_key(entry):
            raise DomainError(
                "unavailable",
                "provider_key_missing",
                f"The key of {name} is not here. Enter it in Settings, Model Providers.",
                provider_id=provider_id,
            )
        if key is not None and not is_key(key):  # of the environment, or written into the file by hand
            raise DomainError(
                "unavailable",
                "provider_key_missing",
                f"The key of {name} cannot be used. {NOT_A_KEY} Enter it in Settings, Model Providers.",
                provider_id=provider_id,
            )
        extra = self._proxy_headers(settings, key, headers) if target.via_proxy else {}
        sent = {**extra, **entry.headers}
        return ResolvedModel(
            provider_id, name, model, target.protocol, target.base_url, key or KEYLESS, sent, facts
        )

    def blind_model(self, requested: str | None) -> str | None:
        """The id of a requested model, or of the default one, if it is known not to take pictures; else None."""
        settings = self.settings
        try:
            provider_id, model = resolve_target(settings, requested)
        except DomainError:
            return None
        facts = facts_of(provider_id, model, settings.stated.get((provider_id, model)))
        return None if facts.takes_images else model

    def subagent_model(self) -> str | None:
        """The model that subagents are given; None for that of whoever sends them."""
        return self.settings.subagent_model

    def web_search(self, protocol: WireProtocol, base_url: str) -> ResolvedSearch | None:
        """Who answers the searches of a run with a model that is reached like this; None when nobody does."""
        entries = {name: self._keyed(SEARCH_PREFIX + name) for name in KEYED}
        keys = {name: key for name, entry in entries.items() if entry and (key := self._keys.key(entry))}
        return resolve_search(self.settings.search, keys, protocol, base_url)

    def image_generation(self) -> ResolvedImages | None:
        """The image model; None while none is chosen, or its provider or key is not there."""
        settings = self.settings
        chosen = settings.values.get("image_provider")
        entry = settings.providers.get(VENDORS.get(chosen, chosen)) if chosen else None
        if entry is None or ((key := self._keys.key(entry)) is None and needs_key(entry)):
            return None
        model = settings.values.get("image_model")
        return resolve_images(entry.id, entry.kind, entry.base_url, model, key or KEYLESS)

    def default_protocol(self) -> WireProtocol | None:
        """What the default model speaks; None when it could not run."""
        settings = self.settings
        try:
            provider_id, model = resolve_target(settings, None)
        except DomainError:
            return None
        if provider_id == DEMO_ID:
            return "openai_chat"
        entry = settings.providers[provider_id]
        if url_problem(entry.base_url) is not None:
            return None
        return endpoint(entry.kind, entry.base_url, provider_id, model).protocol

    def _proxy_headers(self, settings: Settings, key: str | None, headers: dict[str, str]) -> dict[str, str]:
        known = {
            "X-API-Key": key,
            "X-Holaboss-User-Id": settings.values.get("user_id"),
            "X-Holaboss-Sandbox-Id": settings.values.get("sandbox_id"),
        }
        return {**{name: value for name, value in known.items() if value}, **headers}

    # Changing

    async def patch(self, body: PatchRuntimeConfig) -> RuntimeConfig:
        """Null or absent leaves a setting, an empty string removes it."""
        plain = body.model_dump(exclude_none=True, exclude={"auth_token"})
        if base_url := plain.get("model_proxy_base_url"):
            editing.check_base_url(base_url)

        editing.check_search_choice((plain.get("web_search_provider") or "").strip())

        def edit(document: Document, _settings: Settings) -> None:
            for name, value in plain.items():
                editing.set_setting(document, name, value.strip())

        if plain:
            await self._edit(edit)
        if body.auth_token is not None:
            await self._set_proxy_token(body.auth_token.get_secret_value())
        return self.view()

    async def _set_proxy_token(self, value: str) -> None:
        if not value:
            await self.delete_secret(PROXY_ID)
        elif self._embedded:
            await self.put_secret(PROXY_ID, value)
        else:
            await self._edit(lambda document, _: editing.set_key(document, PROXY_ID, value))

    async def put_provider(self, provider_id: str, body: PutProvider) -> ProviderCatalogue:
        """Connect or update a provider. Raises `DomainError` for values no provider can have."""

        def edit(document: Document, settings: Settings) -> None:
            editing.connect(document, settings, provider_id, body)
            stored = editing.stored_provider(document, provider_id)
            if (
                self._embedded
                and stored is not None
                and "api_key" not in stored
                and provider_id in self._keys
            ):
                editing.refer_to_keychain(document, provider_id)

        await self._edit(edit)
        return self.catalogue()

    async def delete_provider(self, provider_id: str) -> ProviderCatalogue:
        """Disconnect. Raises `provider_not_found`, or conflict `provider_from_environment`."""
        if provider_id not in self.settings.providers:
            raise not_found("provider", provider_id)
        await self._edit(lambda document, settings: editing.disconnect(document, settings, provider_id))
        if provider_id in self.settings.providers:
            raise DomainError(
                "conflict",
                "provider_from_environment",
                "An environment variable of the runtime sets this provider; it cannot be disconnected here.",
            )
        return self.catalogue()

    async def put_background_tasks(self, body: PutBackgroundTasks) -> ProviderCatalogue:
        """Raises `provider_not_connected` for a provider that is not."""
        if body.provider is not None and body.provider not in self.settings.providers:
            raise DomainError(
                "unprocessable",
                "provider_not_connected",
                f"{body.provider!r} is not connected. Connect it first.",
            )
        await self._edit(lambda document, _: editing.set_background(document, body.provider, body.model))
        return self.catalogue()

    @property
    def secret_references(self) -> list[str]:
        """Names of stored secrets that a keychain holds."""
        return editing.references(self._file.read())

    async def note_secret(self, name: str, held: bool) -> None:
        """The keychain holds this stored secret now, or does not any more."""
        if held != (name in self.secret_references):
            await self._edit(lambda document, _: editing.note_reference(document, name, held))

    async def _edit(self, edit: Callable[[Document, Settings], None]) -> None:
        async with self._editing:
            document = copy.deepcopy(self._file.read())
            edit(document, self.settings)
            if document != self._file.read():
                await asyncio.to_thread(self._file.write, document)
        self._announce()

    def _announce(self) -> None:
        self._changes.append(Change.CONFIG)
        self.on_change()

    # Keys

    async def put_secret(self, provider_id: str, value: str) -> SecretState:
        """Keep a key in memory; embedded, the file then refers to the keychain instead of any key it held."""
        editing.check_secret_id(provider_id)
        if provider_id == DEMO_ID:
            raise DomainError("unprocessable", "key_not_needed", "The demo model has no key.")
        self._keys.put(provider_id, value)
        if self._embedded:
            await self._edit(lambda document, _: editing.refer_to_keychain(document, provider_id))
        else:
            self._announce()
        return self._secret_state(provider_id)

    async def delete_secret(self, provider_id: str) -> SecretState:
        """Forget a key, in memory and in the file."""
        editing.check_secret_id(provider_id)
        self._keys.drop(provider_id)
        await self._edit(lambda document, _: editing.set_key(document, provider_id, None))
        return self._secret_state(provider_id)

    def hand_over_secret(self, provider_id: str) -> HandedOverSecret:
        """A key that stands in the file in plain text, for a keychain. Raises `no_key_in_file`."""
        entry = self._keyed(provider_id)
        literal = self._keys.literal(entry) if entry is not None and self._embedded else None
        if literal is None:
            raise DomainError(
                "not_found", "no_key_in_file", "The settings file holds no plain key of this provider."
            )
        self._handed_over[provider_id] = literal
        return HandedOverSecret(provider_id=provider_id, value=literal)

    async def confirm_hand_over(self, provider_id: str) -> SecretState:
        """The keychain has it: remove it from the file. Raises conflict `key_changed` when it is another by
        now.
        """
        entry = self._keyed(provider_id)
        literal = self._keys.literal(entry) if entry is not None else None
        if literal is None or self._handed_over.pop(provider_id, None) != literal:
            raise DomainError(
                "conflict",
                "key_changed",
                "The key in the settings file is not the one that was handed over. Try again.",
            )
        self._keys.put(provider_id, literal)
        await self._edit(lambda document, _: editing.refer_to_keychain(document, provider_id))
        return self._secret_state(provider_id)

    def _keyed(self, secret_id: str) -> ProviderEntry | None:
        """What a key belongs to, as far as the file knows it."""
        if (search := search_provider_of(secret_id)) is None:
            return self.settings.providers.get(secret_id)
        return ProviderEntry(secret_id, "openai_compatible", "", self.settings.search.keys.get(search))

    def _secret_state(self, provider_id: str) -> SecretState:
        entry = self._keyed(provider_id)
        state: KeyState = "keychain" if provider_id in self._keys else "none"
        return SecretState(provider_id=provider_id, key_state=self._keys.state(entry) if entry else state)

    # Trying out

    async def test_provider(self, provider_id: str, draft: TestProvider) -> ProviderTest:
        """Ask an endpoint for its models with the draft laid over what is stored. Never raises for what it
        finds.
        """
        from holaboss_runtime.config.probe import probe

        entry = self._drafted(provider_id, draft)
        key = draft.api_key.get_secret_value().strip() if draft.api_key is not None else None
        if provider_id == DEMO_ID:
            demo = await self._demo.endpoint()
            entry = ProviderEntry(DEMO_ID, "openai_compatible", demo.base_url)
            key = demo.token
        return await probe(entry, key or self._keys.key(entry), draft.model)

    def _drafted(self, provider_id: str, draft: TestProvider) -> ProviderEntry:
        editing.check_provider_id(provider_id)
        stored = self.settings.providers.get(provider_id)
        builtin = BUILTIN.get(provider_id)
        if stored is None:
            stored = ProviderEntry(
                provider_id,
                builtin.kind if builtin else "openai_compatible",
                builtin.base_url if builtin else "",
            )
        return ProviderEntry(
            provider_id,
            draft.kind or stored.kind,
            stored.base_url if draft.base_url is None else draft.base_url.strip(),
            stored.api_key,
            stored.name,
            stored.headers,
        )

    async def local_servers(self) -> LocalServerList:
        """Model servers on the usual ports of this machine; asks them, so only on request."""
        from holaboss_runtime.config.local_servers import find_local_servers

        return await find_local_servers()


def _nothing() -> None:
    """Until the composition root says who wants to know."""
