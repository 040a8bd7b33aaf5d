"""Taking secrets out of texts, by value: the one rule for logs, snapshots and error messages. Knows no secret."""

from __future__ import annotations

from collections.abc import Iterable

REDACTED = "[redacted]"
SHORTEST_SECRET = 8
"""Shorter values are placeholders of local servers ("none", "ollama") and would tear ordinary words apart."""


def worth_hiding(values: Iterable[str]) -> list[str]:
    """Those of `values` that are secrets, the longest first: one may contain another."""
    return sorted({value for value in values if len(value) >= SHORTEST_SECRET}, key=len, reverse=True)


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of `secrets`, which are in the order of `worth_hiding`."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text
