"""Connecting providers, keeping keys, and what a run is given."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import SecretStr

from holaboss_client.config import PatchRuntimeConfig, ProviderView, PutBackgroundTasks, PutProvider
from holaboss_runtime.config.service import KEYLESS
from holaboss_runtime.errors import DomainError
from tests.runtime.config.conftest import SAMPLE, Made, Service

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789"


def view_of(service: Service, provider_id: str) -> ProviderView:
    return next(view for view in service.catalogue().providers if view.id == provider_id)


async def refused(awaitable: object, code: str) -> DomainError:
    with pytest.raises(DomainError) as raised:
        await awaitable  # type: ignore[misc]
    assert raised.value.code == code
    return raised.value


async def test_the_sample_configuration_works_as_it_is(make: Made) -> None:
    service = make(SAMPLE, embedded=False)
    config = service.view()
    assert config.loaded_from_file
    assert config.auth_token_present
    assert (config.sandbox_id, config.default_model) == ("local-sandbox", "holaboss/gpt-5.2")
    assert (config.default_provider, config.model_proxy_base_url) == (
        "holaboss_model_proxy",
        "https://your-proxy.example/api/v1/model-proxy",
    )
    catalogue = service.catalogue()
    assert catalogue.default_model == "holaboss_model_proxy/gpt-5.2"
    assert (catalogue.background_tasks.provider, catalogue.background_tasks.model) == (
        "openai_direct",
        "gpt-5.4-mini",
    )
    assert [view.id for view in catalogue.providers if not view.connected] == ["demo"]
    assert {view.key_state for view in catalogue.providers if view.connected} == {"literal"}
    assert view_of(service, "openrouter_direct").models == [
        "openai/gpt-5.4", "openai/gpt-5.4-mini", "anthropic/claude-sonnet-4-6",
    ]  # fmt: skip
    proxied = await service.resolve_model(None, headers={"X-Holaboss-Session-Id": "s"})
    assert (proxied.provider_id, proxied.model_id, proxied.protocol) == (
        "holaboss_model_proxy", "gpt-5.2", "openai_responses",
    )  # fmt: skip
    assert proxied.base_url == "https://your-proxy.example/api/v1/model-proxy/openai/v1"
    assert proxied.default_headers == {
        "X-API-Key": "your-holaboss-proxy-token",
        "X-Holaboss-Sandbox-Id": "local-sandbox",
        "X-Holaboss-Session-Id": "s",
    }
    direct = await service.resolve_model("ollama_direct/qwen2.5:0.5b", headers={"X-Holaboss-Session-Id": "s"})
    assert (direct.base_url, direct.api_key, direct.default_headers) == (
        "http://localhost:11434/v1",
        "ollama",
        {},
    )
    claude = await service.resolve_model("claude-opus-4-6", headers={})
    assert (claude.protocol, claude.base_url, claude.api_key) == (
        "anthropic_messages", "https://api.anthropic.com", "sk-ant-your-anthropic-key",
    )  # fmt: skip
    assert service.stored() == SAMPLE
    assert "ollama" not in service.live_secrets()
    assert {"sk-your-openai-key", "token-of-the-server"} <= service.live_secrets()


async def test_the_three_variables_win_over_the_file(make: Made) -> None:
    env = {
        "HOLABOSS_MODEL_PROXY_BASE_URL": "https://other.example/proxy",
        "HOLABOSS_SANDBOX_AUTH_TOKEN": "token-from-outside",
        "HOLABOSS_DEFAULT_MODEL": "holaboss/claude-sonnet-4-6",
    }
    service = make(SAMPLE, env=env)
    assert "HOLABOSS_SANDBOX_AUTH_TOKEN" not in env
    model = await service.resolve_model(None, headers={})
    assert model.base_url == "https://other.example/proxy/anthropic"
    assert model.default_headers["X-API-Key"] == "token-from-outside"
    assert model.default_headers["X-Holaboss-Sandbox-Id"] == "local-sandbox"
    catalogue = service.catalogue()
    assert catalogue.overridden == ["auth_token", "default_model", "model_proxy_base_url"]
    assert catalogue.default_model == "holaboss_model_proxy/claude-sonnet-4-6"
    assert view_of(service, "holaboss_model_proxy").key_state == "environment"
    assert service.stored() == SAMPLE


async def test_the_first_provider_becomes_the_default_and_takes_the_background_tasks(make: Made) -> None:
    service = make({"mine": {"kept": True}})
    assert service.catalogue().default_model is None
    catalogue = await service.put_provider("openai_direct", PutProvider())
    assert (catalogue.default_provider, catalogue.default_model) == ("openai_direct", "openai_direct/gpt-5.4")
    assert (catalogue.background_tasks.provider, catalogue.background_tasks.model) == (
        "openai_direct",
        "gpt-5.4-mini",
    )
    catalogue = await service.put_provider("anthropic_direct", PutProvider())
    assert (catalogue.default_provider, catalogue.background_tasks.provider) == (
        "openai_direct",
        "openai_direct",
    )
    stored = service.stored()
    assert stored["mine"] == {"kept": True}
    assert stored["providers"]["anthropic_direct"] == {
        "kind": "anthropic_native", "base_url": "https://api.anthropic.com",
    }  # fmt: skip
    assert make().catalogue() == catalogue


async def test_the_first_real_provider_takes_over_from_the_demo_model(make: Made) -> None:
    service = make()
    assert (await service.put_provider("demo", PutProvider())).default_model == "demo/scripted"
    catalogue = await service.put_provider("anthropic_direct", PutProvider())
    assert catalogue.default_model == "anthropic_direct/claude-sonnet-4-6"
    assert catalogue.background_tasks.provider == "anthropic_direct"
    await service.delete_provider("demo")
    catalogue = await service.put_provider("demo", PutProvider())
    assert catalogue.default_model == "anthropic_direct/claude-sonnet-4-6"


async def test_ollama_takes_the_background_tasks_without_a_model(make: Made) -> None:
    service = make()
    catalogue = await service.put_provider(
        "ollama_direct", PutProvider(models=["qwen2.5:0.5b", " ", "qwen2.5:0.5b"])
    )
    assert (catalogue.background_tasks.provider, catalogue.background_tasks.model) == ("ollama_direct", None)
    assert catalogue.default_model == "ollama_direct/qwen2.5:0.5b"
    assert view_of(service, "ollama_direct").models == ["qwen2.5:0.5b"]
    assert not view_of(service, "ollama_direct").key_required
    model = await service.resolve_model("ollama_direct/qwen2.5:0.5b", headers={})
    assert (model.base_url, model.api_key, model.protocol) == (
        "http://localhost:11434/v1",
        KEYLESS,
        "openai_chat",
    )


async def test_an_edit_replaces_only_what_it_names(make: Made) -> None:
    document = copy.deepcopy(SAMPLE)
    document["models"]["openai_direct/gpt-5.2"]["label"] = "kept"
    service = make(document, embedded=False)
    await service.put_provider("openai_direct", PutProvider(models=["gpt-5.2", "gpt-9"]))
    stored = service.stored()
    assert stored["providers"] == SAMPLE["providers"]
    assert [key for key in stored["models"] if key.startswith("openai_direct/")] == [
        "openai_direct/gpt-5.2", "openai_direct/gpt-9",
    ]  # fmt: skip
    assert stored["models"]["openai_direct/gpt-5.2"] == {
        "provider": "openai_direct",
        "model": "gpt-5.2",
        "label": "kept",
    }
    await service.put_provider(
        "openai_direct", PutProvider(base_url="https://eu.example/v1", headers={"X-Team": "a"})
    )
    model = await service.resolve_model("openai_direct/gpt-9", headers={})
    assert (model.base_url, model.default_headers) == ("https://eu.example/v1", {"X-Team": "a"})
    assert service.stored()["providers"]["openai_direct"]["api_key"] == "sk-your-openai-key"


async def test_a_default_that_is_taken_off_the_list_moves_to_one_that_is_on_it(make: Made) -> None:
    service = make()
    await service.put_provider("ollama_direct", PutProvider())
    catalogue = await service.put_provider("ollama_direct", PutProvider(models=["qwen2.5:0.5b"]))
    assert catalogue.default_model == "ollama_direct/qwen2.5:0.5b"


async def test_an_edit_of_the_only_provider_keeps_what_a_person_chose(make: Made) -> None:
    service = make()
    await service.put_provider("ollama_direct", PutProvider())
    await service.put_background_tasks(PutBackgroundTasks(provider="ollama_direct", model="qwen3:8b"))
    await service.patch(PatchRuntimeConfig(default_model="ollama_direct/gpt-oss:20b"))
    catalogue = await service.put_provider("ollama_direct", PutProvider(base_url="http://127.0.0.1:11434/v1"))
    assert catalogue.background_tasks.model == "qwen3:8b"
    assert catalogue.default_model == "ollama_direct/gpt-oss:20b"


async def test_a_custom_provider(make: Made) -> None:
    service = make()
    body = PutProvider(name="My vLLM", base_url="http://127.0.0.1:8000", models=["Qwen/Qwen3-8B"])
    await service.put_provider("vllm", body)
    view = view_of(service, "vllm")
    assert (view.custom, view.name, view.kind, view.connected) == (True, "My vLLM", "openai_compatible", True)
    assert (view.base_url, view.effective_url) == ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1")
    assert (await service.resolve_model("vllm/Qwen/Qwen3-8B", headers={})).model_id == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("provider_id", "body", "code"),
    [
        ("mine", PutProvider(), "base_url_required"),
        ("mine", PutProvider(base_url="ftp://x"), "base_url_invalid"),
        ("mine", PutProvider(base_url="https://user:key@x/v1"), "base_url_invalid"),
        ("a/b", PutProvider(base_url="http://x"), "provider_id_invalid"),
        ("", PutProvider(base_url="http://x"), "provider_id_invalid"),
        ("openai_direct", PutProvider(models=["openai/gpt-5"]), "model_id_invalid"),
        ("openai_direct", PutProvider(headers={"a b": "c"}), "header_invalid"),
        ("openai_direct", PutProvider(headers={"a": "c\r\nd: e"}), "header_invalid"),
    ],
)
async def test_values_no_provider_can_have_change_nothing(
    make: Made, provider_id: str, body: PutProvider, code: str
) -> None:
    service = make(SAMPLE)
    await refused(service.put_provider(provider_id, body), code)
    assert service.stored() == SAMPLE
    assert service.told() == 0


async def test_a_proxy_needs_an_address(make: Made) -> None:
    await refused(make({}).put_provider("holaboss_model_proxy", PutProvider()), "base_url_required")


async def test_disconnecting_takes_every_reference_along(make: Made) -> None:
    service = make(SAMPLE)
    catalogue = await service.delete_provider("holaboss_model_proxy")
    stored = service.stored()
    assert "holaboss_model_proxy" not in stored["providers"]
    assert not [key for key in stored["models"] if key.startswith("holaboss_model_proxy/")]
    assert stored["runtime"] == {
        "sandbox_id": "local-sandbox",
        "background_tasks": SAMPLE["runtime"]["background_tasks"],
    }
    assert catalogue.default_model == "openai_direct/gpt-5.2"
    await service.delete_provider("openai_direct")
    assert "background_tasks" not in service.stored()["runtime"]
    error = await refused(service.delete_provider("openai_direct"), "provider_not_found")
    assert error.kind == "not_found"


async def test_disconnecting_a_proxy_written_in_shorthand(make: Made) -> None:
    service = make(
        {"model_proxy_base_url": "https://p.example/proxy", "auth_token": KEY, "default_model": "openai/x"}
    )
    assert view_of(service, "holaboss_model_proxy").connected
    await service.delete_provider("holaboss_model_proxy")
    assert KEY not in service.path.read_text()
    assert not view_of(service, "holaboss_model_proxy").connected


async def test_background_tasks(make: Made) -> None:
    service = make(SAMPLE)
    catalogue = await service.put_background_tasks(
        PutBackgroundTasks(provider="anthropic_direct", model="claude-x")
    )
    assert (catalogue.background_tasks.provider, catalogue.background_tasks.model) == (
        "anthropic_direct",
        "claude-x",
    )
    catalogue = await service.put_background_tasks(PutBackgroundTasks())
    assert catalogue.background_tasks.provider is None
    await refused(
        service.put_background_tasks(PutBackgroundTasks(provider="demo", model="x")), "provider_not_connected"
    )


async def test_embedded_no_key_ever_reaches_the_file(make: Made) -> None:
    service = make()
    await service.put_provider("openai_direct", PutProvider())
    error = await refused(service.resolve_model(None, headers={}), "provider_key_missing")
    assert (error.kind, error.context) == ("unavailable", {"provider_id": "openai_direct"})
    state = await service.put_secret("openai_direct", f" {KEY} ")
    assert state.key_state == view_of(service, "openai_direct").key_state == "keychain"
    assert service.stored()["providers"]["openai_direct"]["api_key"] == "keychain:openai_direct"
    assert (await service.resolve_model(None, headers={})).api_key == KEY
    assert KEY in service.live_secrets()
    assert KEY not in service.path.read_text()
    again = make()
    assert view_of(again, "openai_direct").key_state == "keychain_missing"
    await refused(again.resolve_model(None, headers={}), "provider_key_missing")
    handed = make(secrets={"openai_direct": KEY})
    assert (await handed.resolve_model(None, headers={})).api_key == KEY


@pytest.mark.parametrize("url", ["https://gpu.example/v1", "http://127.0.0.1:4000/v1"])
async def test_an_endpoint_of_ones_own_needs_a_key_only_once_one_was_kept(make: Made, url: str) -> None:
    service = make()
    await service.put_provider("gpu", PutProvider(base_url=url, models=["m"]))
    assert not view_of(service, "gpu").key_required
    assert (await service.resolve_model("gpu/m", headers={})).base_url == url
    await service.put_secret("gpu", KEY)
    assert (await service.resolve_model("gpu/m", headers={})).api_key == KEY
    await refused(make().resolve_model("gpu/m", headers={}), "provider_key_missing")


async def test_a_key_that_came_first_is_referred_to_when_the_provider_is_connected(make: Made) -> None:
    service = make(secrets={"anthropic_direct": KEY})
    await service.put_provider("anthropic_direct", PutProvider())
    assert service.stored()["providers"]["anthropic_direct"]["api_key"] == "keychain:anthropic_direct"


async def test_a_key_is_replaced_live_and_removed(make: Made) -> None:
    service = make(SAMPLE)
    assert (await service.put_secret("openai_direct", KEY)).key_state == "keychain"
    assert (await service.resolve_model("openai_direct/x", headers={})).api_key == KEY
    assert "sk-your-openai-key" not in service.path.read_text()
    assert (await service.delete_secret("openai_direct")).key_state == "none"
    assert "api_key" not in service.stored()["providers"]["openai_direct"]
    await refused(service.resolve_model("openai_direct/x", headers={}), "provider_key_missing")


async def test_standalone_a_key_put_in_lives_in_memory_only_and_wins(make: Made) -> None:
    service = make(SAMPLE, embedded=False)
    await service.put_secret("openai_direct", KEY)
    assert (await service.resolve_model("openai_direct/x", headers={})).api_key == KEY
    assert service.stored() == SAMPLE


@pytest.mark.parametrize(("provider_id", "value", "code"), [
    ("openai_direct", "", "key_invalid"), ("openai_direct", "a b", "key_invalid"),
    ("openai_direct", "a\r\nb", "key_invalid"), ("openai_direct", "schlüssel", "key_invalid"),
    ("demo", KEY, "key_not_needed"), ("../x", KEY, "provider_id_invalid"),
])  # fmt: skip
async def test_what_is_no_key(make: Made, provider_id: str, value: str, code: str) -> None:
    service = make(SAMPLE)
    error = await refused(service.put_secret(provider_id, value), code)
    assert not value or value not in error.detail
    assert service.stored() == SAMPLE


async def test_a_key_in_the_file_that_is_none_makes_its_messages_wait(make: Made) -> None:
    mine = {"kind": "openai_compatible", "base_url": "http://h/v1", "api_key": "sk-…0123"}
    service = make({"providers": {"mine": mine}}, embedded=False)
    error = await refused(service.resolve_model("mine/m", headers={}), "provider_key_missing")
    assert error.context == {"provider_id": "mine"}
    assert "sk-…0123" not in error.detail


async def test_a_plain_key_of_the_file_is_handed_over_and_leaves_only_when_that_is_confirmed(
    make: Made,
) -> None:
    service = make(SAMPLE)
    handed = service.hand_over_secret("openai_direct")
    assert handed.value == "sk-your-openai-key"
    assert "sk-your-openai-key" not in repr(handed)
    assert service.stored() == SAMPLE
    assert (await service.confirm_hand_over("openai_direct")).key_state == "keychain"
    assert service.stored()["providers"]["openai_direct"]["api_key"] == "keychain:openai_direct"
    assert (await service.resolve_model("openai_direct/x", headers={})).api_key == "sk-your-openai-key"
    for provider_id in ("openai_direct", "demo", "nobody"):
        with pytest.raises(DomainError, match="no plain key"):
            service.hand_over_secret(provider_id)


async def test_a_key_that_changed_meanwhile_is_not_removed(make: Made) -> None:
    service = make(SAMPLE)
    await refused(service.confirm_hand_over("openai_direct"), "key_changed")
    service.hand_over_secret("openai_direct")
    changed = copy.deepcopy(SAMPLE)
    changed["providers"]["openai_direct"]["api_key"] = "sk-another-key-by-hand"
    service.path.write_text(make(changed).path.read_text())
    await refused(service.confirm_hand_over("openai_direct"), "key_changed")
    assert service.stored() == changed


async def test_the_token_of_a_shorthand_proxy_is_handed_over_too(make: Made) -> None:
    service = make({"model_proxy_base_url": "https://p.example/proxy", "auth_token": KEY})
    assert service.hand_over_secret("holaboss_model_proxy").value == KEY
    await service.confirm_hand_over("holaboss_model_proxy")
    assert service.stored()["auth_token"] == "keychain:holaboss_model_proxy"
    model = await service.resolve_model("gpt-4.1", headers={})
    assert model.default_headers["X-API-Key"] == KEY


async def test_a_standalone_runtime_hands_over_nothing(make: Made) -> None:
    with pytest.raises(DomainError, match="no plain key"):
        make(SAMPLE, embedded=False).hand_over_secret("openai_direct")


async def test_standalone_keys_come_from_the_environment(make: Made) -> None:
    env = {
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": "sk-ant-other",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }
    service = make({"providers": {"openai_direct": {}}}, embedded=False, env=env)
    assert "OPENAI_API_KEY" not in env
    assert view_of(service, "openai_direct").key_state == "environment"
    assert (await service.resolve_model("gpt-5.4", headers={})).api_key == KEY
    claude = await service.resolve_model("claude-x", headers={})
    assert (claude.base_url, claude.api_key) == ("http://127.0.0.1:9", "sk-ant-other")
    await refused(service.delete_provider("anthropic_direct"), "provider_from_environment")


async def test_embedded_the_environment_gives_no_keys(make: Made) -> None:
    service = make(env={"OPENAI_API_KEY": KEY})
    assert not view_of(service, "openai_direct").connected
    assert KEY not in service.live_secrets()


@pytest.mark.parametrize("embedded", [True, False])
async def test_patching_the_plain_settings(make: Made, embedded: bool) -> None:
    service = make(embedded=embedded)
    body = PatchRuntimeConfig(
        model_proxy_base_url="https://p.example/proxy", auth_token=SecretStr(KEY), user_id="u", sandbox_id="s",
        default_model="gpt-4.1", runtime_mode="oss",
    )  # fmt: skip
    view = await service.patch(body)
    assert view.auth_token_present
    assert (view.user_id, view.sandbox_id, view.runtime_mode, view.default_model) == (
        "u",
        "s",
        "oss",
        "gpt-4.1",
    )
    assert view.model_proxy_base_url == "https://p.example/proxy"
    assert (KEY in service.path.read_text()) is (not embedded)
    model = await service.resolve_model(None, headers={})
    assert model.default_headers == {
        "X-API-Key": KEY,
        "X-Holaboss-User-Id": "u",
        "X-Holaboss-Sandbox-Id": "s",
    }
    view = await service.patch(PatchRuntimeConfig(user_id="", auth_token=SecretStr("")))
    assert (view.user_id, view.sandbox_id, view.auth_token_present) == (None, "s", False)
    await refused(service.patch(PatchRuntimeConfig(model_proxy_base_url="nonsense")), "base_url_invalid")


async def test_patching_a_structured_file_changes_it_where_the_setting_is(make: Made) -> None:
    service = make(SAMPLE, embedded=False)
    await service.patch(
        PatchRuntimeConfig(
            model_proxy_base_url="https://new.example/proxy", auth_token=SecretStr(KEY), sandbox_id="t"
        )
    )
    expected: dict[str, Any] = copy.deepcopy(SAMPLE)
    expected["providers"]["holaboss_model_proxy"] |= {"base_url": "https://new.example/proxy", "api_key": KEY}
    expected["runtime"]["sandbox_id"] = "t"
    assert service.stored() == expected


async def test_every_change_is_told_once(make: Made) -> None:
    service = make()
    pokes: list[int] = []
    service.on_change = lambda: pokes.append(service.told())
    await service.put_provider("openai_direct", PutProvider())
    await service.put_secret("openai_direct", KEY)
    await service.delete_provider("openai_direct")
    assert pokes == [1, 2, 3]


async def test_nothing_connected_is_a_sentence_with_a_way_out(make: Made) -> None:
    error = await refused(make().resolve_model(None, headers={}), "model_not_configured")
    assert "Model Providers" in error.detail
    broken = make({"providers": {"mine": {"base_url": "nonsense"}}, "models": {"mine/m": {}}})
    assert (
        "base URL" in (await refused(broken.resolve_model(None, headers={}), "model_not_configured")).detail
    )
    assert view_of(broken, "mine").effective_url == "nonsense"


@pytest.mark.allow_log("holaboss_runtime.config.document", "cannot be understood")
async def test_a_corrupt_file_is_named_in_the_catalogue(make: Made) -> None:
    service = make("{ not json")
    (notice,) = service.catalogue().notices
    assert "corrupt-" in notice
    await service.put_provider("demo", PutProvider())
    assert make().catalogue().default_model == "demo/scripted"


async def test_what_a_harness_should_warm_up_for(make: Made) -> None:
    assert make().default_protocol() is None
    assert make(SAMPLE).default_protocol() == "openai_responses"
    assert make(
        {"providers": {"anthropic_direct": {}}, "runtime": {"default_model": "claude-x"}}
    ).default_protocol() == ("anthropic_messages")
    assert (
        make({"providers": {"demo": {}}, "models": {"demo/scripted": {}}}).default_protocol() == "openai_chat"
    )
