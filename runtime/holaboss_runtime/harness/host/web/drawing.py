"""Asking a provider for a picture: three dialects, one answer. What comes back is checked before anybody sees it."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

import httpx2

from holaboss_runtime.harness.contract import ImageClient
from holaboss_runtime.harness.host.pictures import media_type_of
from holaboss_runtime.harness.host.web.digging import dig, items_of, text_at
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.http import ask_json, open_client

TIMEOUT_S = 180.0
MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_SIZE = re.compile(r"(\d{2,4})\s*[x×]\s*(\d{2,4})", re.IGNORECASE)
_RATIO = re.compile(r"\d{1,2}:\d{1,2}")
_RATIOS = ("1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16", "21:9", "5:4", "4:5")
_DATA = re.compile(r"data:image/[a-z+.-]+;base64,", re.IGNORECASE)
_OPENAI_SIZES = {"square": "1024x1024", "wide": "1536x1024", "tall": "1024x1536"}


@dataclass(frozen=True, slots=True)
class Size:
    """`pixels` as asked for, or empty; `ratio` one that providers know; `scale` is 1K, 2K or 4K."""

    pixels: str = ""
    ratio: str = "1:1"
    scale: str = "1K"


@dataclass(frozen=True, slots=True)
class Drawn:
    content: bytes
    media_type: str


def size_of(text: str | None) -> Size:
    """`1536x1024`, `16:9`, `2K`, `16:9 4K`. Raises `WebError` for anything else."""
    if not text or text.strip().lower() == "auto":
        return Size()
    scale = next((word for word in ("1K", "2K", "4K") if word in text.upper().split()), "")
    if found := _SIZE.fullmatch(text.strip()):
        width, height = int(found[1]), int(found[2])
        longest = max(width, height)
        scale = "4K" if longest > 3000 else "2K" if longest > 1600 else "1K"
        return Size(f"{width}x{height}", _nearest(width / height), scale)
    if found := _RATIO.search(text):
        width, height = map(int, found[0].split(":"))
        if width and height:
            return Size("", _nearest(width / height), scale or "1K")
    if not scale:
        raise WebError(f"{text[:50]!r} is not a size. Use for example 1024x1024, 16:9 or 2K.")
    return Size(scale=scale)


async def draw(client: ImageClient, prompt: str, size: Size, *, timeout_s: float = TIMEOUT_S) -> Drawn:
    """Raises `WebError`."""
    ask = {"openai_images": _openai, "openrouter_chat": _openrouter, "gemini": _gemini}[client.kind]
    try:
        url, headers, body, find = ask(client, prompt, size)
        async with open_client(timeout_s) as http:
            request = http.build_request("POST", url, json=body, headers=headers)
            answer = await ask_json(client.model_id, http, request, most=MAX_ANSWER_BYTES)
    except httpx2.InvalidURL as error:
        raise WebError("The address of the image model is not valid.") from error
    encoded = find(answer)
    if encoded is None:
        raise WebError(f"{client.model_id} made no picture. {_words(answer)}".strip())
    return _checked(client.model_id, encoded)


def _checked(model: str, encoded: str) -> Drawn:
    if len(encoded) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        raise WebError(f"{model} sent a picture larger than {MAX_IMAGE_BYTES // 1024 // 1024} MB.")
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise WebError(f"{model} sent something that is not a picture.") from error
    media_type = media_type_of(content)
    if media_type is None:
        raise WebError(f"{model} sent something that is not a picture.")
    return Drawn(content, media_type)


def _openai(client: ImageClient, prompt: str, size: Size) -> tuple[str, Any, Any, Any]:
    width, height = map(int, size.ratio.split(":"))
    shape = "wide" if width > height else "tall" if height > width else "square"
    body = {"model": client.model_id, "prompt": prompt, "n": 1, "size": size.pixels or _OPENAI_SIZES[shape]}
    headers = {"authorization": f"Bearer {client.api_key}"}

    def find(answer: dict[str, Any]) -> str | None:
        return text_at(answer, "data", 0, "b64_json")

    return f"{client.base_url.rstrip('/')}/images/generations", headers, body, find


def _openrouter(client: ImageClient, prompt: str, size: Size) -> tuple[str, Any, Any, Any]:
    body = {
        "model": client.model_id,
        "messages": [{"role": "user", "content": prompt}],
        "modalities": ["image", "text"],
        "image_config": {"aspect_ratio": size.ratio, "image_size": size.scale},
        "stream": False,
    }
    headers = {"authorization": f"Bearer {client.api_key}"}

    def find(answer: dict[str, Any]) -> str | None:
        url = text_at(answer, "choices", 0, "message", "images", 0, "image_url", "url") or ""
        start = _DATA.match(url)
        return url[start.end() :] if start else None

    return f"{client.base_url.rstrip('/')}/chat/completions", headers, body, find


def _gemini(client: ImageClient, prompt: str, size: Size) -> tuple[str, Any, Any, Any]:
    body = {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "generationConfig": {
            "responseModalities": ["TEXT", "IMAGE"],
            "imageConfig": {"aspectRatio": size.ratio, "imageSize": size.scale},
        },
    }
    headers = {"x-goog-api-key": client.api_key}

    def find(answer: dict[str, Any]) -> str | None:
        parts = items_of(dig(answer, "candidates", 0, "content", "parts"))
        found = (
            text_at(part, "inlineData", "data") or text_at(part, "inline_data", "data") for part in parts
        )
        return next(filter(None, found), None)

    model = client.model_id.removeprefix("models/")
    return f"{client.base_url.rstrip('/')}/models/{model}:generateContent", headers, body, find


def _words(answer: dict[str, Any]) -> str:
    """What a model said instead of drawing."""
    said = text_at(answer, "choices", 0, "message", "content") or text_at(
        answer, "candidates", 0, "content", "parts", 0, "text"
    )
    return f"It said: {said[:300]}" if said else ""


def _nearest(ratio: float) -> str:
    def distance(text: str) -> float:
        width, height = map(int, text.split(":"))
        return abs(width / height - ratio)

    return min(_RATIOS, key=distance)
