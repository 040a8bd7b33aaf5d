"""The log of one terminal while it lives: numbers its events, keeps it bounded, and wakes whoever reads it."""

from __future__ import annotations

from collections import deque
from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.terminals import TerminalEventType
from holaboss_runtime.store.signal import Signal
from holaboss_runtime.store.terminals import NewEvent, TerminalRecords, text_of

KEPT_BYTES = 2 * 1024 * 1024
SLACK_BYTES = 64 * 1024
"""How much more there may be before something is dropped: dropping a little each time would cost more."""

_ROW_BYTES = 100


class Journal:
    def __init__(self, records: TerminalRecords, terminal_id: str) -> None:
        self._records = records
        self._terminal_id = terminal_id
        self._sequence = 0
        self._kept: deque[int] = deque()
        self._bytes = 0
        self._dropped = 0
        self.signal = Signal()

    @property
    def last(self) -> int:
        return self._sequence

    def note(self, event_type: TerminalEventType, payload: dict[str, Any]) -> None:
        self.add(event_type, [payload])

    def add(self, event_type: TerminalEventType, payloads: list[dict[str, Any]]) -> None:
        """Write events of one kind. Raises `DomainError` when the database cannot take them; none is there then."""
        now = utc_now()
        events = [
            NewEvent(self._sequence + place, event_type, text_of(payload), now)
            for place, payload in enumerate(payloads, 1)
        ]
        sizes = [len(event.payload.encode()) + _ROW_BYTES for event in events]
        dropped = self._to_drop(sizes)
        with self._records.database.transaction():
            self._records.append(
                self._terminal_id, events, dropped=self._dropped + dropped if dropped else None
            )
        self._sequence += len(events)
        self._kept.extend(sizes)
        self._bytes += sum(sizes)
        for _ in range(dropped):
            self._bytes -= self._kept.popleft()
        self._dropped += dropped
        self._records.database.after_commit(self.signal.notify)

    def _to_drop(self, sizes: list[int]) -> int:
        """How many of the oldest have to go for these to be kept."""
        wanted = self._bytes + sum(sizes)
        if wanted <= KEPT_BYTES + SLACK_BYTES:
            return 0
        count = 0
        for size in self._kept:
            if wanted <= KEPT_BYTES:
                break
            wanted -= size
            count += 1
        return count
