"""Making text safe to carry: valid Unicode, without terminal control, bounded in length."""

from __future__ import annotations

import json
import re
from typing import Any

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
MAX_ARGUMENT_CHARS = 8 * 1024


def valid_text(text: str) -> str:
    """The same text with lone surrogates replaced: they cannot be encoded, stored or sent."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_text(untrusted: bytes) -> str:
    """Program output as text: no escape sequences, no controls but tab and newline, no bidi marks."""
    text = untrusted.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def clip(text: str, limit: int) -> str:
    """At most about `limit` characters: the start and the end, and a note of what is missing between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def bounded_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Tool arguments small enough for an event: long strings are clipped, too many of them dropped."""
    room = MAX_ARGUMENT_CHARS
    bounded: dict[str, Any] = {}
    for name, value in arguments.items():
        shown = clip(valid_text(value), MAX_ARGUMENT_CHARS // 4) if isinstance(value, str) else value
        room -= len(name) + len(json.dumps(shown, default=str))
        if room < 0:
            bounded["…"] = "left out: too long"
            break
        bounded[valid_text(name)] = shown
    return bounded
