"""A wake-up call inside this process: "something was committed, look again"."""

from __future__ import annotations

import asyncio


class Signal:
    """Many waiters, one `notify`. A waiter that asked before the notification is never left sleeping."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    def ticket(self) -> asyncio.Event:
        """Take it before reading the state, wait on it after: what happens in between is not missed."""
        return self._event
