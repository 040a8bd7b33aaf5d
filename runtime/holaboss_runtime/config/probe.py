"""Trying out a provider: ask its endpoint for models and say, in the words of a person, what is wrong."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import httpx

from holaboss_client.config import ProviderTest
from holaboss_runtime.config.builtin import DEMO_ID
from holaboss_runtime.config.endpoints import Endpoint, endpoint, is_loopback, url_problem
from holaboss_runtime.config.keys import NOT_A_KEY, is_key
from holaboss_runtime.config.settings import ProviderEntry

LIMIT_S = 6.0
MAX_BYTES = 4 * 1024 * 1024
Outcome = Literal["ok", "bad_key", "bad_url", "unreachable", "no_such_model", "provider_error"]
Answer = tuple[int, bytes]


async def probe(entry: ProviderEntry, key: str | None, model: str | None) -> ProviderTest:
    """Never raises for what it finds. `latency_ms` is that of the deciding request."""
    if (problem := url_problem(entry.base_url)) is not None:
        return ProviderTest(outcome="bad_url", detail=problem)
    target = endpoint(entry.kind, entry.base_url, entry.id, model or "")
    local = is_loopback(target.base_url)
    if key is None and not local:
        return ProviderTest(outcome="bad_key", detail="No key has been entered yet.")
    if key is not None and not is_key(key):
        return ProviderTest(outcome="bad_key", detail=NOT_A_KEY)
    headers = {**_key_headers(target, key), **entry.headers}
    if not all(text.isascii() and text.isprintable() for header in headers.items() for text in header):
        detail = "A header of this provider has a character in it that no header can have. Correct the settings file."
        return ProviderTest(outcome="provider_error", detail=detail)
    # A proxy variable must not carry what is meant for this machine away from it.
    client = httpx.AsyncClient(headers=headers, timeout=LIMIT_S, trust_env=not local, follow_redirects=False)
    started = time.monotonic()
    try:
        async with asyncio.timeout(LIMIT_S), client:
            result = await _ask(client, entry, target, model)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        return ProviderTest(outcome="unreachable", detail=_unreachable(target, error))
    latency = round((time.monotonic() - started) * 1000)
    return result.model_copy(update={"latency_ms": latency})


async def list_models(client: httpx.AsyncClient, url: str) -> tuple[Answer, list[str] | None]:
    """The answer of a model list, and the ids in it; None when it is not one."""
    async with client.stream("GET", url) as response:
        content = b""
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > MAX_BYTES:
                break
        answer = (response.status_code, content)
    return answer, _model_ids(content) if response.status_code == 200 else None


async def _ask(
    client: httpx.AsyncClient, entry: ProviderEntry, target: Endpoint, model: str | None
) -> ProviderTest:
    url = _models_url(target)
    (status, content), models = await list_models(client, url)
    if models is None and status in (200, 404) and _may_be_ollama(url) and entry.id != DEMO_ID:
        _, models = await list_models(client, _root(url) + "/api/tags")
    if models is None:
        return _refusal(status, content, url)
    if entry.kind == "openrouter" and await _key_refused(client, target):
        # Its model list is public, so that answering says nothing about the key.
        return ProviderTest(outcome="bad_key", detail="The key was refused.")
    if model is not None and model not in models:
        detail = f"The endpoint answers, but has no model {model!r}."
        return ProviderTest(outcome="no_such_model", detail=detail, models=models)
    count = "1 model is" if len(models) == 1 else f"{len(models)} models are"
    return ProviderTest(outcome="ok", detail=f"Connected. {count} available.", models=models)


def _may_be_ollama(url: str) -> bool:
    """An old Ollama lists its models elsewhere, but answers under `/v1`; with any other path chats would go astray."""
    return is_loopback(url) and urlsplit(url).path == "/v1/models"


async def _key_refused(client: httpx.AsyncClient, target: Endpoint) -> bool:
    return (await client.get(f"{target.base_url}/key")).status_code in (401, 403)


def _refusal(status: int, content: bytes, url: str) -> ProviderTest:
    outcome: Outcome = "provider_error"
    if status in (401, 403) or (status == 400 and b"api key" in content.lower()):
        outcome, detail = "bad_key", "The key was refused."
    elif status in (404, 405):
        outcome, detail = "bad_url", f"There is no model list at {url}. Check the base URL."
    elif 300 <= status < 400:
        outcome, detail = "bad_url", f"{url} only points somewhere else. Enter the address it points to."
    elif status == 200:
        outcome, detail = "bad_url", f"What answers at {url} is not a model provider. Check the base URL."
    elif status == 429:
        detail = "The provider answers, but says that there were too many requests. Try again later."
    else:
        detail = f"The provider answered with an error (HTTP {status})."
    return ProviderTest(outcome=outcome, detail=detail)


def _unreachable(target: Endpoint, error: Exception) -> str:
    host = urlsplit(target.base_url).netloc
    if isinstance(error, (TimeoutError, httpx.TimeoutException)):
        return f"{host} did not answer within {LIMIT_S:.0f} seconds."
    if "CERTIFICATE" in str(error).upper():
        return f"The certificate of {host} cannot be trusted."
    return f"{host} cannot be reached. Check the address, and that the server is running."


def _models_url(target: Endpoint) -> str:
    suffix = "/v1/models?limit=1000" if target.protocol == "anthropic_messages" else "/models"
    return target.base_url + suffix


def _key_headers(target: Endpoint, key: str | None) -> dict[str, str]:
    if key is None:
        return {}
    if target.protocol == "anthropic_messages":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    bearer = {"authorization": f"Bearer {key}"}
    return {**bearer, "x-api-key": key} if target.via_proxy else bearer


def _root(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _model_ids(content: bytes) -> list[str] | None:
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    body = cast(dict[str, Any], document)
    rows = body.get("data", body.get("models"))
    if not isinstance(rows, list):
        return None
    found: list[str] = []
    for row in cast(list[object], rows):
        if isinstance(row, dict):
            fields = cast(dict[str, object], row)
            name = fields.get("id", fields.get("name"))
            if isinstance(name, str):
                found.append(name.removeprefix("models/"))
    return found
