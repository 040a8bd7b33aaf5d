"""The order to stop a run, with its reason."""

from __future__ import annotations

import asyncio

USER_PAUSE = "user_requested_pause"
INTERRUPT = "user_interrupt"
TERMINATED = "session_terminated"
SHUTDOWN = "shutdown"
LEASE_LOST = "lease_lost"


class RunCancellation:
    """Given once; what is given later changes nothing. Satisfies `harness.contract.Cancellation`."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        return self._reason

    def cancel(self, reason: str) -> None:
        if self._reason is None:
            self._reason = reason
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
