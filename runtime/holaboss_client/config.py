"""Runtime configuration, providers and secrets, as they travel. No model here can carry a stored key to a
client, except `HandedOverSecret`, which exists to move a key out of a file and into a keychain."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints

from holaboss_client.base import RequestModel, WireModel

ProviderKind = Literal["openai_compatible", "anthropic_native", "openrouter", "holaboss_proxy"]
Setting = Annotated[str, StringConstraints(max_length=2_000)]
"""A value that goes into the file."""
KeyState = Literal["none", "literal", "keychain", "keychain_missing", "environment"]


class RuntimeConfig(WireModel):
    """`GET /api/v1/runtime/config`."""

    config_path: str
    loaded_from_file: bool
    auth_token_present: bool
    user_id: str | None = None
    sandbox_id: str | None = None
    model_proxy_base_url: str | None = None
    default_model: str | None = None
    subagent_model: str | None = None
    runtime_mode: str | None = None
    default_provider: str | None = None
    holaboss_enabled: bool = False
    desktop_browser_enabled: bool = False
    desktop_browser_url: str | None = None
    web_search_provider: str | None = None
    web_search_keys: dict[str, KeyState] = Field(default_factory=dict[str, KeyState])
    image_provider: str | None = None
    image_model: str | None = None


class PatchRuntimeConfig(RequestModel):
    """`PUT /api/v1/runtime/config`: null or absent leaves a key, an empty string deletes it.

    `web_search_provider` is `native`, `keyless`, `exa`, `tavily`, `brave` or `off`; its key is a secret of the name
    `web-search:<provider>`. `image_provider` is a connected provider of models.
    """

    auth_token: SecretStr | None = None
    user_id: Setting | None = None
    sandbox_id: Setting | None = None
    model_proxy_base_url: Setting | None = None
    default_model: Setting | None = None
    runtime_mode: Setting | None = None
    default_provider: Setting | None = None
    web_search_provider: Setting | None = None
    image_provider: Setting | None = None
    image_model: Setting | None = None


class RuntimeStatus(WireModel):
    """`GET /api/v1/runtime/status`."""

    harness: str
    config_loaded: bool
    config_path: str
    backend_config_present: bool
    harness_ready: bool
    harness_state: str
    browser_available: bool = False
    browser_state: str = "unavailable"
    browser_url: str | None = None


class Profile(WireModel):
    """The operator. `name_source` is manual, agent or auth_fallback."""

    profile_id: str = "default"
    name: str | None = None
    name_source: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class PutProfile(RequestModel):
    name: str = Field(max_length=200)
    name_source: Literal["manual", "agent", "auth_fallback"] = "manual"


class ModelFacts(WireModel):
    """What is known of a model. `thinking_values` are what may be picked for it, empty where it is not asked to think;
    sizes are in tokens."""

    context_window: int
    max_output: int
    takes_images: bool
    thinking_values: list[str] = Field(default_factory=list[str])
    default_thinking_value: str | None = None


class ProviderView(WireModel):
    """One provider of the catalogue. `base_url` is what is stored, `effective_url` where requests really go.

    `key_state` says where the key is, never what it is. `models` are bare model ids; the id a run takes is
    `<provider id>/<model>`. `model_facts` are by bare id too, of `models` and `default_models`.
    """

    id: str
    name: str
    description: str = ""
    kind: ProviderKind
    connected: bool
    custom: bool = False
    base_url: str
    effective_url: str
    default_base_url: str = ""
    key_state: KeyState = "none"
    key_required: bool = True
    models: list[str] = Field(default_factory=list[str])
    default_models: list[str] = Field(default_factory=list[str])
    model_facts: dict[str, ModelFacts] = Field(default_factory=dict[str, ModelFacts])
    background_model: str | None = None
    key_url: str | None = None


class ModelTarget(WireModel):
    provider: str | None = None
    model: str | None = None


class ProviderCatalogue(WireModel):
    """`GET /api/v1/runtime/providers`: everything the Model Providers page shows.

    `default_model` and `default_provider` are effective values; `overridden` names settings that an
    environment variable decides. `notices` are sentences about the file itself (for example: it was
    unreadable and kept aside).
    """

    providers: list[ProviderView]
    default_provider: str | None
    default_model: str | None
    background_tasks: ModelTarget
    overridden: list[str] = Field(default_factory=list[str])
    notices: list[str] = Field(default_factory=list[str])


class PutProvider(RequestModel):
    """`PUT /api/v1/runtime/providers/{id}`: connect or update one. An absent field keeps its stored value,
    or the catalogue default when there is none. A key never travels here; see `PutSecret`."""

    name: Setting | None = None
    kind: ProviderKind | None = None
    base_url: Setting | None = None
    models: list[Setting] | None = Field(default=None, max_length=2_000)
    headers: dict[str, str] | None = Field(default=None, max_length=50)


class PutBackgroundTasks(RequestModel):
    """`PUT /api/v1/runtime/background-tasks`; a null provider switches background work off."""

    provider: Setting | None = None
    model: Setting | None = None


class PutSecret(RequestModel):
    """`PUT /api/v1/runtime/secrets/{provider id}`: kept in memory, never echoed, never written."""

    value: SecretStr


class SecretState(WireModel):
    provider_id: str
    key_state: KeyState


class HandedOverSecret(WireModel):
    """`POST /api/v1/runtime/secrets/{provider id}/hand-over`: a literal key of the config file, for the
    keychain.

    The file keeps it until `POST …/confirm-hand-over` says that the keychain has it.
    """

    provider_id: str
    value: str = Field(repr=False)


class TestProvider(RequestModel):
    """`POST /api/v1/runtime/providers/{id}/test`: absent fields are taken from the stored provider."""

    kind: ProviderKind | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    model: str | None = None


class ProviderTest(WireModel):
    """`outcome` tells the person what to fix; `detail` is a sentence; `models` is what the endpoint lists."""

    outcome: Literal["ok", "bad_key", "bad_url", "unreachable", "no_such_model", "provider_error"]
    detail: str
    latency_ms: int | None = None
    models: list[str] = Field(default_factory=list[str])


class LocalServer(WireModel):
    """A model server found on a usual loopback port."""

    provider_id: str
    name: str
    base_url: str
    models: list[str]


class LocalServerList(WireModel):
    """`GET /api/v1/runtime/local-servers`."""

    items: list[LocalServer]
