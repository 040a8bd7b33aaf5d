"""Testing a provider tells apart what a person has to fix."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest
from pydantic import SecretStr

from holaboss_client.config import ProviderKind, ProviderTest, PutProvider
from holaboss_client.config import TestProvider as Draft
from holaboss_runtime.config import local_servers, probe
from tests.runtime.config.conftest import Made
from tests.support.http_server import HttpServer, Request, Wire
from tests.support.processes import PATIENCE_S
from tests.support.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.anyio

KEY = "sk-good-key-0123"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LIMIT_S", PATIENCE_S)


async def tried(
    make: Made, kind: ProviderKind, base_url: str, *, key: str = KEY, model: str | None = None
) -> ProviderTest:
    draft = Draft(kind=kind, base_url=base_url, api_key=SecretStr(key) if key else None, model=model)
    return await make().test_provider("mine", draft)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("openai_compatible", "/v1"),
        ("openai_compatible", ""),
        ("anthropic_native", ""),
        ("holaboss_proxy", "/proxy"),
    ],
)
async def test_each_kind_finds_its_models(make: Made, kind: ProviderKind, path: str) -> None:
    with ScriptedProvider(key=KEY, models=("one", "two")) as provider:
        base_url = provider.url + ("" if kind == "holaboss_proxy" else path)
        good = await tried(make, kind, base_url, model="two")
        assert (good.outcome, good.models) == ("ok", ["one", "two"])
        assert good.latency_ms is not None
        missing = await tried(make, kind, base_url, model="three")
        assert (missing.outcome, missing.models) == ("no_such_model", ["one", "two"])
        assert (await tried(make, kind, base_url, key="sk-wrong-key-0123")).outcome == "bad_key"


async def test_the_stored_values_are_used_where_the_draft_says_nothing(make: Made) -> None:
    service = make()
    with ScriptedProvider(key=KEY) as provider:
        await service.put_provider("mine", PutProvider(base_url=provider.url))
        await service.put_secret("mine", KEY)
        assert (await service.test_provider("mine", Draft())).outcome == "ok"
        assert (
            await service.test_provider("mine", Draft(api_key=SecretStr("sk-other")))
        ).outcome == "bad_key"


async def test_nobody_there_is_unreachable(make: Made) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: a connection is refused
        result = await tried(make, "openai_compatible", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert result.outcome == "unreachable"
    assert "server is running" in result.detail


async def test_silence_is_unreachable(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LIMIT_S", 0.05)

    async def silent(_request: Request, _wire: Wire) -> None:
        await asyncio.Event().wait()

    with HttpServer(silent, port=0) as server:
        result = await tried(make, "openai_compatible", server.url)
    assert result.outcome == "unreachable"


@pytest.mark.parametrize("base_url", ["ftp://x/v1", "nonsense", "", "https://user:k@x/v1"])
async def test_what_is_no_url_is_not_even_tried(make: Made, base_url: str) -> None:
    assert (await tried(make, "openai_compatible", base_url)).outcome == "bad_url"


async def test_a_missing_key_is_said_before_anything_is_sent(make: Made) -> None:
    result = await tried(make, "openai_compatible", "https://models.invalid/v1", key="")
    assert (result.outcome, result.latency_ms) == ("bad_key", None)


@pytest.mark.parametrize("key", ["sk-…0123", "“sk-0123456789”", "sk-01 23", "sk-01\n23", "ключ"])
async def test_what_is_no_key_is_said_before_anything_is_sent(make: Made, key: str) -> None:
    result = await tried(make, "openai_compatible", "https://models.invalid/v1", key=key)
    assert (result.outcome, result.latency_ms) == ("bad_key", None)
    assert key not in result.detail


@pytest.mark.parametrize("header", [{"X-Team": "größe"}, {"X-Team": "a\nb"}, {"Größe": "x"}])
async def test_a_header_that_cannot_be_sent_is_said(make: Made, header: dict[str, str]) -> None:
    """Only a hand puts one into the file."""
    mine = {"kind": "openai_compatible", "base_url": "http://127.0.0.1:9/v1", "headers": header}
    service = make({"providers": {"mine": mine}})
    assert (await service.test_provider("mine", Draft())).outcome == "provider_error"


def always(status: int, body: bytes, headers: dict[str, str] | None = None) -> Callable[[], HttpServer]:
    async def handle(_request: Request, wire: Wire) -> None:
        wire.send(status, body, headers)

    return lambda: HttpServer(handle, port=0)


@pytest.mark.parametrize(
    ("server", "outcome"),
    [
        (always(200, b"<html>hello</html>"), "bad_url"),
        (always(200, b'{"hello": "world"}'), "bad_url"),
        (always(200, b"[1, 2]"), "bad_url"),
        (always(404, b"no"), "bad_url"),
        (always(302, b"", {"location": "http://elsewhere.invalid/"}), "bad_url"),
        (always(401, b"no"), "bad_key"),
        (always(403, b"no"), "bad_key"),
        (always(400, b'[{"error": {"message": "API key not valid."}}]'), "bad_key"),
        (always(400, b"what?"), "provider_error"),
        (always(429, b"slow down"), "provider_error"),
        (always(500, b"oh"), "provider_error"),
        (always(200, b'{"data": [{"id": "models/gemini-x"}, {"nope": 1}, 7]}'), "ok"),
        (always(200, b'{"data": ' + b"[" * 100_000), "bad_url"),
    ],
)
async def test_answers(make: Made, server: Callable[[], HttpServer], outcome: str) -> None:
    with server() as running:
        result = await tried(make, "openai_compatible", running.url)
    assert result.outcome == outcome
    assert KEY not in result.detail
    if outcome == "ok":
        assert result.models == ["gemini-x"]


@pytest.mark.parametrize(("path", "outcome"), [("/v1", "ok"), ("/wrong", "bad_url"), ("/api", "bad_url")])
async def test_an_ollama_without_the_openai_list_is_asked_for_its_tags(
    make: Made, path: str, outcome: str
) -> None:
    async def old_ollama(request: Request, wire: Wire) -> None:
        if request.path == "/api/tags":
            wire.send_json(200, {"models": [{"name": "qwen2.5:0.5b"}]})
        else:
            wire.send(404, b"404 page not found")

    with HttpServer(old_ollama, port=0) as server:
        result = await tried(make, "openai_compatible", server.url + path, key="")
    assert (result.outcome, result.models) == (outcome, ["qwen2.5:0.5b"] if outcome == "ok" else [])


@pytest.mark.parametrize(("status", "outcome"), [(200, "ok"), (401, "bad_key")])
async def test_openrouter_is_asked_about_the_key_because_its_list_is_public(
    make: Made, status: int, outcome: str
) -> None:
    async def openrouter(request: Request, wire: Wire) -> None:
        if request.path == "/api/v1/models":
            wire.send_json(200, {"data": [{"id": "openai/gpt-5.4"}]})
        else:
            wire.send_json(status if request.path == "/api/v1/key" else 404, {})

    with HttpServer(openrouter, port=0) as server:
        assert (await tried(make, "openrouter", server.url)).outcome == outcome


async def test_the_demo_model_can_be_tried_and_used(make: Made) -> None:
    service = make()
    await service.put_provider("demo", PutProvider())
    first, second = await asyncio.gather(
        service.resolve_model("demo/scripted", headers={}), service.resolve_model(None, headers={})
    )
    assert (first, first.protocol, first.model_id) == (second, "openai_chat", "scripted")
    assert first.api_key in service.live_secrets()
    assert (await service.test_provider("demo", Draft(model="scripted"))).outcome == "ok"
    await service.close()
    again = await service.resolve_model("demo/scripted", headers={})
    assert again.base_url != first.base_url
    await service.close()


async def test_local_servers_are_found_on_their_ports(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        ScriptedProvider(models=("qwen2.5:0.5b",)) as ollama,
        always(404, b"")() as other,
        socket.socket() as nobody,
    ):
        nobody.bind(("127.0.0.1", 0))
        ports = {
            "ollama": int(ollama.url.rpartition(":")[2]),
            "vllm": int(other.url.rpartition(":")[2]),
            "lm_studio": nobody.getsockname()[1],
        }
        setting = ",".join(f"{name}={port}" for name, port in ports.items())
        monkeypatch.setenv("HOLABOSS_LOCAL_SERVER_PORTS", f"{setting},nonsense,llama_cpp=x")
        monkeypatch.setattr(local_servers, "TIMEOUT_S", PATIENCE_S)
        found = (await make().local_servers()).items
    assert [(server.provider_id, server.name, server.models) for server in found] == [
        ("ollama_direct", "Ollama", ["qwen2.5:0.5b"])
    ]
    assert found[0].base_url == f"http://127.0.0.1:{ports['ollama']}/v1"
