"""A tool as a server offers it, cleaned; nothing here needs the protocol's library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_TOOLS = 500
LONGEST_TOOL_NAME = 128


@dataclass(frozen=True, slots=True)
class Offer:
    """`name` is the server's own. What it says about harm is a claim: only "reads" that nothing contradicts counts."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=dict[str, Any])
    says_read_only: bool | None = None
    says_destructive: bool | None = None

    @property
    def read_only(self) -> bool | None:
        if self.says_read_only is None:
            return None
        return self.says_read_only and self.says_destructive is not True

    @property
    def destructive(self) -> bool | None:
        return False if self.read_only else self.says_destructive


def sensible(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Sorted by name; without nameless ones, second ones of a name, and more than anybody can use."""
    by_name: dict[str, Offer] = {}
    for offer in offers:
        if 0 < len(offer.name) <= LONGEST_TOOL_NAME and offer.name.isprintable():
            by_name.setdefault(offer.name, offer)
    return tuple(by_name[name] for name in sorted(by_name)[:MAX_TOOLS])
