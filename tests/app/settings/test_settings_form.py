"""The rules for what may be entered about a provider."""

from __future__ import annotations

import pytest

from holaboss_app.panes.settings import form
from holaboss_client.config import ProviderKind, ProviderView

URLS = (
    "https://api.openai.com",
    "https://api.openai.com/v1/",
    "https://api.openai.com/v1/chat/completions",
    "https://api.anthropic.com",
    "https://api.anthropic.com/v1",
    "https://api.anthropic.com/v1/messages",
    "https://openrouter.ai",
    "https://openrouter.ai/api/v1",
    "https://generativelanguage.googleapis.com",
    "https://generativelanguage.googleapis.com/v1beta",
    "http://localhost:11434",
    "http://127.0.0.1:1234/v1",
    "https://proxy.example/api/v1/model-proxy",
    "https://proxy.example/openai/v1",
    "https://proxy.example/v1",
)


@pytest.mark.parametrize("kind", form.KIND_NAMES)
@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("model", ["gpt-5.4", "claude-sonnet-4-6"])
def test_the_preview_says_what_the_runtime_will_do(kind: ProviderKind, url: str, model: str) -> None:
    endpoints = pytest.importorskip("holaboss_runtime.config.endpoints")
    assert form.preview_url(kind, url, model) == endpoints.endpoint(kind, url, "some_id", model).shown_url


@pytest.mark.parametrize("url", URLS)
def test_usable_addresses_pass(url: str) -> None:
    assert form.check_base_url(url) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "Enter the address"),
        ("api.example.com", "must start with"),
        ("ftp://api.example.com", "must start with"),
        ("https://", "no valid host"),
        ("https://exa mple.com", "no valid host"),
        ("https://host:99999", "must start with"),
        ("https://me:secret@api.example.com", "Leave user name"),
        ("https://api.example.com/v1?key=1", "without ? or #"),
    ],
)
def test_an_unusable_address_is_named_and_has_no_preview(url: str, words: str) -> None:
    assert words in (form.check_base_url(url) or "")
    assert form.preview_url("openai_compatible", url) == ""


def test_models_are_split_at_lines_and_commas() -> None:
    assert form.split_models(" a \nb, c,\n\n") == ("a", "b", "c")


def test_model_lists_with_a_mistake_are_refused() -> None:
    assert "listed twice" in (form.check_models(("a", "b", "a"), slashes=True) or "")
    assert "space" in (form.check_models(("a b",), slashes=True) or "")
    assert "slash" in (form.check_models(("a/b",), slashes=False) or "")
    assert form.check_models(("a/b", "c"), slashes=True) is None


def test_only_vendors_with_plain_ids_refuse_a_slash() -> None:
    vendor = ProviderView(
        id="x", name="X", kind="openai_compatible", connected=False, base_url="", effective_url=""
    )
    assert not form.slashes_allowed(vendor, "https://api.openai.com/v1")
    assert form.slashes_allowed(vendor, "http://localhost:1234/v1")
    assert form.slashes_allowed(vendor.model_copy(update={"custom": True}), "https://vllm.example/v1")
    assert form.slashes_allowed(
        vendor.model_copy(update={"kind": "openrouter"}), "https://openrouter.ai/api/v1"
    )


def test_a_name_becomes_an_id_that_is_not_taken() -> None:
    assert form.provider_id("My Lab! 2") == "my_lab_2"
    assert form.check_name("My Lab", {"my_lab"}) == "There is already a provider with this name."
    assert form.check_name("!!", set()) == "Use at least one letter or digit in the name."
    assert form.check_name("", set()) == "Give the provider a name."
    assert form.check_name("My Lab", {"other"}) is None


@pytest.mark.parametrize(
    "url", ["http://localhost:1", "http://127.0.0.1/v1", "http://[::1]:80", "http://a.localhost"]
)
def test_loopback_is_recognised(url: str) -> None:
    assert form.is_loopback(url)
    assert not form.is_loopback("https://127.0.0.1.example.com")
