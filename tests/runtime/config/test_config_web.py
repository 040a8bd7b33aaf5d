"""Who searches and who draws, by the configuration; and that search keys are kept like any other key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holaboss_client.config import PatchRuntimeConfig
from holaboss_runtime.config.service import ResolvedModel
from holaboss_runtime.config.web import (
    ResolvedSearch,
    SearchSettings,
    read_search,
    resolve_images,
    resolve_search,
    search_provider_of,
    set_search_key,
)
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import SearchClient
from holaboss_runtime.runs.profile import Executor
from holaboss_runtime.runs.web import WebClients
from tests.runtime.config.conftest import Made

pytestmark = pytest.mark.anyio

OPENAI = ("openai_responses", "https://api.openai.com/v1")
ANTHROPIC = ("anthropic_messages", "https://api.anthropic.com")
CHAT = ("openai_chat", "https://api.openai.com/v1")
GATEWAY = ("anthropic_messages", "https://gateway.example/anthropic")
KEY = "exa-key-0123456789"


@pytest.mark.parametrize(
    ("chosen", "keys", "model", "provider", "api_key"),
    [
        (None, {}, OPENAI, "native", ""),
        (None, {}, ANTHROPIC, "native", ""),
        (None, {}, CHAT, "keyless", ""),
        (None, {}, GATEWAY, "keyless", ""),
        (None, {"tavily": "t"}, OPENAI, "tavily", "t"),
        ("native", {"exa": "e"}, GATEWAY, "native", ""),
        ("native", {}, CHAT, "keyless", ""),
        ("keyless", {"exa": "e"}, OPENAI, "keyless", ""),
        ("brave", {"brave": "b", "exa": "e"}, OPENAI, "brave", "b"),
        ("exa", {"brave": "b"}, OPENAI, "exa", ""),
    ],
)
def test_who_searches(chosen: Any, keys: dict[str, str], model: Any, provider: Any, api_key: str) -> None:
    found = resolve_search(SearchSettings(chosen), keys, *model)
    assert found == ResolvedSearch(provider, api_key)


def test_searching_can_be_switched_off() -> None:
    assert resolve_search(SearchSettings("off"), {"exa": "e"}, *OPENAI) is None


@pytest.mark.parametrize(
    ("document", "settings"),
    [
        ({}, SearchSettings()),
        ({"web_search": {"provider": "exa"}}, SearchSettings("exa")),
        ({"webSearch": {"provider": "brave"}}, SearchSettings("brave")),
        ({"search": {"provider": "exa_hosted_mcp"}}, SearchSettings("exa")),
        ({"web_search": {"provider": "holaboss_search"}}, SearchSettings()),
        ({"web_search": {"providers": {"exa": {"api_key": " k "}}}}, SearchSettings(None, {"exa": "k"})),
        (
            {"web_search": {"providers": {"mine": {"kind": "exa_hosted_mcp", "api_key": "k"}}}},
            SearchSettings(None, {"exa": "k"}),
        ),
        ({"web_search": {"providers": {"other": {"api_key": "k"}, "exa": 3}}}, SearchSettings()),
        ({"web_search": 3, "search": []}, SearchSettings()),
    ],
)
def test_the_block_is_read_leniently(document: dict[str, Any], settings: SearchSettings) -> None:
    assert read_search(document) == settings


def test_names_of_search_keys() -> None:
    assert search_provider_of("web-search:exa") == "exa"
    for name in ("exa", "web-search:", "web-search:native", "web-search:x", "openai_direct"):
        assert search_provider_of(name) is None


def test_a_key_has_one_place() -> None:
    document: dict[str, Any] = {
        "search": {"providers": {"mine": {"kind": "exa_hosted_mcp", "api_key": "old"}}}
    }
    set_search_key(document, "exa", "new")
    assert "old" not in json.dumps(document)
    assert document["web_search"]["providers"]["exa"] == {"api_key": "new"}
    set_search_key(document, "exa", None)
    assert "new" not in json.dumps(document)
    empty: dict[str, Any] = {}
    set_search_key(empty, "exa", None)
    assert empty == {}


async def test_a_search_key_is_kept_like_a_key_of_a_provider(make: Made) -> None:
    service = make({}, embedded=True)
    state = await service.put_secret("web-search:exa", KEY)
    assert (state.provider_id, state.key_state) == ("web-search:exa", "keychain")
    stored = json.dumps(service.stored())
    assert KEY not in stored
    assert service.stored()["web_search"]["providers"]["exa"]["api_key"] == "keychain:web-search:exa"
    assert KEY in service.live_secrets()
    assert service.web_search(*OPENAI) == ResolvedSearch("exa", KEY)
    assert service.view().web_search_keys == {"exa": "keychain", "tavily": "none", "brave": "none"}
    assert KEY not in service.view().model_dump_json() + service.catalogue().model_dump_json()
    assert KEY not in repr(service.web_search(*OPENAI))
    # A later start, whose parent hands the key over.
    again = make(embedded=True, secrets={"web-search:exa": KEY})
    assert again.web_search(*OPENAI) == ResolvedSearch("exa", KEY)
    without = make(embedded=True)
    assert without.view().web_search_keys["exa"] == "keychain_missing"
    assert without.web_search(*OPENAI) == ResolvedSearch("native")
    assert (await again.delete_secret("web-search:exa")).key_state == "none"
    assert again.web_search(*OPENAI) == ResolvedSearch("native")
    assert "keychain:web-search" not in json.dumps(again.stored())


async def test_a_key_in_the_file_is_used_hidden_and_handed_over(make: Made) -> None:
    document = {"web_search": {"provider": "exa", "providers": {"exa": {"api_key": KEY}}}}
    service = make(document, embedded=True)
    assert service.web_search(*CHAT) == ResolvedSearch("exa", KEY)
    assert KEY in service.live_secrets()
    assert service.hand_over_secret("web-search:exa").value == KEY
    await service.confirm_hand_over("web-search:exa")
    assert KEY not in json.dumps(service.stored())
    assert service.web_search(*CHAT) == ResolvedSearch("exa", KEY)
    standalone = make(document, embedded=False)
    assert standalone.web_search(*CHAT) == ResolvedSearch("exa", KEY)


@pytest.mark.parametrize("name", ["web-search:native", "web-search:x", "other:exa", "a b"])
async def test_a_key_of_nobody_is_refused(make: Made, name: str) -> None:
    with pytest.raises(DomainError) as raised:
        await make({}).put_secret(name, KEY)
    assert raised.value.code == "provider_id_invalid"


async def test_the_choice_is_a_setting(make: Made) -> None:
    service = make({"search": {"provider": "brave"}})
    assert service.view().web_search_provider == "brave"
    view = await service.patch(PatchRuntimeConfig(web_search_provider="off"))
    assert view.web_search_provider == "off"
    assert service.web_search(*OPENAI) is None
    assert (await service.patch(PatchRuntimeConfig(web_search_provider=""))).web_search_provider is None
    with pytest.raises(DomainError) as raised:
        await service.patch(PatchRuntimeConfig(web_search_provider="altavista"))
    assert raised.value.code == "search_provider_invalid"


# Pictures


GEMINI = "https://generativelanguage.googleapis.com/v1beta"
GEMINI_IMAGES = "gemini-3.1-flash-image-preview"
OPENROUTER = "https://openrouter.ai/api/v1"


@pytest.mark.parametrize(
    ("provider", "kind", "base_url", "image_kind", "base", "model"),
    [
        ("openai_direct", "openai_compatible", OPENAI[1], "openai_images", OPENAI[1], "gpt-image-1.5"),
        ("gemini_direct", "openai_compatible", f"{GEMINI}/openai", "gemini", GEMINI, GEMINI_IMAGES),
        (
            "openrouter_direct",
            "openrouter",
            OPENROUTER,
            "openrouter_chat",
            OPENROUTER,
            f"google/{GEMINI_IMAGES}",
        ),
    ],
)
def test_who_draws(provider: str, kind: Any, base_url: str, image_kind: str, base: str, model: str) -> None:
    found = resolve_images(provider, kind, base_url, None, "k")
    assert found is not None
    assert (found.provider_id, found.kind, found.base_url, found.model_id) == (
        provider,
        image_kind,
        base,
        model,
    )
    named = resolve_images(provider, kind, base_url, "other", "k")
    assert named is not None
    assert named.model_id == "other"
    assert "api_key" not in repr(found)


def test_who_draws_nothing() -> None:
    assert (
        resolve_images("anthropic_direct", "anthropic_native", "https://api.anthropic.com", None, "k") is None
    )
    assert resolve_images("x", "openai_compatible", "nonsense", None, "k") is None


async def test_an_image_model_is_there_when_its_provider_and_key_are(make: Made) -> None:
    chosen = {"runtime": {"image_generation": {"provider": "openai", "model": "m-1"}}}
    connected = {
        "providers": {"openai_direct": {"kind": "openai_compatible", "base_url": "https://api.openai.com/v1"}}
    }
    assert make({}).image_generation() is None
    assert make(chosen).image_generation() is None
    assert make(chosen | connected).image_generation() is None, "the key is not there"
    found = make(chosen | connected, secrets={"openai_direct": KEY}).image_generation()
    assert found is not None
    assert (found.provider_id, found.model_id, found.api_key) == ("openai_direct", "m-1", KEY)
    service = make(connected, secrets={"openai_direct": KEY})
    view = await service.patch(PatchRuntimeConfig(image_provider="openai_direct", image_model="m-2"))
    assert (view.image_provider, view.image_model) == ("openai_direct", "m-2")
    picked = service.image_generation()
    assert picked is not None
    assert picked.model_id == "m-2"


# What a run is promised


def test_a_run_is_promised_only_what_somebody_answers(make: Made) -> None:
    executor = Executor("native", ("read", "web_search", "download_url", "image_generate"), frozenset())
    model = ResolvedModel("openai_direct", "OpenAI", "gpt-5.4", *OPENAI, KEY)  # type: ignore[arg-type]
    off = WebClients.of(make({"web_search": {"provider": "off"}}), model)
    assert off.narrowed(executor).tool_names == ("read", "download_url")
    assert off.fields(executor.tool_names) == {"web_search": None, "image_generation": None}
    there = WebClients.of(make({"web_search": {"provider": "keyless"}}), model)
    assert there.narrowed(executor).tool_names == ("read", "web_search", "download_url")
    assert there.fields(("web_search",))["web_search"] == SearchClient(provider="keyless")
    assert there.fields(("read",))["web_search"] is None, "no key goes where no tool needs it"
    drawing = {
        "runtime": {"image_generation": {"provider": "openai"}},
        "providers": {"openai_direct": {"kind": "openai_compatible", "base_url": OPENAI[1]}},
    }
    painter = WebClients.of(make(drawing, secrets={"openai_direct": KEY}), model)
    assert painter.narrowed(executor) == executor
    assert painter.fields(executor.tool_names)["image_generation"].kind == "openai_images"
