"""How much of a model's window each part of the context may take, and cutting texts to fit.

Sizes are characters; a token is taken as four of them. Nothing here knows what the texts say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CHARS_PER_TOKEN = 4
DEFAULT_WINDOW_TOKENS = 128_000
TOOL_TOKENS = 320
"""What the schema of one tool costs, when nobody measured it."""
REPLY_TOKENS = 16_000
MIN_TOKENS = 8_000
"""The context is never made smaller than this, whatever the window: with less no agent can work."""
_SLACK_CHARS = 400
"""For rounding and the blank lines between sections."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds in characters. What a part leaves unused goes to history, which is asked last."""

    total: int
    system: int
    environment: int
    instruction: int
    note: int
    """For each of the smaller sections in front of the instruction."""

    @classmethod
    def of(cls, *, window_tokens: int, tool_tokens: int) -> Budget:
        reply = min(REPLY_TOKENS, window_tokens // 4)
        total = max(window_tokens - reply - tool_tokens, MIN_TOKENS) * CHARS_PER_TOKEN - _SLACK_CHARS
        return cls(
            total=total,
            system=total // 3,
            environment=total // 8,
            instruction=total // 3,
            note=total // 36,
        )


def tokens(text: str) -> int:
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def clip(text: str, limit: int) -> str:
    """At most `limit` characters: the start, the end, and between them a note of how many are missing."""
    if len(text) <= limit:
        return text
    note = f"\n[… {len(text):,} characters, shortened to {limit:,} …]\n"
    room = limit - len(note)
    if room < 2:
        return text[: max(limit - 1, 0)] + "…" if limit > 0 else ""
    head = math.ceil(room * 2 / 3)
    return text[:head] + note + text[len(text) - (room - head) :]


def one_line(text: str, limit: int) -> str:
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """`room` divided fairly: the small get all they need, the large get equal parts of what is left."""
    given = [0] * len(sizes)
    left = max(room, 0)
    for rank, index in enumerate(sorted(range(len(sizes)), key=lambda index: sizes[index])):
        given[index] = min(sizes[index], left // (len(sizes) - rank))
        left -= given[index]
    return given
