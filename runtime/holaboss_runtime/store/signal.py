"""A wake-up call inside this process: "something was committed, look again"."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Signal:
    """Many waiters, one `notify`. A waiter that asked before the notification is never left sleeping."""

    def __init__(self) -> None:
        self._event: asyncio.Event | None = None
        self._followers: list[Callable[[], None]] = []

    def notify(self) -> None:
        if self._event is not None:
            self._event.set()
            self._event = None
        for follower in tuple(self._followers):
            follower()

    def ticket(self) -> asyncio.Event:
        """Take it before reading the state, wait on it after: what happens in between is not missed."""
        if self._event is None:
            self._event = asyncio.Event()
        return self._event

    def follow(self, follower: Callable[[], None]) -> None:
        """Call `follower` at each notification; it may only take note. For those who are told often."""
        self._followers.append(follower)

    def leave(self, follower: Callable[[], None]) -> None:
        self._followers.remove(follower)
