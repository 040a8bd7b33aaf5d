"""What a run says, as clients may see it live: an agent's loop block is for the runtime and never shown.

The block comes in pieces like any other text, so what may be its beginning is held back until the next piece decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from holaboss_client.events import RunEvent
from holaboss_runtime.runs.directive import TAG

_START = re.compile(rf"<\s*{TAG}\s*>", re.IGNORECASE)
_END = re.compile(rf"<\s*/\s*{TAG}\s*>", re.IGNORECASE)
_LONGEST_TAG = len(TAG) + 10

Said = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class _Part:
    """`shown` is how much of the part has been passed on, `held` what is not decided yet."""

    payload: dict[str, Any]
    shown: int = 0
    held: str = ""
    inside: bool = False


class Speech:
    """Feed it the events of one run in order; it gives back what may be said now."""

    def __init__(self) -> None:
        self._part: _Part | None = None

    def hear(self, event_type: str, payload: dict[str, Any]) -> list[Said]:
        if event_type != RunEvent.OUTPUT_DELTA:
            return [*self.end(), (event_type, payload)]
        before = [] if self._continues(payload) else self.end()
        part = self._part = self._part or _Part(payload)
        part.held += str(payload.get("delta", ""))
        return before + _shown(part, _visible(part))

    def end(self) -> list[Said]:
        """Nothing follows in this part: what was held back is text after all."""
        part, self._part = self._part, None
        return [] if part is None or part.inside else _shown(part, part.held)

    def _continues(self, payload: dict[str, Any]) -> bool:
        return self._part is not None and self._part.payload.get("content_index") == payload.get(
            "content_index"
        )


def _visible(part: _Part) -> str:
    """Take from `held` what is certain, and leave what may be the beginning of a tag."""
    shown = ""
    while True:
        tag = (_END if part.inside else _START).search(part.held)
        if tag is None:
            break
        if not part.inside:
            shown += part.held[: tag.start()]
        part.held = part.held[tag.end() :]
        part.inside = not part.inside
    cut = part.held.rfind("<", max(0, len(part.held) - _LONGEST_TAG))
    keep = len(part.held) if cut < 0 else cut
    if not part.inside:
        shown += part.held[:keep]
    part.held = part.held[keep:]
    return shown


def _shown(part: _Part, text: str) -> list[Said]:
    if not text:
        return []
    offset, part.shown = part.shown, part.shown + len(text)
    return [(RunEvent.OUTPUT_DELTA, part.payload | {"delta": text, "offset": offset})]
