"""How much of one answer of a model is taken: a stream need not end by itself.

Arguments of a call arrive in pieces and are put together anew with each of them, so many small pieces of large
arguments cost far more than their size. What counts is therefore also what was copied.
"""

from __future__ import annotations

from pydantic_ai.messages import PartDeltaEvent, TextPartDelta, ThinkingPartDelta, ToolCallPartDelta

from holaboss_runtime.harness.host.failures import AnswerTooLargeError

MAX_ANSWER_CHARS = 32 * 1024 * 1024
MAX_COPIED_CHARS = 32 * 1024 * 1024 * 1024


class AnswerBound:
    """One per run."""

    def __init__(self, max_chars: int = MAX_ANSWER_CHARS, max_copied: int = MAX_COPIED_CHARS) -> None:
        self._max_chars = max_chars
        self._max_copied = max_copied
        self._sizes: dict[int, int] = {}
        self._total = self._copied = 0

    def begin_response(self) -> None:
        self._sizes.clear()
        self._total = self._copied = 0

    def hear(self, event: object) -> None:
        """Raises `AnswerTooLargeError`."""
        if not isinstance(event, PartDeltaEvent):
            return
        added = _size(event.delta)
        size = self._sizes[event.index] = self._sizes.get(event.index, 0) + added
        self._total += added
        self._copied += size
        if self._copied > self._max_copied or self._total > self._max_chars:
            raise AnswerTooLargeError


def _size(delta: object) -> int:
    if isinstance(delta, TextPartDelta | ThinkingPartDelta):
        return len(delta.content_delta or "")
    if isinstance(delta, ToolCallPartDelta) and isinstance(delta.args_delta, str):
        return len(delta.args_delta)
    return 0
