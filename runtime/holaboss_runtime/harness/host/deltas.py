"""Merging the many small pieces a model streams into few events, without changing what they add up to."""

from __future__ import annotations

from typing import Literal

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import RunnerEvent

DeltaKind = Literal["output", "thinking"]

WINDOW_S = 0.015
MERGED_CHARS = 1024
LONGEST_CHARS = 64 * 1024
_EVENT_TYPES = {"output": RunEvent.OUTPUT_DELTA, "thinking": RunEvent.THINKING_DELTA}


class DeltaMerger:
    """Holds back at most one part's newest text. The first piece of every part leaves at once.

    `offset` of an event is the number of characters of its part that earlier events carried. The caller
    flushes after `WINDOW_S` and before anything else it reports: events keep the order of what happened.
    """

    def __init__(self) -> None:
        self._sent: dict[int, int] = {}
        self._index = 0
        self._kind: DeltaKind = "output"
        self._held: list[str] = []
        self._held_chars = 0

    @property
    def pending(self) -> bool:
        return bool(self._held)

    def push(self, content_index: int, kind: DeltaKind, text: str) -> list[RunnerEvent]:
        """Take a piece; returns the events that are due now."""
        if not text:
            return []
        events = self.flush() if content_index != self._index else []
        self._index, self._kind = content_index, kind
        self._held.append(text)
        self._held_chars += len(text)
        if content_index not in self._sent or self._held_chars >= MERGED_CHARS:
            events += self.flush()
        return events

    def flush(self) -> list[RunnerEvent]:
        """Everything that was held back."""
        text = "".join(self._held)
        self._held.clear()
        self._held_chars = 0
        pieces = [text[at : at + LONGEST_CHARS] for at in range(0, len(text), LONGEST_CHARS)]
        return [self._event(piece) for piece in pieces]

    def _event(self, text: str) -> RunnerEvent:
        offset = self._sent.get(self._index, 0)
        self._sent[self._index] = offset + len(text)
        payload = {
            "delta": text,
            "content_index": self._index,
            "offset": offset,
            "delta_kind": self._kind,
        }
        return RunnerEvent(event_type=_EVENT_TYPES[self._kind], payload=payload)
