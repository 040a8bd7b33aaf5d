"""What is asked and what is answered, free of any wire dialect."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """The last thing a person said, and what tools have answered since.

    `tools` are the names on offer, `size` is the length of the whole request in characters. `system` is what the
    model was told beforehand.
    """

    text: str
    results: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    size: int = 0
    system: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]
    call_id: str = field(default_factory=lambda: f"call_{uuid.uuid4().hex[:24]}")


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model. Thinking and text come in the pieces in which they are streamed."""

    text: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.tool_calls else "stop"


def words(text: str) -> tuple[str, ...]:
    """Pieces of about a token each; joined they are `text` again."""
    return tuple(re.findall(r"\s*\S+\s?|\s+", text))


def cut(text: str, size: int) -> Iterator[str]:
    """Pieces of `size` characters; joined they are `text` again."""
    for start in range(0, len(text), size):
        yield text[start : start + size]
