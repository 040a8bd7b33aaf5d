"""HTTP clients for tools: the system's certificates, nothing of the environment, no redirects by themselves."""

from __future__ import annotations

import functools
import json
import ssl
from typing import Any, cast

import httpx2
import truststore

from holaboss_runtime.harness.host.web.digging import text_at
from holaboss_runtime.harness.host.web.errors import WebError

CONNECT_S = 10.0
MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_PROBLEM_CHARS = 300


@functools.cache
def _certificates() -> ssl.SSLContext:
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def open_client(timeout_s: float) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        verify=_certificates(),
        trust_env=False,
        follow_redirects=False,  # a redirect would carry a key, or the connection, to another host
        timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
    )


async def ask_json(
    who: str, client: httpx2.AsyncClient, request: httpx2.Request, *, most: int = MAX_ANSWER_BYTES
) -> dict[str, Any]:
    """The JSON object somebody answers. Raises `WebError` with a sentence that begins with `who`."""
    try:
        response = await client.send(request, stream=True)
        try:
            content = await _bounded(who, response, most)
        finally:
            await response.aclose()
    except httpx2.TimeoutException as error:
        raise WebError(f"{who} did not answer in time. Try again later.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise WebError(f"{who} cannot be reached.") from error
    if response.status_code in (401, 403):
        raise WebError(f"{who} does not accept the key. The person can change it in Settings.")
    if response.status_code == 429:
        raise WebError(f"{who} has no room for more requests now. Try again later.")
    if response.status_code != 200:
        raise WebError(f"{who} refused ({response.status_code}). {_problem(content)}".strip())
    answer = _json(content)
    if answer is None:
        raise WebError(f"{who} sent something that is not an answer.")
    return answer


async def _bounded(who: str, response: httpx2.Response, most: int) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > most:
            raise WebError(f"{who} sent more than {most // 1024 // 1024} MB.")
    return bytes(content)


def _json(content: bytes) -> dict[str, Any] | None:
    try:
        answer: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else None


def _problem(content: bytes) -> str:
    """What a refusal says, where it says it in one of the usual places."""
    answer = _json(content)
    ways = (
        ("error", "message"),
        ("detail", "error"),
        ("detail", "message"),
        ("error",),
        ("detail",),
        ("message",),
    )
    found = next(filter(None, (text_at(answer, *way) for way in ways)), "")
    return found[:MAX_PROBLEM_CHARS]
